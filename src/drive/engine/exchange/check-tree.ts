// Validates the tree of an imported drive and strips its metadata.

import { CHUNK_BYTES } from "../../cad3/blob.js";
import { parseCell } from "../../cad3/encoding/parse-cell.js";
import type { ParsedCell, ParsedIndex } from "../../cad3/encoding/parsed.js";
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
import { createLru } from "../../lru.js";
import { NEWEST_FORMAT } from "../../store/checks.js";
import { checkOldDepth, type PutBytes } from "../write-set.js";
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
  /** Format of the store. */
  readonly format: number;
}

interface Plain extends PlainTree {
  readonly isTombstone: boolean;
}

const MAX_KNOWN = 20_000;
/** An empty blob. */
const EMPTY = "3100";

/**
 * Checks the tree of a foreign drive as `checkNode` does, and strips metadata, cell by cell; memory use does not grow
 * with the tree.
 *
 * @param root its Ref; its cells have been checked
 * @throws BAD_FORMAT, INVALID_PATH for a name, FUTURE_TIME, TOO_LARGE for one file, LIMIT, STORE_UNAVAILABLE
 * @throws NOT_SUPPORTED if the format of the store is too old
 */
export async function checkTree(root: Uint8Array, parts: TreeParts): Promise<PlainTree> {
  const bytes = await parts.cells.read(root);
  const { entries, data, metadata } = nodeOf(bytes);
  // A deleted drive is an empty file.
  const isDeleted = isNil(metadata) && toHex(data) === EMPTY;
  if (isNil(entries) && !isDeleted) throw notANode("the root of a drive is a directory");
  return new TreeCheck(parts).node(root, bytes, 0);
}

class TreeCheck {
  readonly #parts: TreeParts;
  readonly #known = createLru<Plain>(MAX_KNOWN);
  #visited = 0;

  constructor(parts: TreeParts) {
    this.#parts = parts;
  }

  /** @param depth names in its path */
  async node(ref: Uint8Array, bytes: Uint8Array, depth: number): Promise<Plain> {
    const { limits } = this.#parts;
    const { entries, data, metadata, time, utime } = nodeOf(bytes);
    checkTime({ utime }, limits);
    const before = { ref, bytes, refs: [entries, data, metadata, time] };
    if (isNil(entries)) {
      const size = isNil(data) ? 0 : this.#sizeOf(data);
      const plain = await this.#withRefs(before, [entries, data, NIL, time]);
      return { ref: plain, extent: { ...NOTHING, bytes: size }, isTombstone: isNil(data) };
    }
    if (!isNil(data)) throw notANode("a node has entries or data, not both");
    checkLimit(depth, limits.maxPathDepth, "names in a path");
    const inside = await this.#entries(entries, depth);
    const extent = checkExtent(inside.extent, limits);
    return { ref: await this.#withRefs(before, [inside.ref, data, NIL, time]), extent, isTombstone: false };
  }

  #sizeOf(data: Uint8Array): number {
    const { cells, limits } = this.#parts;
    const cell = isBranch(data) ? undefined : parseCell(data);
    const size = cell === undefined ? cells.lengthOf(data) : cell.kind === "blob" && !cell.isText ? cell.length : -1;
    if (size < 0 || (cell === undefined && size === 0)) throw notANode("the data of a file is a blob");
    checkFileSize(size, limits);
    return size;
  }

  /** All entries of a directory. */
  async #entries(ref: Uint8Array, depth: number): Promise<PlainTree> {
    const { cells, limits } = this.#parts;
    const { count } = indexOf(await cells.read(ref));
    const known = this.#known.get(toHex(ref));
    if (known !== undefined) return known;
    checkLimit(count, limits.maxEntries, "entries in a directory");
    this.#visited += count;
    checkLimit(this.#visited, limits.maxImportEntries, "entries");
    return this.#index(ref, depth, []);
  }

