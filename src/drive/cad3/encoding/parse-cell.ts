// Strict parser of a single cell.

import { blobLayout, CHUNK_BYTES } from "../blob.js";
import { countDigits, MAX_DIGITS } from "../maps/index-key.js";
import { MAX_LEAF_ENTRIES } from "../maps/map-node.js";
import { HASH_BYTES, hashOfRef, MAX_EMBEDDED_BYTES, REF_BYTES, REF_TAG } from "../ref.js";
import * as tag from "../scalar.js";
import { vectorLayout } from "../vector.js";
import { checkOwnKey, keyDigits } from "./check-parts.js";
import type {
  ParsedBlob,
  ParsedCell,
  ParsedIndex,
  ParsedMap,
  ParsedRef,
  ParsedScalar,
  ParsedSigned,
  ParsedVector,
} from "./parsed.js";
import { refusedTag, takeKeyword, takeLong } from "./parsed.js";
import { badFormat, type Reader, readerOf, take, takeByte, takeVlq } from "./reader.js";

const NO_ENTRY_MARK = 0x00;
const ENTRY_MARK = 0x80;
const MAX_DEPTH = MAX_DIGITS - 1;
const MAX_SHIFT = 2 * HASH_BYTES - 1;

/**
 * Parses one cell and its embedded parts strictly. Whether parts fit together is checked by `checkParts`, since some
 * may be branches.
 *
 * @param bytes the result holds views of them, so they must not change
 * @throws BAD_FORMAT, UNSUPPORTED_CELL, LIMIT
 */
export function parseCell(bytes: Uint8Array): ParsedCell {
  const reader = readerOf(bytes);
  const cell = takeCell(reader);
  if (reader.at < reader.end) throw badFormat("something follows it");
  return cell;
}

export function takeCell(reader: Reader): ParsedCell {
  const start = reader.at;
  const first = takeByte(reader);
  switch (first) {
    case tag.BLOB_TAG:
    case tag.STRING_TAG:
      return takeBlob(reader, start, first === tag.STRING_TAG);
    case tag.VECTOR_TAG:
      return takeVector(reader, start);
    case tag.MAP_TAG:
      return takeMap(reader, start);
    case tag.INDEX_TAG:
      return takeIndex(reader, start);
    case tag.SIGNED_TAG:
      return takeSigned(reader, start);
    default:
      return { kind: "scalar", value: takeScalar(reader, first), bytes: bytesSince(reader, start), refs: [] };
  }
}

const bytesSince = ({ bytes, at }: Reader, start: number): Uint8Array =>
  start === 0 && at === bytes.length ? bytes : bytes.subarray(start, at);

function takeScalar(reader: Reader, first: number): ParsedScalar["value"] {
  if (first >= tag.LONG_TAG && first <= tag.LONG_TAG + tag.MAX_LONG_BYTES)
    return takeLong(reader, first - tag.LONG_TAG);
  switch (first) {
    case tag.NIL_TAG:
      return null;
    case tag.FALSE_TAG:
      return false;
    case tag.TRUE_TAG:
      return true;
    case tag.KEYWORD_TAG:
      return takeKeyword(reader);
    default:
      throw refusedTag(first);
  }
}

/** Parses a part: a reference, or an embedded value, whose limited length bounds the nesting. */
function takeRef(reader: Reader): ParsedRef {
  if (reader.at < reader.end && reader.bytes[reader.at] === REF_TAG)
    return { bytes: take(reader, REF_BYTES), cell: undefined };
  const { end } = reader;
  reader.end = Math.min(end, reader.at + MAX_EMBEDDED_BYTES);
  const cell = takeCell(reader);
  reader.end = end;
  return { bytes: cell.bytes, cell };
}

function takeRefs(reader: Reader, count: number): ParsedRef[] {
  const refs: ParsedRef[] = [];
  for (let taken = 0; taken < count; taken += 1) refs.push(takeRef(reader));
  return refs;
}

