// Validates the tree of an imported drive and strips its metadata.

import { CHUNK_BYTES } from "../../cad3/blob.js";
import { parseCell } from "../../cad3/encoding/parse-cell.js";
import type { ParsedCell } from "../../cad3/encoding/parsed.js";
import { textOf } from "../../cad3/encoding/parsed.js";
import { checkLimit } from "../../cad3/limits.js";
import { cellFrom, hashOfRef, isBranch, toHex } from "../../cad3/ref.js";
import { NIL, NIL_TAG } from "../../cad3/scalar.js";
import {
  checkExtent,
  checkFileSize,
  checkName,
  checkTime,
  type Extent,
  NOTHING,
  type NodeLimits,
} from "../../dlfs/check-node.js";
import { DELETED_MARK } from "../../dlfs/name.js";
import { notANode } from "../../dlfs/node.js";
import { createLru, type Lru } from "../../lru.js";
import type { PutBytes } from "../write-set.js";
import type { ImportCells } from "./stored-cells.js";

/** A tree without metadata, as this implementation writes it. */
export interface PlainTree {
  /** Its Ref; the cells have been stored. */
  readonly ref: Uint8Array;
  readonly extent: Extent;
}

export interface TreeParts {
  readonly cells: ImportCells;
  readonly put: PutBytes;
  readonly limits: NodeLimits;
}

interface Plain extends PlainTree {
  readonly isTombstone: boolean;
}

interface Task extends TreeParts {
  readonly known: Lru<Plain>;
  visited: number;
}

/** Position of a node. */
interface Spot {
  /** Names in its path. */
  readonly depth: number;
  readonly beside: readonly Uint8Array[];
}

const MAX_KNOWN = 20_000;

/**
 * Checks the tree of a foreign drive as `checkNode` does, and strips metadata, cell by cell; memory use does not grow
 * with the tree.
 *
 * @param root its Ref; its cells have been checked
 * @throws BAD_FORMAT, INVALID_PATH for a name, FUTURE_TIME, TOO_LARGE for one file, LIMIT, STORE_UNAVAILABLE
 */
export async function checkTree(root: Uint8Array, parts: TreeParts): Promise<PlainTree> {
  const task: Task = { ...parts, known: createLru<Plain>(MAX_KNOWN, () => 1), visited: 0 };
  const bytes = await parts.cells.read(root);
  if (isNil(nodeOf(bytes).entries)) throw notANode("the root of a drive is a directory");
  return plainNode(root, bytes, { depth: 0, task });
}

const isNil = (ref: Uint8Array): boolean => ref.length === 1 && ref[0] === NIL_TAG;

interface NodeRefs {
  readonly all: readonly Uint8Array[];
  readonly entries: Uint8Array;
  readonly data: Uint8Array;
  readonly metadata: Uint8Array;
  readonly utime: bigint;
}

function nodeOf(bytes: Uint8Array): NodeRefs {
  const cell = parseCell(bytes);
  const [entries, data, metadata, time] = cell.refs;
  const isNode = cell.kind === "vector" && cell.count === 4;
  if (!isNode || entries === undefined || data === undefined || metadata === undefined)
    throw notANode("a node is a vector of 4");
  const utime = time?.cell?.kind === "scalar" ? time.cell.value : undefined;
  if (typeof utime !== "bigint") throw notANode("the time of a node is an integer");
  const all = cell.refs.map((ref) => ref.bytes);
  return { all, entries: entries.bytes, data: data.bytes, metadata: metadata.bytes, utime };
}

interface At {
  readonly depth: number;
  readonly task: Task;
}

async function plainNode(ref: Uint8Array, bytes: Uint8Array, { depth, task }: At): Promise<Plain> {
  const { all, entries, data, metadata, utime } = nodeOf(bytes);
  checkTime({ utime }, task.limits);
  const isFile = isNil(entries);
  if (isFile) {
    const size = isNil(data) ? 0 : sizeOf(data, task);
    const plain = await withRefs({ ref, bytes, before: all }, [entries, data, NIL, all[3] ?? NIL], task);
    return { ref: plain, extent: { ...NOTHING, bytes: size }, isTombstone: isNil(data) };
  }
  if (!isNil(data)) throw notANode("a node has entries or data, not both");
  checkLimit(depth, task.limits.maxPathDepth, "names in a path");
  const inside = await plainEntries(entries, { depth, task });
  const extent = checkExtent(inside.extent, task.limits);
  const isSame = inside.ref === entries && isNil(metadata);
  const after = isSame ? all : [inside.ref, NIL, NIL, all[3] ?? NIL];
  return { ref: await withRefs({ ref, bytes, before: all }, after, task), extent, isTombstone: false };
}

function sizeOf(data: Uint8Array, { cells, limits }: Task): number {
  const size = isBranch(data) ? cells.lengthOf(data) : lengthOf(parseCell(data));
  if (size === 0 && isBranch(data)) throw notANode("the data of a file is a blob");
  checkFileSize(size, limits);
  return size;
}

