// Values whose branches are loaded on demand.

import { Composite, type Encoder } from "./encoding/cell.js";
import type { ParsedCell } from "./encoding/parsed.js";
import type { Cell } from "./ref.js";
import type { Value } from "./value.js";

/** Loads missing values; shared by many of them. */
export interface LazySource {
  /** The cell of a branch. @throws MISSING_CELL, BAD_FORMAT */
  load(ref: Uint8Array): ParsedCell;
  /**
   * The value of a cell, with lazy parts where they are branches; `undefined` if it stays lazy.
   * @throws BAD_FORMAT, LIMIT
   */
  open(cell: ParsedCell, ref: Uint8Array): Value | undefined;
  /** The value of a cell with all branches loaded. @throws MISSING_CELL, BAD_FORMAT, LIMIT */
  whole(cell: ParsedCell, ref: Uint8Array): Value;
}

/**
 * A value whose branches are not loaded: can be encoded, hashed, verified and contained in other values, but not
 * inspected.
 */
export class LazyValue extends Composite implements Cell {
  /** Its Ref, as a container holds it. @internal */
  readonly ref: Uint8Array;
  readonly #source: LazySource;
  #cell: ParsedCell | undefined;
  #opened: Value | undefined;
  #whole: Value | undefined;

  /** @internal */
  constructor(ref: Uint8Array, cell: ParsedCell | undefined, source: LazySource) {
    super();
    this.ref = ref;
    this.#source = source;
    this.#cell = cell;
  }

  #load(): ParsedCell {
    this.#cell ??= this.#source.load(this.ref);
    return this.#cell;
  }

  /** The encoding. @throws MISSING_CELL @internal */
  get bytes(): Uint8Array {
    return this.#load().bytes;
  }

  /** The object is its own cell, to save memory: there are many of them. @internal */
  override knownCell(): Cell {
    return this;
  }

  /**
   * The value with branches loaded on access: a vector of lazy values, or an index that reads the nodes it passes. A
   * blob that is a tree of branches stays lazy.
   */
  open(): Value {
    if (this.#opened === undefined) {
      const opened = this.#source.open(this.#load(), this.ref);
      // `opened` may be nil (null), so only `undefined` means that it stays lazy.
      this.#opened = opened === undefined ? this : opened;
    }
    return this.#opened;
  }

  /** The value with all branches loaded. */
  whole(): Value {
    this.#whole ??= this.#source.whole(this.#load(), this.ref);
    return this.#whole;
  }

  /** @internal */
  override parts(all: boolean): Iterable<Value> {
    return all ? [this.whole()] : [];
  }

  /** @internal */
  override toCell(encoder: Encoder): Cell {
    return encoder.emit === undefined ? this : encoder.cellOf(this.whole());
  }
}
