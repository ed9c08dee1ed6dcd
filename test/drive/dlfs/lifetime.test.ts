import { describe, expect, test } from "@jest/globals";
import { hashOf } from "../../../src/drive/cad3/encoding/cell.js";
import type { Value } from "../../../src/drive/cad3/value.js";
import { applyOp } from "../../../src/drive/dlfs/apply-op.js";
import { createDrive, deleteDrive, isDeletedDrive } from "../../../src/drive/dlfs/lifetime.js";
import { merge } from "../../../src/drive/dlfs/merge.js";
import { DELETED_MARK } from "../../../src/drive/dlfs/name.js";
import { dir, file, tombstone } from "../../../src/drive/dlfs/node.js";
import { codeOf } from "../cad3/code-of.js";
import { parseVectors } from "../cad3/notation.js";
import { type NodeNotation, nodeOf } from "./tree-notation.js";

type Step = { readonly delete: number } | { readonly create: number } | { readonly merge: NodeNotation };

interface DeletionVectors {
  readonly driveDeletion: readonly {
    readonly name: string;
    readonly start: NodeNotation;
    readonly steps: readonly Step[];
    readonly result: NodeNotation;
    readonly deleted: boolean;
    readonly hash: string;
  }[];
}

const { driveDeletion } = parseVectors<DeletionVectors>("index-long");

function take(root: Value, step: Step): Value {
  if ("delete" in step) return deleteDrive(root, { at: step.delete });
  return "create" in step ? createDrive(root, { at: step.create }) : merge(root, nodeOf(step.merge));
}

describe("the deletion of a drive", () => {
  test("has vectors", () => {
    expect(driveDeletion.length).toBeGreaterThan(3);
  });

  test.each(driveDeletion)("$name", ({ start, steps, result, deleted, hash }) => {
    const root = steps.reduce(take, nodeOf(start));
    expect([hashOf(root), isDeletedDrive(root)]).toEqual([hash, deleted]);
    expect(hashOf(nodeOf(result))).toBe(hash);
  });

  const start = dir([["a", file(Buffer.from("A"), 5)]], 5);

  test("of a deleted drive is refused", () => {
    expect(codeOf(() => deleteDrive(deleteDrive(start, { at: 9 }), { at: 10 }))).toBe("NOT_FOUND");
  });

  test("does not change what it started from", () => {
    const before = hashOf(start);
    deleteDrive(start, { at: 9 });
    expect([hashOf(start), isDeletedDrive(start)]).toEqual([before, false]);
  });

  test("is undone by a later change elsewhere, which brings that copy back whole", () => {
    const elsewhere = applyOp(start, { op: "write", path: "b", data: Buffer.from("B"), at: 20 });
    expect(hashOf(merge(deleteDrive(start, { at: 9 }), elsewhere))).toBe(hashOf(elsewhere));
  });

  test("is not undone by the merge of what came before it", () => {
    const earlier = applyOp(start, { op: "write", path: "b", data: Buffer.from("B"), at: 8 });
    const merged = merge(deleteDrive(start, { at: 9 }), earlier);
    expect(isDeletedDrive(merged)).toBe(true);
    expect(hashOf(createDrive(merged, { at: 9 }))).toBe(hashOf(dir([], 10)));
  });

  test("gives way to what is live at the same time, on both sides", () => {
    for (let place = 0; place < 8; place += 1) {
      const [live, gone] = [dir([[`f${place}`, file(Buffer.from("x"), 10)]], 10), deleteDrive(dir([], 9), { at: 10 })];
      expect([hashOf(merge(live, gone)), hashOf(merge(gone, live))]).toEqual([hashOf(live), hashOf(live)]);
      expect(isDeletedDrive(merge(gone, live, { ties: "own" }))).toBe(true);
    }
  });

  test("is refused where there is no later time", () => {
    expect(codeOf(() => deleteDrive(dir([], 2n ** 63n - 1n), { at: 9 }))).toBe("FUTURE_TIME");
  });
});

describe("the making of a drive", () => {
  test("begins with an empty directory", () => {
    expect(hashOf(createDrive(null, { at: 77 }))).toBe(hashOf(dir([], 77)));
  });

  test("is refused while there is one", () => {
    expect(codeOf(() => createDrive(dir([], 5), { at: 6 }))).toBe("EXISTS");
    const made = createDrive(deleteDrive(dir([], 5), { at: 6 }), { at: 7 });
    expect(codeOf(() => createDrive(made, { at: 8 }))).toBe("EXISTS");
  });
});

describe("a drive counts as deleted", () => {
  const mark = (utime: number, entry: Value = tombstone(utime)): Value => dir([[DELETED_MARK, entry]], 10);

  test.each<[string, Value, boolean]>([
    ["with a mark of its own time", mark(10), true],
    ["with a later mark", mark(11), true],
    ["not with an earlier mark", mark(9), false],
    ["not without a mark", dir([], 10), false],
    ["not with a live entry of that name", mark(10, file(new Uint8Array(), 10)), false],
    ["as an empty file", file(new Uint8Array(), 10), true],
  ])("%s", (_, root, deleted) => {
    expect(isDeletedDrive(root)).toBe(deleted);
  });

  test.each<[string, Value]>([
    ["a file with content", file(Buffer.from("x"), 10)],
    ["an empty file with metadata", file(new Uint8Array(), 10, 5n)],
    ["a tombstone", tombstone(10)],
  ])("%s is no root", (_, root) => {
    expect(codeOf(() => isDeletedDrive(root))).toBe("BAD_FORMAT");
  });
});