function lengthOf(cell: ParsedCell): number {
  if (cell.kind !== "blob" || cell.isText) throw notANode("the data of a file is a blob");
  return cell.length;
}

/** All entries of a directory. */
async function plainEntries(ref: Uint8Array, { depth, task }: At): Promise<PlainTree> {
  const bytes = await task.cells.read(ref);
  const cell = parseCell(bytes);
  if (cell.kind !== "index") throw notANode("the entries of a directory are an index");
  const known = task.known.get(toHex(ref));
  if (known !== undefined) return known;
  checkLimit(cell.count, task.limits.maxEntries, "entries in a directory");
  task.visited += cell.count;
  checkLimit(task.visited, task.limits.maxImportEntries, "entries");
  return plainIndex(ref, { depth, beside: [] }, task);
}

/** An index node: a part of the entries, or all of them. */
async function plainIndex(ref: Uint8Array, { depth, beside }: Spot, task: Task): Promise<PlainTree> {
  const key = isBranch(ref) ? toHex(ref) : undefined;
  const known = key === undefined ? undefined : task.known.get(key);
  if (known !== undefined) return known;
  const bytes = await task.cells.read(ref, beside);
  const { before, hasOwn } = indexRefs(bytes);
  const after: Uint8Array[] = [];
  let extent = NOTHING;
  for (const [place, part] of before.entries()) {
    if (hasOwn && place === 0) {
      after.push(part);
      continue;
    }
    const spot = { depth, beside: before.slice(place + 1) };
    const isEntry = hasOwn && place === 1;
    const plain = isEntry
      ? await plainEntry(before[0] ?? NIL, part, { spot, task })
      : await plainIndex(part, spot, task);
    after.push(plain.ref);
    extent = sum(extent, plain.extent);
  }
  const made = { ref: await withRefs({ ref, bytes, before }, after, task), extent, isTombstone: false };
  // Only at the root is the mark of a deleted drive a name, so results for the root must not be reused elsewhere.
  if (key !== undefined && depth > 0) task.known.set(key, made);
  return made;
}

function indexRefs(bytes: Uint8Array): { readonly before: readonly Uint8Array[]; readonly hasOwn: boolean } {
  const cell = parseCell(bytes);
  if (cell.kind !== "index") throw notANode("the entries of a directory are an index");
  return { before: cell.refs.map((ref) => ref.bytes), hasOwn: cell.hasOwn };
}

const sum = (one: Extent, other: Extent): Extent => ({
  entries: one.entries + other.entries,
  bytes: one.bytes + other.bytes,
  height: Math.max(one.height, other.height),
});

async function plainEntry(
  key: Uint8Array,
  ref: Uint8Array,
  { spot, task }: { readonly spot: Spot; readonly task: Task },
): Promise<PlainTree> {
  const { depth, beside } = spot;
  const name = parseCell(await task.cells.read(key));
  const hash = isBranch(ref) ? toHex(ref) : undefined;
  const known = hash === undefined ? undefined : task.known.get(hash);
  const plain = known ?? (await plainNode(ref, await task.cells.read(ref, beside), { depth: depth + 1, task }));
  if (hash !== undefined && known === undefined) task.known.set(hash, plain);
  if (!(depth === 0 && plain.isTombstone && isMark(name))) checkKey(name);
  const { entries, bytes, height } = plain.extent;
  return { ref: plain.ref, extent: { entries: entries + 1, bytes, height: height + 1 } };
}

/** Stands for a text that spans several cells. */
const TOO_LONG = "x".repeat(CHUNK_BYTES);

const isMark = (name: ParsedCell): boolean =>
  name.kind === "blob" && name.isText && name.content !== undefined && textOf(name.content) === DELETED_MARK;

function checkKey(name: ParsedCell): void {
  if (name.kind !== "blob" || !name.isText) throw notANode("names are strings");
  checkName(name.content === undefined ? TOO_LONG : textOf(name.content));
}

interface Rewriting {
  readonly ref: Uint8Array;
  readonly bytes: Uint8Array;
  /** Views into the bytes. */
  readonly before: readonly Uint8Array[];
}

/** A cell with other Refs, stored if it is a branch; returns the same Ref if none changed. */
async function withRefs(
  { ref, bytes, before }: Rewriting,
  after: readonly Uint8Array[],
  { put }: Pick<Task, "put">,
): Promise<Uint8Array> {
  const isSame = before.every((one, place) => one === after[place] || (isNil(one) && isNil(after[place] ?? one)));
  if (isSame) return ref;
  const pieces: Uint8Array[] = [];
  let at = 0;
  for (const [place, one] of before.entries()) {
    const start = one.byteOffset - bytes.byteOffset;
    pieces.push(bytes.subarray(at, start), after[place] ?? one);
    at = start + one.length;
  }
  const cell = cellFrom(new Uint8Array(Buffer.concat([...pieces, bytes.subarray(at)])));
  if (isBranch(cell.ref)) await put(hashOfRef(cell.ref), cell.bytes);
  return cell.ref;
}
