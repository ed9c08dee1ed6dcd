import type { Cell, Emit } from "../ref.js";
import type { Value } from "../value.js";

/** Encodes the parts of a value for it. */
export interface Encoder {
  cellOf(part: Value): Cell;
  /** Present when every branch is wanted, remembered or not. */
  readonly emit?: Emit | undefined;
}

/** A value of our own making that holds others. What stands here is for the encoder only. */
export abstract class Composite {
  /** The encoding, once it is known. @internal */
  abstract knownCell(): Cell | undefined;

  /** The values held, all of them or only those whose Ref is not known yet. @internal */
  abstract parts(all: boolean): Iterable<Value>;

  /** Encodes this value; its parts have been before. @internal */
  abstract toCell(encoder: Encoder): Cell;
}
