// Nodes of a drive's tree (DLFS): directories, files and tombstones.

import { LazyValue } from "../cad3/lazy.js";
import { CadIndex, index } from "../cad3/maps/index-map.js";
import type { Value } from "../cad3/value.js";
import { driveError } from "../error.js";

/**
 * A directory, a file or a tombstone (of a deleted entry): entries, data, metadata, time of the last change. A
 * directory has entries, a file has data, a tombstone has neither. Possibly lazy, if some of its cells are not loaded.
 */
export type Node = readonly [entries: Value, data: Value, metadata: Value, utime: Value] | LazyValue;

/** Milliseconds since the Unix epoch, a 64-bit integer. */
export type Utime = number | bigint;

interface Stamped {
  readonly metadata: Value;
  readonly utime: bigint;
}

export interface Directory extends Stamped {
  readonly kind: "directory";
  readonly entries: CadIndex;
}

export interface FileNode extends Stamped {
  readonly kind: "file";
  readonly data: Uint8Array | LazyValue;
}

export type NodeView = Directory | FileNode | (Stamped & { readonly kind: "tombstone" });

/** An existing file or directory. */
export type LiveView = Exclude<NodeView, { kind: "tombstone" }>;

export const liveOf = (view: NodeView | undefined): LiveView | undefined =>
  view?.kind === "tombstone" ? undefined : view;

/**
 * A directory of entries; a later entry replaces an earlier one in the same slot. Names are not validated.
 *
 * @throws RangeError for a time that is not an integer, or a name with lone surrogates
 */
export function dir(entries: Iterable<readonly [string, Value]>, utime: Utime, metadata: Value = null): Node {
  return [index(entries), null, metadata, BigInt(utime)];
}

/** A file. @param data not copied: must not change afterwards @throws RangeError for a time that is not an integer */
export function file(data: Uint8Array, utime: Utime, metadata: Value = null): Node {
  return [null, data, metadata, BigInt(utime)];
}

/** Remains of a deleted file or directory, for merging. @throws RangeError for a time that is not an integer */
export function tombstone(utime: Utime): Node {
  return [null, null, null, BigInt(utime)];
}

/** A directory written locally has no metadata. */
export const directoryNode = (entries: CadIndex, utime: bigint): Node => [entries, null, null, utime];

/**
 * A file written locally. Its metadata is nil, or the time that a client gave it, a Long in milliseconds since the epoch:
 * merges go by `utime`, and take a file as a whole.
 */
export const fileNode = (data: Uint8Array | LazyValue, utime: bigint, metadata: Value = null): Node => [
  null,
  data,
  metadata,
  utime,
];

/** The metadata of a file with a time of its own. */
export const metadataFor = (modified: number | undefined): Value =>
  modified === undefined ? null : BigInt(Math.floor(modified));

/** The time of a file as its clients know it, in milliseconds since the epoch. */
export const modifiedOf = (metadata: Value | undefined, utime: bigint): number =>
  Number(typeof metadata === "bigint" ? metadata : utime);

/**
 * The view of a node; its entries or data are not read.
 *
 * @throws BAD_FORMAT, MISSING_CELL
 */
export function viewOf(node: Value): NodeView {
  const parts = openValue(node);
  if (!isVector(parts) || parts.length !== 4) throw notANode("a node is a vector of 4");
  const [entries = null, data = null, metadata = null, time = null] = parts;
  const utime = longOf(time);
  if (entries === null && data === null) return { kind: "tombstone", metadata, utime };
  if (entries === null) return { kind: "file", data: blobOf(data), metadata, utime };
  if (data !== null) throw notANode("a node has entries or data, not both");
  return { kind: "directory", entries: indexOf(entries), metadata, utime };
}

/** View of a node that must be a directory. @throws BAD_FORMAT, MISSING_CELL */
export function directoryOf(node: Value): Directory {
  const view = viewOf(node);
  if (view.kind !== "directory") throw notANode("the root of a drive is a directory");
  return view;
}

/** Bytes of a file. @throws BAD_FORMAT, MISSING_CELL */
export function contentOf({ data }: FileNode): Uint8Array {
  const content = data instanceof LazyValue ? data.whole() : data;
  if (!(content instanceof Uint8Array)) throw notANode("the data of a file is a blob");
  return content;
}

export const notANode = (what: string): Error => driveError("BAD_FORMAT", `Not a tree of a drive: ${what}`);

export const laterTime = (one: bigint, other: bigint): bigint => (one > other ? one : other);

/** Loads a lazy value; its parts stay lazy. @throws MISSING_CELL */
export const openValue = (value: Value): Value => (value instanceof LazyValue ? value.open() : value);

const isVector = (value: Value): value is readonly Value[] => Array.isArray(value);

function longOf(value: Value): bigint {
  if (typeof value !== "bigint" && typeof value !== "number") throw notANode("the time of a node is an integer");
  return BigInt(value);
}

/** Content is loaded only on demand. */
function blobOf(value: Value): Uint8Array | LazyValue {
  if (value instanceof Uint8Array || value instanceof LazyValue) return value;
  throw notANode("the data of a file is a blob");
}

function indexOf(value: Value): CadIndex {
  const entries = openValue(value);
  if (!(entries instanceof CadIndex)) throw notANode("the entries of a directory are an index");
  return entries;
}
