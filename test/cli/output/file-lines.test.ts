import { describe, expect, test } from "@jest/globals";
import { Callers } from "../../../src/cli/calls/callers.js";
import {
  columnLines,
  diffLines,
  factLines,
  longLines,
  nameLines,
  treeLines,
} from "../../../src/cli/output/file-lines.js";
import { type Change, changeText, historyLines } from "../../../src/cli/output/history-lines.js";
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
  expect(diffLines(diff, { paint: plain, isTerminal: true })).toBe(diff);
  expect(diffLines(diff, { paint: coloured, isTerminal: true })).toBe(
    "--- a\n+++ a\n\u001b[36m@@ -1,1 +1,1 @@\u001b[0m\n\u001b[31m-x\u001b[0m\n\u001b[32m+y\u001b[0m\n z\n",
  );
});

test("a difference of content that would control a terminal shows it there, and is a patch elsewhere", () => {
  const diff = "--- a\n+++ a\n@@ -1,1 +1,2 @@\n-x\r\n+\u001b[2K\u009b1A\ty\r\n+a\rb\n";
  expect(diffLines(diff, { paint: plain, isTerminal: false })).toBe(diff);
  expect(diffLines(diff, { paint: plain, isTerminal: true })).toBe(
    "--- a\n+++ a\n@@ -1,1 +1,2 @@\n-x\r\n+\\u{1b}[2K\\u{9b}1A\ty\r\n+a\\u{d}b\n",
  );
});

const style = { paint: plain, nameOf: new Callers([]).nameOf };

test("what a venue elsewhere sends about a file or a change does not control a terminal", () => {
  const evil = "\u001b]0;x\u0007";
  const change = {
    ...{ id: evil, time: 0, op: evil, root: evil, path: evil, kind: "file", actor: `did:${evil}`, via: evil },
    ...{ surface: evil, before: null, after: { size: 1, modified: 0 }, undoable: false, reason: evil },
  } as unknown as Change;
  const texts = [
    factLines([["type", evil]]),
    historyLines([change], style),
    historyLines([{ ...change, before: change.after }], style),
    changeText(change, style.nameOf),
  ];
  for (const text of texts) {
    expect(text).toContain("\\u{1b}]0;x\\u{7}");
    expect(text).not.toMatch(/[\u001b\u0007]/);
  }
});

test("changes take two lines each where one would not fit", () => {
  const change = {
    ...{ id: "1m85hcgvy00001j2zph94", time: 0, op: "write", root: "docs", path: "reports/q4.md", kind: "file" },
    ...{ actor: "operator", surface: "http", before: null, after: { size: 7, modified: 0 }, undoable: true },
  } as unknown as Change;
  const one = "1970-01-01 00:00:00  1m85hcgvy00001j2zph94  operator http  write  new 7 B  docs:reports/q4.md\n";
  expect(historyLines([change], style)).toBe(one);
  expect(historyLines([change], { ...style, width: one.length - 1 })).toBe(one);
  expect(historyLines([change, change], { ...style, width: 80 })).toBe(
    "1970-01-01 00:00:00  1m85hcgvy00001j2zph94\n  operator http  write  new 7 B  docs:reports/q4.md\n".repeat(2),
  );
});

test("directories of a tree stand out", () => {
  expect(treeLines("r/\n\tdir/\n\t\tfile\n", coloured)).toBe(
    "\u001b[1;34mr/\u001b[0m\n\t\u001b[1;34mdir/\u001b[0m\n\t\tfile\n",
  );
  expect(treeLines("r/\n\ta\n", plain)).toBe("r/\n\ta\n");
});
