import { describe, expect, test } from "@jest/globals";
import { encode, hashOf } from "../../../../src/drive/cad3/encoding/cell.js";
import { merge } from "../../../../src/drive/dlfs/merge.js";
import { parseVectors, toHex } from "../../cad3/notation.js";
import { type Expected, type NodeNotation, nodeOf } from "../tree-notation.js";

interface MergeVectors {
  readonly merges: readonly {
    readonly name: string;
    readonly a: Expected & { readonly value: NodeNotation };
    readonly b: Expected & { readonly value: NodeNotation };
    readonly ab: Expected;
    readonly ba: Expected;
    readonly hashTies?: Expected;
  }[];
}

const { merges } = parseVectors<MergeVectors>("dlfs-merge");
const shown = (node: Parameters<typeof encode>[0]): unknown => ({ hash: hashOf(node), encoding: toHex(encode(node)) });
const wanted = ({ hash, encoding }: Expected): unknown => ({ hash, encoding });

describe("a merge of the reference", () => {
  test("is there to be compared with", () => {
    expect(merges.length).toBeGreaterThan(10);
  });

  test.each(merges)("$name: ends in the same tree", ({ a, b, ab, ba, hashTies }) => {
    const [one, two] = [nodeOf(a.value), nodeOf(b.value)];
    expect([shown(one), shown(two)]).toEqual([wanted(a), wanted(b)]);
    expect(shown(merge(one, two, { ties: "own" }))).toEqual(wanted(ab));
    expect(shown(merge(two, one, { ties: "own" }))).toEqual(wanted(ba));
    if (hashTies === undefined) return;
    expect(shown(merge(one, two))).toEqual(wanted(hashTies));
    expect(shown(merge(two, one, { ties: "hash" }))).toEqual(wanted(hashTies));
    // What was merged stays as it was.
    expect([shown(one), shown(two)]).toEqual([wanted(a), wanted(b)]);
  });
});

interface LongMerge {
  readonly name: string;
  readonly a: NodeNotation;
  readonly b: NodeNotation;
  readonly hashA: string;
  readonly hashB: string;
  readonly ab: string;
  readonly ba: string;
  readonly abTree?: NodeNotation;
  readonly baTree?: NodeNotation;
}

test.each(parseVectors<{ readonly merges: readonly LongMerge[] }>("index-long").merges)(
  "a merge with long names, or of deleted drives, ends in the same tree: $name",
  ({ a, b, hashA, hashB, ab, ba, abTree, baTree }) => {
    const [one, two] = [nodeOf(a), nodeOf(b)];
    expect([hashOf(one), hashOf(two)]).toEqual([hashA, hashB]);
    expect(hashOf(merge(one, two, { ties: "own" }))).toBe(ab);
    expect(hashOf(merge(two, one, { ties: "own" }))).toBe(ba);
    if (abTree !== undefined) expect(hashOf(nodeOf(abTree))).toBe(ab);
    if (baTree !== undefined) expect(hashOf(nodeOf(baTree))).toBe(ba);
    // Copies of ours agree, whichever merges.
    expect(hashOf(merge(one, two))).toBe(hashOf(merge(two, one)));
  },
);
