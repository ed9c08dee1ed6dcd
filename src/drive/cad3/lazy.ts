import { Composite, type Encoder } from "./encoding/composite.js";
import type { ParsedCell } from "./encoding/parsed.js";
import type { Cell } from "./ref.js";
import type { Value } from "./value.js";

/** Where values that are not at hand come from; many of them share one. */
export interface LazySource {
  /** The cell of a branch. @throws MISSING_CELL, BAD_FORMAT */
  load(ref: Uint8Array): ParsedCell;
  /** The value of a cell, its parts lazy where they are branches; `undefined` for one that stays lazy. @throws BAD_FORMAT, LIMIT */
  open(cell: ParsedCell, ref: Uint8Array): Value | undefined;
  /** The value of a cell with all its branches. @throws MISSING_CELL, BAD_FORMAT, LIMIT */
  whole(cell: ParsedCell, ref: Uint8Array): Value;
}

/** A value with branches that are not at hand: can be encoded, hashed, verified and held by others, but not looked into. */
export class LazyValue extends Composite implements Cell {
  /** How a container holds the value. @internal */
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

  /** It is its own cell, since there are so many. @internal */
  override knownCell(): Cell {
    return this;
  }

  /**
   * The value without its branches, which are read when they are looked into: a vector of lazy values, an index that
   * reads the nodes it passes. A blob that is a tree of branches stays lazy.
   */
  open(): Value {
    if (this.#opened === undefined) {
      const opened = this.#source.open(this.#load(), this.ref);
      // It may be nil.
      this.#opened = opened === undefined ? this : opened;
    }
    return this.#opened;
  }

  /** The value with all its branches. */
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
