import { expect } from "@jest/globals";
import { hashOf } from "../../../../src/drive/cad3/encoding/cell.js";
import type { Value } from "../../../../src/drive/cad3/value.js";
import { merge } from "../../../../src/drive/dlfs/merge.js";
import { contentOf, file, viewOf } from "../../../../src/drive/dlfs/node.js";

/** A file of text. */
export const text = (content: string, utime: number): Value => file(Buffer.from(content), utime);

/** A tree to compare: names, times and contents; `-` for a tombstone. */
export function shown(node: Value | undefined): unknown {
  if (node === undefined) return undefined;
  const view = viewOf(node);
  const utime = Number(view.utime);
  if (view.kind === "tombstone") return `- ${utime}`;
  if (view.kind === "file") return `${Buffer.from(contentOf(view))} ${utime}`;
  return { utime, ...Object.fromEntries([...view.entries].map(([name, below]) => [name, shown(below)])) };
}

/** The merge both ways, which must be equal. */
export function merged(a: Value, b: Value): unknown {
  const both = merge(a, b);
  expect(hashOf(merge(b, a))).toBe(hashOf(both));
  return shown(both);
}
