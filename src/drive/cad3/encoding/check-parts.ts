// Consistency checks between a cell and those of its parts that are available.

import { blobLayout, childLength, encodedBlobBytes } from "../blob.js";
import { digitAt, hasDigit, MAX_DIGITS, SLOT_BYTES, sharedDigits } from "../maps/index-key.js";
import type { IndexNode } from "../maps/index-node.js";
import type { MapNode } from "../maps/map-node.js";
import { HASH_BYTES, MAX_EMBEDDED_BYTES } from "../ref.js";
import { Keyword, utf8Bytes } from "../scalar.js";
import type { Value } from "../value.js";
import { vectorLayout } from "../vector.js";
import type { ParsedBlob, ParsedCell, ParsedIndex, ParsedMap, ParsedVector } from "./parsed.js";
import { badFormat } from "./reader.js";

type Parts = readonly (Checked | undefined)[];

/** Facts that hold for all keys of a map or an index. */
export interface Keys {
  /** Slot bytes of any one key, if a key is available. */
  readonly slot: Uint8Array | undefined;
  /** Number of leading digits shared by all keys. */
  readonly shared: number;
}

/** A cell checked together with its available branches. */
export interface Checked extends Keys {
  readonly cell: ParsedCell;
  /** In the order of its Refs; `undefined` for missing ones. */
  readonly parts: readonly (Checked | undefined)[];
}

const NO_KEYS: Keys = { slot: undefined, shared: 0 };

/**
 * Checks that the available parts of a cell fit the cell and each other.
 *
 * @param parts in the order of its Refs
 * @throws BAD_FORMAT
 */
export function checkParts(cell: ParsedCell, parts: Parts): Keys {
  if (cell.kind === "blob") checkBlob(cell, parts);
  if (cell.kind === "vector") checkVector(cell, parts);
  if (cell.kind === "map") return checkMap(cell, parts);
  return cell.kind === "index" ? checkIndex(cell, parts) : NO_KEYS;
}

function checkBlob({ length, refs }: ParsedBlob, parts: Parts): void {
  if (refs.length === 0) return;
  const layout = blobLayout(length);
  refs.forEach((ref, place) => {
    const expected = childLength(layout, place);
    const part = parts[place]?.cell;
    if (ref.cell === undefined && encodedBlobBytes(expected) <= MAX_EMBEDDED_BYTES) {
      throw badFormat("a short part of a blob stands apart");
    }
    if (part !== undefined && (part.kind !== "blob" || part.isText)) throw badFormat("a part of a blob is no blob");
    if (part !== undefined && part.length !== expected) throw badFormat("a part of a blob has a wrong length");
  });
}

function checkVector({ count, elements }: ParsedVector, parts: Parts): void {
  const { children, childCount, lastCount } = vectorLayout(count);
  parts.slice(elements).forEach((part, place) => {
    const expected = place < children - 1 ? childCount : lastCount;
    if (part === undefined) return;
    if (part.cell.kind !== "vector") throw badFormat("a part of a vector is no vector");
    if (part.cell.count !== expected) throw badFormat("a part of a vector has a wrong count");
  });
}

function checkMap(cell: ParsedMap, parts: Parts): Keys {
  const { count, hashes, shift, mask } = cell;
  const [first] = hashes;
  const last = hashes.at(-1);
  if (first !== undefined && last !== undefined) {
    return { slot: first, shared: sharedDigits(first, last, 2 * HASH_BYTES) };
  }
  if (count === 0) return NO_KEYS;
  for (const part of parts)
    if (part !== undefined && part.cell.kind !== "map") throw badFormat("a part of a map is no map");
  return { slot: checkFan({ count, depth: shift, mask, parts }, undefined), shared: shift };
}

function checkIndex(cell: ParsedIndex, parts: Parts): Keys {
  const { count, depth, mask, hasOwn } = cell;
  if (count === 0) return NO_KEYS;
  const key = hasOwn ? parts[0] : undefined;
  const slot = key === undefined ? undefined : keySlot(key);
  if (count === 1) return { slot, shared: key === undefined ? MAX_DIGITS : keyDigits(key.cell) };
  if (hasOwn) checkOwnKey(key?.cell, depth);
  const children = parts.slice(hasOwn ? 2 : 0);
  for (const part of children)
    if (part !== undefined && part.cell.kind !== "index") throw badFormat("a part of an index is no index");
  return { slot: checkFan({ count: hasOwn ? count - 1 : count, depth, mask, parts: children }, slot), shared: depth };
}

