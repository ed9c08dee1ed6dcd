import { hashOf } from "../../../../src/drive/cad3/encoding/cell.js";
import type { Value } from "../../../../src/drive/cad3/value.js";
import { applyOp } from "../../../../src/drive/dlfs/apply-op.js";
import { merge } from "../../../../src/drive/dlfs/merge.js";
import { dir, file } from "../../../../src/drive/dlfs/node.js";
import { fromStore } from "../../from-store.js";

export interface CopiesShape {
  readonly files: number;
  readonly directories: number;
  /** Bytes of each file. */
  readonly size: number;
  /** In how many files the copies differ: the changes take turns. */
  readonly changes: number;
}

/** What the merge of two copies was, and what it took. */
export interface MergeCost {
  /** Cells that were loaded, of both copies. */
  readonly visited: number;
  /** Of the merge of both, and what it has to be. */
  readonly hash: string;
  readonly expected: string;
}

/** Merges two copies of one drive, both as from a store. */
export function mergeCopies(shape: CopiesShape): MergeCost {
  const common = commonRoot(shape);
  let visited = 0;
  const [own, other] = [0, 1].map((side) =>
    fromStore(changed(common, shape, side), () => {
      visited += 1;
    }),
  );
  const merged = merge(own ?? null, other ?? null);
  return { visited, hash: hashOf(merged), expected: hashOf(changed(common, shape)) };
}

function commonRoot({ files, directories, size }: CopiesShape): Value {
  const each = files / directories;
  const names = (prefix: string, count: number): string[] =>
    Array.from({ length: count }, (_, place) => `${prefix}${place}`);
  const directory = (_: string, place: number): Value =>
    dir(
      names("file-", each).map((name, at) => [name, file(Buffer.alloc(size, `${place} ${at} `), 10 + (at % 7))]),
      20,
    );
  return dir(
    names("dir-", directories).map((name, place) => [name, directory(name, place)]),
    30,
  );
}

/** @param side 0 or 1: that copy has every second change; left out, it has all */
function changed(common: Value, { files, directories, changes }: CopiesShape, side?: number): Value {
  const each = files / directories;
  let root = common;
  for (let change = 0; change < changes; change += 1) {
    if (side !== undefined && change % 2 !== side) continue;
    const path = `dir-${(change * 7) % directories}/file-${(change * 7919) % each}`;
    root = applyOp(root, { op: "write", path, data: Buffer.from(`change ${change}`), at: 100 + change });
  }
  return root;
}
