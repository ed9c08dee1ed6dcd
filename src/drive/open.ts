import { assemble, checkAlone, hashHexOf, missingCell, type Source, wholeOf } from "./assemble.js";
import { CadMap } from "./hash-map.js";
import { digitsOf, slotOf } from "./index-key.js";
import { CadIndex } from "./index-map.js";
import type { IndexChild, IndexEntry, IndexNode } from "./index-node.js";
import { LazyValue } from "./lazy.js";
import { isIndexKey } from "./make-value.js";
import type { MapEntry, MapNode } from "./map-node.js";
import { parseCell } from "./parse-cell.js";
import type { ParsedCell, ParsedIndex, ParsedMap, ParsedRef } from "./parsed.js";
import { badFormat } from "./reader.js";
import { Signed } from "./signed.js";
import type { Value } from "./value.js";

/** A value of which one cell is at hand. @param ref how a container holds it */
export const lazyCell = (cell: ParsedCell, ref: Uint8Array, source: Source): LazyValue => lazy(ref, () => cell, source);

function lazy(ref: Uint8Array, cell: () => ParsedCell, source: Source): LazyValue {
  const value: LazyValue = new LazyValue({
    ref,
    bytes: () => cell().bytes,
    open: () => openOr(value, openCell(cell(), ref, source)),
    whole: () => wholeOf(assemble(cell(), ref, source)),
  });
  return value;
}

/** What has been opened, which may be nil, or the value itself where it stays as it is. */
const openOr = (value: LazyValue, opened: Value | undefined): Value => (opened === undefined ? value : opened);

function loadCell(ref: Uint8Array, { load, limits }: Source): ParsedCell {
  const hash = hashHexOf(ref);
  const bytes = load(hash);
  if (bytes === undefined) throw missingCell(hash);
  const cell = parseCell(new Uint8Array(bytes));
  checkAlone(cell, ref, limits);
  return cell;
}

/** Loaded once, when it is needed. */
function once<T extends object>(make: () => T): () => T {
  let made: T | undefined;
  return () => {
    made ??= make();
    return made;
  };
}

/** The value of a cell, its branches lazy; `undefined` for a blob that is a tree of them. */
function openCell(cell: ParsedCell, ref: Uint8Array, source: Source): Value | undefined {
  switch (cell.kind) {
    case "scalar":
      return cell.value;
    case "blob":
      if (cell.isText) return wholeOf(assemble(cell, ref, source));
      return cell.content === undefined ? undefined : new Uint8Array(cell.content);
    case "vector":
      if (cell.elements < cell.count) return wholeOf(assemble(cell, ref, source));
      return cell.refs.map((part) => openPart(part, source));
    case "map":
      return new CadMap(openMap(cell, ref, source));
    case "index":
      return new CadIndex(cell.count === 0 ? undefined : openIndex(cell, ref, source));
    case "signed": {
      const [part] = cell.refs;
      const value = part === undefined ? null : openPart(part, source);
      return new Signed(new Uint8Array(cell.publicKey), new Uint8Array(cell.signature), value);
    }
  }
}

function openPart({ bytes, cell }: ParsedRef, source: Source): Value {
  if (cell !== undefined) return openOr(lazyCell(cell, bytes, source), openCell(cell, bytes, source));
  return lazy(
    bytes,
    once(() => loadCell(bytes, source)),
    source,
  );
}

const cellAt = ({ bytes, cell }: ParsedRef, source: Source): ParsedCell => cell ?? loadCell(bytes, source);

/** A key and a value of a map or an index; keys are needed wherever one is looked for. */
function openEntry(refs: readonly ParsedRef[], place: number, source: Source) {
  const [key, value] = [refs[place], refs[place + 1]];
  if (key === undefined || value === undefined) throw badFormat("an entry is missing");
  return {
    key: wholeOf(assemble(cellAt(key, source), key.bytes, source)),
    keyRef: key.bytes,
    value: openPart(value, source),
    valueRef: value.bytes,
  };
}

function openMap(cell: ParsedMap, ref: Uint8Array, source: Source): MapNode {
  const { count, hashes, shift, mask, refs } = cell;
  const entries = hashes.map((hash, place): MapEntry => ({ ...openEntry(refs, 2 * place, source), hash }));
  const children = (hashes.length > 0 ? [] : refs).map((part) => {
    const child = cellAt(part, source);
    if (child.kind !== "map" || child.count === 0) throw badFormat("a part of a map is none");
    return openMap(child, part.bytes, source);
  });
  return { count, entries, shift, mask, children, cell: { bytes: cell.bytes, ref } };
}

function openIndex(cell: ParsedIndex, ref: Uint8Array, source: Source): IndexNode {
  const { count, hasOwn, mask, refs } = cell;
  const own = hasOwn ? openIndexEntry(refs, source) : undefined;
  const depth = own !== undefined && count === 1 ? digitsOf(own.slot) : cell.depth;
  const children = refs.slice(hasOwn ? 2 : 0).map((part) => openChild(part, depth, source));
  return { count, own, depth, mask, children, cell: { bytes: cell.bytes, ref } };
}

function openIndexEntry(refs: readonly ParsedRef[], source: Source): IndexEntry {
  const { key, ...rest } = openEntry(refs, 0, source);
  if (!isIndexKey(key)) throw badFormat("the key of an index is no string, blob or keyword");
  return { ...rest, key, slot: slotOf(key) };
}

/** @param depth of the parent; that the digits of the keys are right shows when they are looked at */
function openChild(part: ParsedRef, depth: number, source: Source): IndexChild {
  const load = (): IndexNode => {
    const cell = cellAt(part, source);
    if (cell.kind !== "index" || cell.count === 0) throw badFormat("a part of an index is none");
    const node = openIndex(cell, part.bytes, source);
    if (node.depth <= depth) throw badFormat("a subtree does not lie below its place");
    return node;
  };
  return part.cell === undefined ? { ref: part.bytes, load: once(load) } : load();
}