function takeBlob(reader: Reader, start: number, isText: boolean): ParsedBlob {
  const length = takeVlq(reader);
  if (length <= CHUNK_BYTES) {
    const content = take(reader, length);
    return { kind: "blob", isText, length, content, refs: [], bytes: bytesSince(reader, start) };
  }
  const refs = takeRefs(reader, blobLayout(length).children);
  return { kind: "blob", isText, length, content: undefined, refs, bytes: bytesSince(reader, start) };
}

function takeVector(reader: Reader, start: number): ParsedVector {
  const count = takeVlq(reader);
  const { elements, children } = vectorLayout(count);
  const refs = takeRefs(reader, elements + children);
  return { kind: "vector", count, elements, refs, bytes: bytesSince(reader, start) };
}

function takeMap(reader: Reader, start: number): ParsedMap {
  const count = takeVlq(reader);
  if (count > MAX_LEAF_ENTRIES) {
    const shift = takeByte(reader);
    if (shift > MAX_SHIFT) throw tooDeep();
    const { mask, children } = takeFan(reader, 2);
    if (children.length > count) throw badFormat("a map counts wrongly");
    return { kind: "map", count, hashes: [], shift, mask, refs: children, bytes: bytesSince(reader, start) };
  }
  const refs = takeRefs(reader, 2 * count);
  const hashes = refs.filter((_, place) => place % 2 === 0).map(({ bytes }) => hashOfRef(bytes));
  hashes.forEach((hash, place) => {
    const before = hashes[place - 1];
    if (before !== undefined && Buffer.compare(before, hash) >= 0)
      throw badFormat("the keys of a map are out of order");
  });
  return { kind: "map", count, hashes, shift: 0, mask: 0, refs, bytes: bytesSince(reader, start) };
}

const tooDeep = (): Error => badFormat("a tree is deeper than its keys");

/** A VLQ of one or two bytes. */
function takeDepth(reader: Reader): number {
  const first = takeByte(reader);
  if (first < 0x80) return first;
  if (first === 0x80) throw badFormat("a depth has a leading zero");
  const last = takeByte(reader);
  const depth = (first & 0x7f) * 128 + last;
  if (last >= 0x80 || depth > MAX_DEPTH) throw tooDeep();
  return depth;
}

function takeFan(reader: Reader, leastChildren: number): { mask: number; children: ParsedRef[] } {
  const mask = takeByte(reader) * 256 + takeByte(reader);
  const count = countDigits(mask);
  if (count < leastChildren) throw badFormat("a tree has too few parts");
  return { mask, children: takeRefs(reader, count) };
}

function takeIndex(reader: Reader, start: number): ParsedIndex {
  const count = takeVlq(reader);
  if (count < 2) {
    const refs = takeRefs(reader, 2 * count);
    const [key] = refs;
    if (key?.cell !== undefined) keyDigits(key.cell);
    return { kind: "index", count, hasOwn: count === 1, depth: 0, mask: 0, refs, bytes: bytesSince(reader, start) };
  }
  const mark = takeByte(reader);
  if (mark !== NO_ENTRY_MARK && mark !== ENTRY_MARK) throw badFormat("an index has an unknown mark");
  const hasOwn = mark === ENTRY_MARK;
  const own = takeRefs(reader, hasOwn ? 2 : 0);
  const depth = takeDepth(reader);
  const { mask, children } = takeFan(reader, hasOwn ? 1 : 2);
  if (own.length / 2 + children.length > count) throw badFormat("an index counts wrongly");
  const [key] = own;
  if (key !== undefined) checkOwnKey(key.cell, depth);
  return { kind: "index", count, hasOwn, depth, mask, refs: [...own, ...children], bytes: bytesSince(reader, start) };
}

function takeSigned(reader: Reader, start: number): ParsedSigned {
  const publicKey = take(reader, tag.PUBLIC_KEY_BYTES);
  const signature = take(reader, tag.SIGNATURE_BYTES);
  const refs = [takeRef(reader)];
  return { kind: "signed", publicKey, signature, refs, bytes: bytesSince(reader, start) };
}
