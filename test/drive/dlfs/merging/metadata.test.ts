import { expect, test } from "@jest/globals";
import { hashOf } from "../../../../src/drive/cad3/encoding/cell.js";
import type { Value } from "../../../../src/drive/cad3/value.js";
import { merge } from "../../../../src/drive/dlfs/merge.js";
import { contentOf, dir, directoryOf, file, viewOf } from "../../../../src/drive/dlfs/node.js";

/** A file with a time that a client gave it. */
const timed = (content: string, utime: number, modified: number | null): Value =>
  file(Buffer.from(content), utime, modified === null ? null : BigInt(modified));
const holding = (node: Value, ...others: (readonly [string, Value])[]): Value => dir([["a", node], ...others], 9);

function found(tree: Value): readonly [content: string, metadata: Value, utime: bigint] {
  const view = viewOf(directoryOf(tree).entries.get("a") ?? null);
  if (view.kind !== "file") throw new Error(view.kind);
  return [Buffer.from(contentOf(view)).toString(), view.metadata, view.utime];
}

test.each([
  ["an earlier time of the client", timed("old", 3, 2000), timed("new", 4, 1000), ["new", 1000n, 4n]],
  ["a later time of the client", timed("old", 3, 1000), timed("new", 4, 2000), ["new", 2000n, 4n]],
  ["no time of the client", timed("old", 3, 5000), timed("new", 4, null), ["new", null, 4n]],
  ["the same content and another time", timed("same", 3, 5000), timed("same", 4, 1000), ["same", 1000n, 4n]],
] as const)("the later change stays whole, with %s, whoever merges", (_, earlier, later, expected) => {
  // What is beside it makes both rebuild the directory.
  const one = holding(earlier, ["b", timed("b", 1, 7)]);
  const two = holding(later, ["c", timed("c", 1, null)]);
  for (const [own, other] of [
    [one, two],
    [two, one],
  ] as const) {
    const merged = merge(own, other);
    expect(found(merged)).toEqual(expected);
    expect(hashOf(merged)).toBe(hashOf(merge(other, own)));
    expect(hashOf(merge(merged, other))).toBe(hashOf(merged));
  }
});

test("of two changes at one time, copies choose the same", () => {
  const [one, two] = [holding(timed("same", 3, 1000)), holding(timed("same", 3, 2000))];
  expect(hashOf(merge(one, two))).toBe(hashOf(merge(two, one)));
  expect(found(merge(one, two))[1]).toBe(found(merge(two, one))[1]);
});
