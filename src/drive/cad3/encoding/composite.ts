// Base class of values that contain other values.

import type { Cell, Emit } from "../ref.js";
import type { Value } from "../value.js";

/** Gives a composite the cells of its parts. */
export interface Encoder {
  cellOf(part: Value): Cell;
  /** Present if every branch must be emitted, including those already encoded. */
  readonly emit?: Emit | undefined;
}

/** A value that contains other values. Its members are for the encoder only. */
export abstract class Composite {
  /** The cached encoding, if any. @internal */
  abstract knownCell(): Cell | undefined;

  /** The contained values: all, or only those without a known Ref. @internal */
  abstract parts(all: boolean): Iterable<Value>;

  /** Encodes this value; its parts are already encoded. @internal */
  abstract toCell(encoder: Encoder): Cell;
}
