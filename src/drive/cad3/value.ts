// The union of all CAD3 values.

import type { LazyValue } from "./lazy.js";
import type { CadMap } from "./maps/hash-map.js";
import type { CadIndex } from "./maps/index-map.js";
import type { Keyword } from "./scalar.js";
import type { Signed } from "./signed.js";

/**
 * Any value that can be encoded. Values are immutable; callers must not change one once it is part of another value,
 * since encodings are cached.
 *
 * A number must be a safe integer and is decoded as `bigint`; a string has no lone surrogates.
 */
export type Value =
  | null
  | boolean
  | number
  | bigint
  | string
  | Uint8Array
  | Keyword
  | readonly Value[]
  | CadMap
  | CadIndex
  | Signed
  | LazyValue;

export { Keyword, keyword } from "./scalar.js";