/** The significant bytes of a key, if available. */
function keySlot(key: Checked): Uint8Array | undefined {
  if (key.cell.kind !== "blob") return keywordSlot(key.cell);
  let chunk: Checked | undefined = key;
  while (chunk?.cell.kind === "blob" && chunk.cell.content === undefined) chunk = chunk.parts[0];
  return chunk?.cell.kind === "blob" ? chunk.cell.content?.subarray(0, SLOT_BYTES) : undefined;
}

interface Fan {
  /** Total entries of all parts. */
  readonly count: number;
  readonly depth: number;
  readonly mask: number;
  readonly parts: Parts;
}

/** Checks the subtrees of a tree against each other and their digits. @returns the slot of any one key, if known */
function checkFan({ count, depth, mask, parts }: Fan, ownSlot: Uint8Array | undefined): Uint8Array | undefined {
  let slot = ownSlot;
  let [digit, counted, isWhole] = [-1, 0, true];
  for (const part of parts) {
    do digit += 1;
    while (!hasDigit(mask, digit));
    counted += part === undefined ? 1 : countOf(part.cell);
    isWhole &&= part !== undefined;
    if (part === undefined) continue;
    // An empty subtree shares no digits.
    if (part.shared <= depth) throw badFormat("a subtree does not lie below its place");
    if (part.slot === undefined) continue;
    slot ??= part.slot;
    if (sharedDigits(slot, part.slot, depth) < depth) throw badFormat("the keys of a tree share too little");
    if (digitAt(part.slot, depth) !== digit) throw badFormat("a subtree stands at a wrong digit");
  }
  if (isWhole ? counted !== count : counted > count) throw badFormat("a tree counts wrongly");
  return slot;
}

const countOf = (cell: ParsedCell): number => (cell.kind === "map" || cell.kind === "index" ? cell.count : 0);

/** Digits of the shortest key that is a branch: its encoding has a tag and two bytes of length. */
const MIN_BRANCH_DIGITS = 2 * (MAX_EMBEDDED_BYTES + 1 - 3);

/** @param key `undefined` for a branch that is missing @throws BAD_FORMAT if the key of a node does not end at its depth */
export function checkOwnKey(key: ParsedCell | undefined, depth: number): void {
  if (key === undefined ? depth < MIN_BRANCH_DIGITS : keyDigits(key) !== depth)
    throw badFormat("a key does not end where it stands");
}

/** Number of significant digits of an index key. @throws BAD_FORMAT if it is not a key */
export function keyDigits(cell: ParsedCell): number {
  if (cell.kind === "blob") return Math.min(MAX_DIGITS, 2 * cell.length);
  return 2 * keywordSlot(cell).length;
}

/** @throws BAD_FORMAT if it is not a keyword */
function keywordSlot(cell: ParsedCell): Uint8Array {
  if (cell.kind === "scalar" && cell.value instanceof Keyword)
    return utf8Bytes(cell.value.name).subarray(0, SLOT_BYTES);
  throw badFormat("the key of an index is no string, blob or keyword");
}

/** Size of a value. Shared parts count each time; missing parts do not count. */
export interface Weight {
  /** Bytes of blobs, and of strings that are trees of blobs. */
  readonly bytes: number;
  /** Entries of maps and indexes. */
  readonly entries: number;
  /** Elements of vectors. */
  readonly elements: number;
}

/** Value of a cell. Inner cells of a tree are nodes and become values only on request. */
export interface Made {
  value(): Value;
  readonly elements?: readonly Value[];
  readonly mapNode?: MapNode;
  readonly indexNode?: IndexNode | undefined;
}

export interface Built extends Checked {
  /** Its Ref, as a container holds it. */
  readonly ref: Uint8Array;
  readonly parts: readonly (Built | undefined)[];
  /** Nesting depth of branches below this cell. */
  readonly height: number;
  readonly weight: Weight;
  /** `undefined` while a branch is missing. */
  readonly made: Made | undefined;
}
