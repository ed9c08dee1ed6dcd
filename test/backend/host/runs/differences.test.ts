import { describe, expect, test } from "@jest/globals";
import { differencesOf } from "../../../../src/backend/host/runs/differences.js";
import { parentOf, type SeenEntry, type SeenTree } from "../../../../src/backend/host/runs/scan.js";

/** Entries by path: a name that ends with "/" is a directory. The number is the inode, the text behind it the content. */
function scan(entries: Readonly<Record<string, string>>, partial?: readonly string[]): SeenTree {
  const seen = Object.entries(entries).map(([path, state]): [string, SeenEntry] => {
    const kind = path.endsWith("/") ? "directory" : "file";
    const version = `0:${state}:${path.length}`;
    return [path.replace(/\/$/, ""), { kind, size: 0, modified: 0, mode: 0o644, version }];
  });
  return { entries: new Map(seen), isWhole: (path) => partial?.includes(path) !== true };
}

function told(before: SeenTree, after: SeenTree, apart: readonly string[] = []): string[] {
  const isApart = (path: string): boolean => apart.includes(path);
  return differencesOf(before, after, isApart).map(({ action, path, from, files }) =>
    [action, ...(from === undefined ? [] : [from]), path, ...(files === undefined ? [] : [files])].join(" "),
  );
}

describe("differences of two scans", () => {
  test("a tree that was made or deleted is one, unless something was moved into it or is told of by others", () => {
    const tree = { "t/": "1:a", "t/s/": "2:b", "t/s/f": "3:c", "t/g": "4:d" };
    expect(told(scan({}), scan(tree))).toEqual(["created t 2"]);
    expect(told(scan(tree), scan({}))).toEqual(["deleted t 2"]);
    expect(told(scan({ old: "3:c" }), scan(tree))).toEqual([
      "created t",
      "created t/s",
      "moved old t/s/f",
      "created t/g",
    ]);
    expect(told(scan({}), scan(tree), ["t/g"])).toEqual(["created t", "created t/s 1", "created t/g"]);
    expect(told(scan({}), scan(tree), ["t"])).toEqual(["created t", "created t/s 1", "created t/g"]);
  });

  test("a name that is of another kind now is free before it is used again", () => {
    expect(told(scan({ "a/": "1:a", "a/f": "2:b" }), scan({ a: "3:c" }))).toEqual(["deleted a 1", "created a"]);
    expect(told(scan({ a: "3:c" }), scan({ "a/": "1:a", "a/f": "2:b" }))).toEqual(["deleted a", "created a 1"]);
    // Where it was, nothing could be moved back to.
    expect(told(scan({ "a/": "1:a", "a/f": "2:b" }), scan({ a: "3:c", g: "2:b" }))).toEqual([
      ...["deleted a 1", "created a", "created g"],
    ]);
  });

  test("in a moved directory paths are those of now, and of a move those of its moment", () => {
    const before = scan({ "d/": "1:a", "d/k/": "2:b", "d/k/f": "3:c", "d/k/g": "4:d", "d/k/h": "5:e" });
    const after = scan({ "e/": "1:a", "e/k/": "2:x", "e/k/f": "3:y", "e/k/i": "4:d" });
    expect(told(before, after)).toEqual(["moved d e", "modified e/k/f", "moved e/k/g e/k/i", "deleted e/k/h"]);
  });

  test("an inode that was used again is no move", () => {
    expect(told(scan({ a: "1:a" }), scan({ b: "1:b" }))).toEqual(["created b", "deleted a"]);
    expect(told(scan({ a: "1:a" }), scan({ "b/": "1:a" }))).toEqual(["created b", "deleted a"]);
  });

  test("nothing is told of where one of the scans has not looked", () => {
    const one = { "d/": "1:a", "d/f": "2:b" };
    const other = { "d/": "1:a", "d/g": "3:c", "d/n/": "4:d" };
    expect(told(scan(one, ["d"]), scan(other))).toEqual(["deleted d/f"]);
    expect(told(scan(one), scan(other, ["d"]))).toEqual(["created d/g", "created d/n"]);
    expect(parentOf("d/f")).toBe("d");
  });
});
