// Opens values lazily from cells: branches are read only on access.

import { assemble, checkShape, missingCell, type Source, wholeOf } from "./encoding/assemble.js";
import { parseCell } from "./encoding/parse-cell.js";
import type { ParsedCell, ParsedIndex, ParsedMap, ParsedRef } from "./encoding/parsed.js";
import { textOf } from "./encoding/parsed.js";
import { badFormat } from "./encoding/reader.js";
import { type LazySource, LazyValue } from "./lazy.js";
import { isIndexKey } from "./make-value.js";
import { CadMap } from "./maps/hash-map.js";
import { digitsOf, type IndexKey, SLOT_BYTES, slotOf } from "./maps/index-key.js";
import { CadIndex } from "./maps/index-map.js";
import type { IndexChild, IndexEntry, IndexNode, IndexStub } from "./maps/index-node.js";
import type { MapEntry, MapNode } from "./maps/map-node.js";
import { hexOfBranch, isBranch } from "./ref.js";
import { Signed } from "./signed.js";
import type { Value } from "./value.js";

/** Opens cells of one source; shared by everything opened from a value. */
class Opener implements LazySource {
  readonly source: Source;

  constructor(source: Source) {
    this.source = source;
  }

  load(ref: Uint8Array): ParsedCell {
    return isBranch(ref) ? loadCell(ref, this.source) : parseCell(ref);
  }

  open(cell: ParsedCell, ref: Uint8Array): Value | undefined {
    return openCell(cell, ref, this);
  }

  whole(cell: ParsedCell, ref: Uint8Array): Value {
    return wholeOf(assemble(cell, ref, this.source));
  }
}

/** A value of which one cell is loaded. @param ref how a container holds it */
export const lazyCell = (cell: ParsedCell, ref: Uint8Array, source: Source): LazyValue =>
  new LazyValue(ref, cell, new Opener(source));

/** A value of which nothing is loaded. @param ref of a branch, or the encoding of an embedded value, which is read on access */
export const lazyRef = (ref: Uint8Array, source: Source): LazyValue =>
  new LazyValue(ref, undefined, new Opener(source));

/** Stands for a node of an index whose cell the source has, or will have. @param ref of a branch */
export const indexStub = (ref: Uint8Array, { depth }: Pick<IndexNode, "depth">, source: Source): IndexStub =>
  new PartOfIndex({ bytes: ref, cell: undefined }, depth - 1, new Opener(source));

function loadCell(ref: Uint8Array, { load }: Source): ParsedCell {
  const hash = hexOfBranch(ref);
  const bytes = load(hash);
  if (bytes === undefined) throw missingCell(hash);
  const cell = parseCell(new Uint8Array(bytes));
  checkShape(cell);
  return cell;
}

/** The value of a cell, with lazy branches; `undefined` for a blob that is a tree of branches. */
function openCell(cell: ParsedCell, ref: Uint8Array, opener: Opener): Value | undefined {
  switch (cell.kind) {
    case "scalar":
      return cell.value;
    case "blob":
      if (cell.isText) return opener.whole(cell, ref);
      return cell.content === undefined ? undefined : new Uint8Array(cell.content);
    case "vector":
      if (cell.elements < cell.count) return opener.whole(cell, ref);
      return cell.refs.map((part) => openPart(part, opener));
    case "map":
      return new CadMap(openMap(cell, ref, opener));
    case "index":
      return new CadIndex(cell.count === 0 ? undefined : openIndex(cell, ref, opener));
    case "signed": {
      const [part] = cell.refs;
      const value = part === undefined ? null : openPart(part, opener);
      return new Signed(new Uint8Array(cell.publicKey), new Uint8Array(cell.signature), value);
    }
  }
}

function openPart({ bytes, cell }: ParsedRef, opener: Opener): Value {
  if (cell === undefined) return new LazyValue(bytes, undefined, opener);
  const opened = openCell(cell, bytes, opener);
  return opened === undefined ? new LazyValue(bytes, cell, opener) : opened;
}

const cellAt = ({ bytes, cell }: ParsedRef, opener: Opener): ParsedCell => cell ?? opener.load(bytes);

