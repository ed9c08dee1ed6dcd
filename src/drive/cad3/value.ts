import type { Signed } from "../dlfs/signed.js";
import type { Keyword } from "./keyword.js";
import type { LazyValue } from "./lazy.js";
import type { CadMap } from "./maps/hash-map.js";
import type { CadIndex } from "./maps/index-map.js";

/**
 * Anything that has an encoding. Values are never changed by this module, and must not be changed by others once they
 * are part of another value: encodings are remembered.
 *
 * A number is a safe integer and comes back as `bigint`; a string has no lone surrogates.
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

export { Keyword, keyword } from "./keyword.js";