  /** An index node: a part of the entries, or all of them. */
  async #index(ref: Uint8Array, depth: number, beside: readonly Uint8Array[]): Promise<PlainTree> {
    const key = isBranch(ref) ? toHex(ref) : undefined;
    const known = key === undefined ? undefined : this.#known.get(key);
    if (known !== undefined) return known;
    const bytes = await this.#parts.cells.read(ref, beside);
    const cell = indexOf(bytes);
    if (this.#parts.format < NEWEST_FORMAT) checkOldDepth(cell);
    const refs = cell.refs.map((part) => part.bytes);
    const after: Uint8Array[] = [];
    let extent = NOTHING;
    for (const [place, part] of refs.entries()) {
      const rest = refs.slice(place + 1);
      const [own] = refs;
      if (cell.hasOwn && place === 0) after.push(part);
      else {
        const isEntry = cell.hasOwn && place === 1 && own !== undefined;
        const plain = isEntry ? await this.#entry([own, part], depth, rest) : await this.#index(part, depth, rest);
        after.push(plain.ref);
        extent = sum(extent, plain.extent);
      }
    }
    const made = { ref: await this.#withRefs({ ref, bytes, refs }, after), extent, isTombstone: false };
    // Only at the root is the mark of a deleted drive a name, so results for the root must not be reused elsewhere.
    if (key !== undefined && depth > 0) this.#known.set(key, made);
    return made;
  }

  async #entry(
    [key, ref]: readonly [Uint8Array, Uint8Array],
    depth: number,
    beside: readonly Uint8Array[],
  ): Promise<PlainTree> {
    const { cells } = this.#parts;
    const name = parseCell(await cells.read(key));
    const hash = isBranch(ref) ? toHex(ref) : undefined;
    const known = hash === undefined ? undefined : this.#known.get(hash);
    const plain = known ?? (await this.node(ref, await cells.read(ref, beside), depth + 1));
    if (hash !== undefined && known === undefined) this.#known.set(hash, plain);
    if (!(depth === 0 && plain.isTombstone && isMark(name))) checkKey(name);
    const { entries, bytes, height } = plain.extent;
    return { ref: plain.ref, extent: { entries: entries + 1, bytes, height: height + 1 } };
  }

  /**
   * A cell with other Refs, stored if it is a branch; the same Ref if none changed.
   * @param before its Refs are views into the bytes
   */
  async #withRefs(
    before: { readonly ref: Uint8Array; readonly bytes: Uint8Array; readonly refs: readonly Uint8Array[] },
    after: readonly Uint8Array[],
  ): Promise<Uint8Array> {
    const { ref, bytes, refs } = before;
    if (refs.every((one, place) => one === after[place] || (isNil(one) && isNil(after[place] ?? one)))) return ref;
    const pieces: Uint8Array[] = [];
    let at = 0;
    for (const [place, one] of refs.entries()) {
      const start = one.byteOffset - bytes.byteOffset;
      pieces.push(bytes.subarray(at, start), after[place] ?? one);
      at = start + one.length;
    }
    const cell = cellFrom(new Uint8Array(Buffer.concat([...pieces, bytes.subarray(at)])));
    if (isBranch(cell.ref)) await this.#parts.put(hashOfRef(cell.ref), cell.bytes);
    return cell.ref;
  }
}

const isNil = (ref: Uint8Array): boolean => ref.length === 1 && ref[0] === NIL_TAG;

function nodeOf(bytes: Uint8Array) {
  const cell = parseCell(bytes);
  const [entries, data, metadata, time] = cell.refs.map((ref) => ref.bytes);
  const isNode = cell.kind === "vector" && cell.count === 4;
  if (!isNode || entries === undefined || data === undefined || metadata === undefined || time === undefined)
    throw notANode("a node is a vector of 4");
  const last = cell.refs[3]?.cell;
  const utime = last?.kind === "scalar" ? last.value : undefined;
  if (typeof utime !== "bigint") throw notANode("the time of a node is an integer");
  return { entries, data, metadata, time, utime };
}

function indexOf(bytes: Uint8Array): ParsedIndex {
  const cell = parseCell(bytes);
  if (cell.kind !== "index") throw notANode("the entries of a directory are an index");
  return cell;
}

const sum = (one: Extent, other: Extent): Extent => ({
  entries: one.entries + other.entries,
  bytes: one.bytes + other.bytes,
  height: Math.max(one.height, other.height),
});

/** Stands for a text that spans several cells. */
const TOO_LONG = "x".repeat(CHUNK_BYTES);

const isMark = (name: ParsedCell): boolean =>
  name.kind === "blob" && name.isText && name.content !== undefined && textOf(name.content) === DELETED_MARK;

function checkKey(name: ParsedCell): void {
  if (name.kind !== "blob" || !name.isText) throw notANode("names are strings");
  checkName(name.content === undefined ? TOO_LONG : textOf(name.content));
}
