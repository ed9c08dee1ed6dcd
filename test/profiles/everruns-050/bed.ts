import { type Bed, type Kind, useBed } from "../everruns/bed.js";

export { hashOf, KINDS, type Kind } from "../everruns/bed.js";

interface Options {
  readonly kind?: Kind;
  readonly binding?: object;
  readonly root?: object;
}

/** A bed of variant 0.50 in a directory of the root. */
export const useBed050 = ({ kind = "host", binding = {}, root = {} }: Options = {}): Bed =>
  useBed({ kind, root, binding: { variant: "0.50", prefix: "s", ...binding } });

/** The account of an answer of which nothing was cut. */
export const whole = (bytes: number) => ({
  ...{ truncated: false, bytes_returned: bytes, bytes_total: bytes, reason: "size_cap" },
});
