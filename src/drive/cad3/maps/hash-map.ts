// The Map type: an immutable map from values to values.

import { Composite, cellOf, type Encoder } from "../encoding/cell.js";
import { type Cell, hashOfRef } from "../ref.js";
import type { Value } from "../value.js";
import {
  buildMap,
  cellOfNode,
  entriesOf,
  findEntry,
  type MapEntry,
  type MapNode,
  partsOf,
  putEntry,
  removeEntry,
} from "./map-node.js";

/** An immutable map from values to values, ordered by key hash. Created by {@link map}. */
export class CadMap extends Composite {
  readonly #root: MapNode;

  /** @internal */
  constructor(root: MapNode) {
    super();
    this.#root = root;
  }

  get size(): number {
    return this.#root.count;
  }

  get(key: Value): Value | undefined {
    return findEntry(this.#root, hashOfKey(key))?.value;
  }

  with(key: Value, value: Value): CadMap {
    return new CadMap(putEntry(this.#root, entryOf(key, value)));
  }

  /** A map without the key; the same object if the key was absent. */
  without(key: Value): CadMap {
    const hash = hashOfKey(key);
    return findEntry(this.#root, hash) === undefined ? this : new CadMap(removeEntry(this.#root, hash));
  }

  /** Ordered by key hash. */
  *entries(): Generator<[Value, Value]> {
    for (const { key, value } of entriesOf(this.#root)) yield [key, value];
  }

  [Symbol.iterator](): Generator<[Value, Value]> {
    return this.entries();
  }

  /** @internal */
  override knownCell(): Cell | undefined {
    return this.#root.cell;
  }

  /** @internal */
  override parts(all: boolean): Iterable<Value> {
    return partsOf(this.#root, all);
  }

  /** @internal */
  override toCell(encoder: Encoder): Cell {
    return cellOfNode(this.#root, encoder);
  }
}

/** Creates a map; a later entry replaces an earlier one with the same key. */
export function map(entries: Iterable<readonly [Value, Value]>): CadMap {
  return new CadMap(buildMap(Array.from(entries, ([key, value]) => entryOf(key, value))));
}

const hashOfKey = (key: Value): Uint8Array => hashOfRef(cellOf(key).ref);

function entryOf(key: Value, value: Value): MapEntry {
  const { ref } = cellOf(key);
  return { key, hash: hashOfRef(ref), keyRef: ref, value };
}
