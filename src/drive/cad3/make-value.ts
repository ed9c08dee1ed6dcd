// Makes values from checked cells.

import type { Built, Made } from "./encoding/check-parts.js";
import type { ParsedBlob, ParsedCell, ParsedIndex, ParsedMap, ParsedVector } from "./encoding/parsed.js";
import { textOf } from "./encoding/parsed.js";
import { badFormat } from "./encoding/reader.js";
import { checkLimit } from "./limits.js";
import { CadMap } from "./maps/hash-map.js";
import { digitsOf, type IndexKey, slotOf } from "./maps/index-key.js";
import { CadIndex } from "./maps/index-map.js";
import type { IndexEntry, IndexNode } from "./maps/index-node.js";
import type { MapEntry, MapNode } from "./maps/map-node.js";
import type { Cell } from "./ref.js";
import { Keyword } from "./scalar.js";
import { Signed } from "./signed.js";
import type { Value } from "./value.js";

/** V8's maximum string length. */
const MAX_TEXT_BYTES = 2 ** 29 - 24;

/** All present, and their values already made. */
type Parts = readonly (Built | undefined)[];

/**
 * Makes the value of a cell from the values of its parts. A blob is joined only when its value is asked for, so that
 * inner nodes of a long blob are never joined.
 *
 * @param ref how a container holds the cell
 * @throws BAD_FORMAT if a text is not UTF-8
 */
export function makeValue(cell: ParsedCell, ref: Uint8Array, parts: Parts): Made {
  switch (cell.kind) {
    case "scalar":
      return { value: () => cell.value };
    case "blob":
      return cell.isText ? makeText(cell, parts) : { value: memoize(() => contentOf(cell, parts)) };
    case "vector":
      return makeVector(cell, parts);
    case "map":
      return makeMap(cell, parts, { bytes: cell.bytes, ref });
    case "index":
      return makeIndex(cell, parts, { bytes: cell.bytes, ref });
    case "signed": {
      const { publicKey, signature } = cell;
      const signed = new Signed(new Uint8Array(publicKey), new Uint8Array(signature), valueAt(parts, 0));
      return { value: () => signed };
    }
  }
}

/** Memoised, so that a shared part becomes one object. */
function memoize<T extends Value>(make: () => T): () => T {
  let made: T | undefined;
  return () => {
    made ??= make();
    return made;
  };
}

function madeAt(parts: Parts, place: number): Made {
  const made = parts[place]?.made;
  if (made === undefined) throw badFormat("a part is missing");
  return made;
}

const valueAt = (parts: Parts, place: number): Value => madeAt(parts, place).value();

function makeText(cell: ParsedBlob, parts: Parts): Made {
  checkLimit(cell.length, MAX_TEXT_BYTES, "bytes of one string");
  const text = textOf(cell.content ?? contentOf(cell, parts));
  return { value: () => text };
}

function contentOf(cell: ParsedBlob, parts: Parts): Uint8Array {
  const target = new Uint8Array(cell.length);
  fill({ target, at: 0 }, cell, parts);
  return target;
}

function fill(writer: { readonly target: Uint8Array; at: number }, { content }: ParsedBlob, parts: Parts): void {
  if (content !== undefined) {
    writer.target.set(content, writer.at);
    writer.at += content.length;
  }
  for (const part of parts) if (part?.cell.kind === "blob") fill(writer, part.cell, part.parts);
}

function makeVector({ elements }: ParsedVector, parts: Parts): Made {
  const tail = parts.slice(0, elements).map((_, place) => valueAt(parts, place));
  const all = [...parts.slice(elements).map((part) => part?.made?.elements ?? []), tail].flat(1);
  return { value: () => all, elements: all };
}

function makeMap({ count, hashes, shift, mask }: ParsedMap, parts: Parts, cell: Cell): Made {
  const entries = hashes.map((hash, place): MapEntry => {
    const [key, value] = [2 * place, 2 * place + 1];
    return { key: valueAt(parts, key), hash, value: valueAt(parts, value), ...refsAt(parts, key, value) };
  });
  const children = hashes.length > 0 ? [] : nodesOf(parts, ({ mapNode }) => mapNode);
  const mapNode: MapNode = { count, entries, shift, mask, children, cell };
  return { value: memoize(() => new CadMap(mapNode)), mapNode };
}

function makeIndex({ count, hasOwn, depth, mask }: ParsedIndex, parts: Parts, cell: Cell): Made {
  const own = hasOwn ? makeEntry(parts) : undefined;
  const children = nodesOf(parts.slice(hasOwn ? 2 : 0), ({ indexNode }) => indexNode);
  if (count === 0) return { value: memoize(() => new CadIndex(undefined)) };
  const end = own === undefined || count > 1 ? depth : digitsOf(own.slot);
  const indexNode: IndexNode = { count, own, depth: end, mask, children, cell };
  return { value: memoize(() => new CadIndex(indexNode)), indexNode };
}

function makeEntry(parts: Parts): IndexEntry {
  const key = valueAt(parts, 0);
  if (!isIndexKey(key)) throw badFormat("the key of an index is no string, blob or keyword");
  return { key, slot: slotOf(key), value: valueAt(parts, 1), ...refsAt(parts, 0, 1) };
}

export const isIndexKey = (value: Value): value is IndexKey =>
  typeof value === "string" || value instanceof Uint8Array || value instanceof Keyword;

function refsAt(parts: Parts, key: number, value: number): { keyRef: Uint8Array; valueRef: Uint8Array } {
  const [keyRef, valueRef] = [parts[key]?.ref, parts[value]?.ref];
  if (keyRef === undefined || valueRef === undefined) throw badFormat("a part is missing");
  return { keyRef, valueRef };
}

function nodesOf<T>(parts: Parts, pick: (made: Made) => T | undefined): T[] {
  const nodes = parts.map((_, place) => pick(madeAt(parts, place)));
  return nodes.filter((node) => node !== undefined);
}
