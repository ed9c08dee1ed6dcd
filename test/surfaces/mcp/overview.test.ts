import { execFileSync } from "node:child_process";
import { afterAll, beforeAll, describe, expect, test } from "@jest/globals";
import { encode } from "gpt-tokenizer/encoding/o200k_base";
import { cleanUp, makeFolder } from "../../cli/process.js";
import { type RawClient, startRaw } from "./raw.js";
import { restOf, textOf } from "./sessions.js";

const folder = makeFolder({
  ".gitignore": "out/\n",
  ".git/HEAD": "ref: refs/heads/main\n",
  "out/bundle.js": "x",
  "src/index.ts": "x",
});

const many = makeFolder(
  Object.fromEntries(
    [..."abcdefghijklmnopqrstuvwxyz"].flatMap((letter) =>
      Array.from({ length: 30 }, (_, folder) => [`part${folder}/${letter}.ts`, "x"]),
    ),
  ),
);

let raw: RawClient;
let own: RawClient;
beforeAll(async () => {
  raw = await startRaw(["--root", `r=${folder}`, "--root", `many=${many}`]);
  own = await startRaw(["--root", `own=${process.cwd()}:ro`]);
});
afterAll(cleanUp);

describe("the overview over MCP", () => {
  test.each([[{}], [{ ignore: null }], [{ ignore: "gitignore" }]])("has what Git has: %j", async (more) => {
    const { result } = await raw.call("file_tree", { root: "r", ...more });
    expect(textOf(result)).toBe("r/\n\t.git/\n\t.gitignore\n\tsrc/\n\t\tindex.ts\n");
    expect(restOf(result)).toMatchObject({ complete: true, hidden: { gitignored: 1 } });
    expect(result.content[1]).toEqual({ type: "text", text: '1 gitignored path hidden; pass ignore: "none"' });
  });

  test("has everything where that is asked for", async () => {
    const { result } = await raw.call("file_tree", { root: "r", ignore: "none" });
    expect(textOf(result)).toBe("r/\n\t.git/\n\t\tHEAD\n\t.gitignore\n\tout/\n\t\tbundle.js\n\tsrc/\n\t\tindex.ts\n");
  });

  test("of this repository shows every folder of the first two levels", async () => {
    const listed = execFileSync("git", ["ls-files", "-z", "--cached", "--others", "--exclude-standard"], {
      encoding: "utf8",
    });
    const folders = new Set<string>();
    for (const file of listed.split("\0")) {
      const [top, second] = file.split("/").slice(0, -1);
      if (top !== undefined) folders.add(top);
      if (second !== undefined) folders.add(`${top}/${second}`);
    }
    const { result } = await own.call("file_tree", { root: "own" });
    const text = textOf(result);
    const shown = new Set<string>();
    let top = "";
    for (const line of text.split("\n")) {
      const [, tabs = "", name = ""] = /^(\t{1,2})([^\t].*)\/$/.exec(line) ?? [];
      if (tabs === "\t") top = name;
      shown.add(tabs === "\t" ? name : `${top}/${name}`);
    }
    expect([...folders].filter((name) => !shown.has(name))).toEqual([]);
    expect(folders.size).toBeGreaterThan(50);
    expect(restOf(result)).toMatchObject({ entries: 500, truncated: true });
  });
});

test("an overview that is cut costs at most five tokens an entry", async () => {
  const { result } = await raw.call("file_tree", { root: "many" });
  const text = textOf(result);
  expect(restOf(result)).toMatchObject({ entries: 500, truncated: true });
  expect(text.match(/^\t\t… \d+ more$/gm)).toHaveLength(30);
  expect(encode(text).length / 500).toBeLessThanOrEqual(5);
});
