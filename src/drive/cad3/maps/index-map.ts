// The Index type: an immutable map ordered by key bytes.

import { Composite, type Encoder } from "../encoding/cell.js";
import { type Cell, joinCell } from "../ref.js";
import { INDEX_TAG } from "../scalar.js";
import type { Value } from "../value.js";
import { type IndexKey, sameKey, slotOf } from "./index-key.js";
import {
  buildTree,
  cellOfNode,
  entriesOf,
  entryOf,
  findSlot,
  type IndexEntry,
  type IndexNode,
  putEntry,
  removeSlot,
  valuesOf,
} from "./index-node.js";

/**
 * An immutable ordered map from strings, blobs or keywords to values. Only the first 255 bytes of a key are significant:
 * of two keys that agree in them, the later replaces the earlier. Created by {@link index}.
 */
export class CadIndex extends Composite {
  readonly #root: IndexNode | undefined;

  /** @internal */
  constructor(root: IndexNode | undefined) {
    super();
    this.#root = root;
  }

  /** The tree, for callers that traverse it by Refs; `undefined` if empty. @internal */
  get root(): IndexNode | undefined {
    return this.#root;
  }

  get size(): number {
    return this.#root?.count ?? 0;
  }

  /** Value of a key, which must match in full. */
  get(key: IndexKey): Value | undefined {
    return this.entry(key)?.value;
  }

  /** Entry of a key, which must match in full. */
  entry(key: IndexKey): IndexEntry | undefined {
    const found = findSlot(this.#root, slotOf(key));
    return found !== undefined && sameKey(found.key, key) ? found : undefined;
  }

  /** Puts an entry into the slot of its key, replacing any entry there. */
  with(key: IndexKey, value: Value): CadIndex {
    return new CadIndex(putEntry(this.#root, entryOf(key, value)));
  }

  /** Removes the entry in the slot of a key; the same object if there was none. */
  without(key: IndexKey): CadIndex {
    const rest = removeSlot(this.#root, slotOf(key));
    return rest === this.#root ? this : new CadIndex(rest);
  }

  /** Ordered by key bytes. */
  *entries(): Generator<[IndexKey, Value]> {
    if (this.#root === undefined) return;
    for (const { key, value } of entriesOf(this.#root)) yield [key, value];
  }

  [Symbol.iterator](): Generator<[IndexKey, Value]> {
    return this.entries();
  }

  /** @internal */
  override knownCell(): Cell | undefined {
    return this.#root?.cell;
  }

  /** @internal */
  override parts(all: boolean): Iterable<Value> {
    return this.#root === undefined ? [] : valuesOf(this.#root, all);
  }

  /** @internal */
  override toCell(encoder: Encoder): Cell {
    return this.#root === undefined ? joinCell(INDEX_TAG, 0, []) : cellOfNode(this.#root, encoder);
  }
}

/**
 * Creates an index; a later entry replaces an earlier one in the same slot.
 *
 * @throws TypeError for an unsupported key type; RangeError for a key with lone surrogates
 */
export function index(entries: Iterable<readonly [IndexKey, Value]>): CadIndex {
  return new CadIndex(buildTree(Array.from(entries, ([key, value]) => entryOf(key, value))));
}
