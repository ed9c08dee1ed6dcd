import { Composite, type Encoder } from "./composite.js";
import type { Cell } from "./ref.js";
import type { Value } from "./value.js";

/** Where a value that is not at hand comes from. */
export interface LazySource {
  /** How a container holds the value. */
  readonly ref: Uint8Array;
  /** Its encoding. @throws MISSING_CELL */
  bytes(): Uint8Array;
  /** The value, its parts lazy where they are branches. @throws MISSING_CELL, BAD_FORMAT, LIMIT */
  open(): Value;
  /** The value with all its branches. @throws MISSING_CELL, BAD_FORMAT, LIMIT */
  whole(): Value;
}

/** A value with branches that are not at hand: can be encoded, hashed, verified and held by others, but not looked into. */
export class LazyValue extends Composite {
  readonly #source: LazySource;
  readonly #cell: Cell;
  #opened: Value | undefined;
  #whole: Value | undefined;

  /** @internal */
  constructor(source: LazySource) {
    super();
    this.#source = source;
    this.#cell = {
      ref: source.ref,
      get bytes() {
        return source.bytes();
      },
    };
  }

  /** @internal */
  override knownCell(): Cell {
    return this.#cell;
  }

  /**
   * The value without its branches, which are read when they are looked into: a vector of lazy values, an index that
   * reads the nodes it passes. A blob that is a tree of branches stays lazy.
   */
  open(): Value {
    this.#opened ??= this.#source.open();
    return this.#opened;
  }

  /** The value with all its branches. */
  whole(): Value {
    this.#whole ??= this.#source.whole();
    return this.#whole;
  }

  /** @internal */
  override parts(all: boolean): Iterable<Value> {
    return all ? [this.whole()] : [];
  }

  /** @internal */
  override toCell(encoder: Encoder): Cell {
    return encoder.emit === undefined ? this.#cell : encoder.cellOf(this.whole());
  }
}
