import type { Value } from "../../../src/drive/cad3/value.js";
import { dir, file, tombstone } from "../../../src/drive/dlfs/node.js";
import { parseValue } from "../cad3/notation.js";

/** A node in the notation of the vectors. */
export type NodeNotation =
  | { readonly dir: readonly (readonly [string, NodeNotation])[]; readonly utime: number; readonly meta?: unknown }
  | { readonly file: unknown; readonly utime: number; readonly meta?: unknown }
  | { readonly tombstone: number };

/** What an encoded result is to be. */
export interface Expected {
  readonly length?: number;
  readonly embedded?: boolean;
  readonly encoding?: string;
  readonly hash: string;
}

/** The node, made by the functions that make nodes. */
export function nodeOf(notation: NodeNotation): Value {
  if ("tombstone" in notation) return tombstone(notation.tombstone);
  const meta = parseValue(notation.meta ?? null);
  if ("file" in notation) return file(bytesOf(notation.file), notation.utime, meta);
  return dir(
    notation.dir.map(([name, node]) => [name, nodeOf(node)]),
    notation.utime,
    meta,
  );
}

export function bytesOf(notation: unknown): Uint8Array {
  const bytes = parseValue(notation);
  if (!(bytes instanceof Uint8Array)) throw new TypeError("Not the notation of a blob");
  return bytes;
}

/** Whether a vector stands for a node. */
export const isNode = (notation: unknown): notation is NodeNotation =>
  typeof notation === "object" && notation !== null && ["dir", "file", "tombstone"].some((form) => form in notation);
