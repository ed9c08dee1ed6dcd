import { Composite, type Encoder } from "../encoding/composite.js";
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
 * An ordered map from strings, blobs or keywords to values, never changed. Only the first 32 bytes of a key count: of
 * two keys that agree in them the later one takes the place of the earlier one. Made by {@link index}.
 */
export class CadIndex extends Composite {
  readonly #root: IndexNode | undefined;

  /** @internal */
  constructor(root: IndexNode | undefined) {
    super();
    this.#root = root;
  }

  /** The tree, for those who walk it by its Refs; `undefined` when empty. @internal */
  get root(): IndexNode | undefined {
    return this.#root;
  }

  get size(): number {
    return this.#root?.count ?? 0;
  }

  /** The value of a key, compared in full. */
  get(key: IndexKey): Value | undefined {
    const found = this.holder(key);
    return found !== undefined && sameKey(found.key, key) ? found.value : undefined;
  }

  /** The entry that holds the slot of a key, maybe under another key. */
  holder(key: IndexKey): IndexEntry | undefined {
    return findSlot(this.#root, slotOf(key));
  }

  /** With an entry in the slot of its key, in place of the one that was there. */
  with(key: IndexKey, value: Value): CadIndex {
    return new CadIndex(putEntry(this.#root, entryOf(key, value)));
  }

  /** Without the entry in the slot of a key; the same value if there was none. */
  without(key: IndexKey): CadIndex {
    const rest = removeSlot(this.#root, slotOf(key));
    return rest === this.#root ? this : new CadIndex(rest);
  }

  /** By the bytes of the keys. */
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
 * Makes an index of entries put in this order.
 *
 * @throws TypeError for a key of another kind, RangeError for one with lone surrogates
 */
export function index(entries: Iterable<readonly [IndexKey, Value]>): CadIndex {
  return new CadIndex(buildTree(entryList(entries)));
}

function* entryList(entries: Iterable<readonly [IndexKey, Value]>): Generator<IndexEntry> {
  for (const [key, value] of entries) yield entryOf(key, value);
}