/** Refs of a key and its value in a map or an index. */
function refsOf(refs: readonly ParsedRef[], place: number): { key: ParsedRef; value: ParsedRef } {
  const [key, value] = [refs[place], refs[place + 1]];
  if (key === undefined || value === undefined) throw badFormat("an entry is missing");
  return { key, value };
}

/** Keys are loaded at once, since every lookup compares them. */
function openKey(key: ParsedRef, opener: Opener): Value {
  const cell = cellAt(key, opener);
  return cell.kind === "blob" && cell.isText && cell.content !== undefined
    ? textOf(cell.content)
    : opener.whole(cell, key.bytes);
}

function openMap(cell: ParsedMap, ref: Uint8Array, opener: Opener): MapNode {
  const { count, hashes, shift, mask, refs } = cell;
  const entries = hashes.map((hash, place): MapEntry => {
    const { key, value } = refsOf(refs, 2 * place);
    const held = { keyRef: key.bytes, valueRef: value.bytes };
    return { hash, key: openKey(key, opener), value: openPart(value, opener), ...held };
  });
  const children = (hashes.length > 0 ? [] : refs).map((part) => {
    const child = cellAt(part, opener);
    if (child.kind !== "map" || child.count === 0) throw badFormat("a part of a map is none");
    return openMap(child, part.bytes, opener);
  });
  return { count, entries, shift, mask, children, cell: { bytes: cell.bytes, ref } };
}

function openIndex(cell: ParsedIndex, ref: Uint8Array, opener: Opener): IndexNode {
  const { count, hasOwn, mask, refs } = cell;
  const own = hasOwn ? openIndexEntry(refs, opener) : undefined;
  const depth = own !== undefined && count === 1 ? digitsOf(own.slot) : cell.depth;
  if (own !== undefined && digitsOf(own.slot) !== depth) throw badFormat("a key does not end where it stands");
  const children: IndexChild[] = [];
  for (let place = hasOwn ? 2 : 0; place < refs.length; place += 1) {
    const part = refs[place];
    if (part !== undefined) children.push(new PartOfIndex(part, depth, opener));
  }
  return { count, own, depth, mask, children, cell: { bytes: cell.bytes, ref } };
}

function openIndexEntry(refs: readonly ParsedRef[], opener: Opener): IndexEntry {
  const { key: keyPart, value } = refsOf(refs, 0);
  const key = openKey(keyPart, opener);
  if (!isIndexKey(key)) throw badFormat("the key of an index is no string, blob or keyword");
  const slot = slotIn(keyPart.cell, key);
  return { key, slot, keyRef: keyPart.bytes, value: openPart(value, opener), valueRef: value.bytes };
}

const slotIn = (cell: ParsedCell | undefined, key: IndexKey): Uint8Array =>
  cell?.kind === "blob" && cell.content !== undefined ? cell.content.subarray(0, SLOT_BYTES) : slotOf(key);

/** A node of an index, loaded when it is traversed: a lookup in a large directory reads only the nodes on its path. */
class PartOfIndex implements IndexStub {
  readonly ref: Uint8Array;
  readonly #part: ParsedRef;
  readonly #depth: number;
  readonly #opener: Opener;
  #node: IndexNode | undefined;

  /** @param depth of the parent; the digits of the keys are checked only when they are read */
  constructor(part: ParsedRef, depth: number, opener: Opener) {
    this.ref = part.bytes;
    this.#part = part;
    this.#depth = depth;
    this.#opener = opener;
  }

  load(): IndexNode {
    this.#node ??= this.#open();
    return this.#node;
  }

  forget(): void {
    this.#node = undefined;
    if (this.#part.cell === undefined) this.#opener.source.forget?.(hexOfBranch(this.ref));
  }

  #open(): IndexNode {
    const cell = cellAt(this.#part, this.#opener);
    if (cell.kind !== "index" || cell.count === 0) throw badFormat("a part of an index is none");
    const node = openIndex(cell, this.ref, this.#opener);
    if (node.depth <= this.#depth) throw badFormat("a subtree does not lie below its place");
    return node;
  }
}
