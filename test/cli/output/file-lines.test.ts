import { describe, expect, test } from "@jest/globals";
import { columnLines, diffLines, longLines, nameLines, treeLines } from "../../../src/cli/output/file-lines.js";
import { coloured, plain } from "../../../src/cli/output/paint.js";

const entry = (name: string, type = "file", size = 0) => ({ name, type, size, modified: 1_700_000_000_000 });
const ENTRIES = [
  entry("docs", "directory"),
  entry("a.md", "file", 1234),
  entry("link", "symlink"),
  entry("p", "other"),
];

describe("entries of a directory", () => {
  test("are one name a line in a pipe", () => {
    expect(nameLines(ENTRIES, plain)).toBe("docs\na.md\nlink\np\n");
    expect(nameLines([], plain)).toBe("");
  });

  test("have type, size and time in the long form", () => {
    expect(longLines(ENTRIES, plain)).toBe(
      ["d    0", "- 1234", "l    0", "?    0"]
        .map((start, index) => `${start} 2023-11-14 22:13 ${ENTRIES[index]?.name}\n`)
        .join(""),
    );
  });

  test("stand in columns, read downwards, as wide as the terminal lets them", () => {
    const names = ["a", "bb", "ccc", "d", "e"].map((name) => entry(name));
    expect(columnLines(names, 80, plain)).toBe("a    bb   ccc  d    e\n");
    expect(columnLines(names, 13, plain)).toBe("a    ccc  e\nbb   d\n");
    expect(columnLines(names, 1, plain)).toBe("a\nbb\nccc\nd\ne\n");
    expect(columnLines([], 80, plain)).toBe("");
  });

  test("stand out by colour, without moving the columns", () => {
    const shown = columnLines(ENTRIES, 80, coloured);
    expect(shown).toContain("\u001b[1;34mdocs\u001b[0m");
    expect(shown).toContain("\u001b[36mlink\u001b[0m");
    expect(shown.replace(/\u001b\[[\d;]*m/g, "")).toBe(columnLines(ENTRIES, 80, plain));
  });

  test("cannot write to the terminal what they like", () => {
    const evil = entry("a\u001b]0;x\u0007\nb");
    for (const shown of [nameLines([evil], coloured), longLines([evil], coloured), columnLines([evil], 80, coloured)]) {
      expect(shown).toContain("a\\u{1b}]0;x\\u{7}\\u{a}b\n");
      expect(shown.split("\n").length).toBe(2);
    }
  });
});

test("a difference has colours, but for the names of the file", () => {
  const diff = "--- a\n+++ a\n@@ -1,1 +1,1 @@\n-x\n+y\n z\n";
  expect(diffLines(diff, plain)).toBe(diff);
  expect(diffLines(diff, coloured)).toBe(
    "--- a\n+++ a\n\u001b[36m@@ -1,1 +1,1 @@\u001b[0m\n\u001b[31m-x\u001b[0m\n\u001b[32m+y\u001b[0m\n z\n",
  );
});

test("directories of a tree stand out", () => {
  expect(treeLines("r/\n\tdir/\n\t\tfile\n", coloured)).toBe(
    "\u001b[1;34mr/\u001b[0m\n\t\u001b[1;34mdir/\u001b[0m\n\t\tfile\n",
  );
  expect(treeLines("r/\n\ta\n", plain)).toBe("r/\n\ta\n");
});
