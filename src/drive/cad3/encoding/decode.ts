// Strict decoding of a value from its top cell and available branches.

import { type CellLimits, DEFAULT_CELL_LIMITS } from "../../dlfs/limits.js";
import { lazyCell } from "../../dlfs/open.js";
import { MAX_EMBEDDED_BYTES, refOf, sha3, toHex } from "../ref.js";
import type { Value } from "../value.js";
import { assemble, type Load, type Source } from "./assemble.js";
import { parseCell } from "./parse-cell.js";
import { badFormat } from "./reader.js";

/**
 * Returns the encoding of a branch by the 64 hex digits of its hash; `undefined` if it is missing. The bytes are
 * verified and must not change until decoding ends.
 */
export type Resolve = (hashHex: string) => Uint8Array | undefined;

/** Maximum length of an encoding in bytes. */
export const MAX_CELL_BYTES = 16383;

/**
 * Decodes a value strictly. All branches that `resolve` finds are read and checked too.
 *
 * @param bytes copied where they are retained
 * @param limits for a value with branches
 * @returns the value, or a {@link LazyValue} if a branch is missing
 * @throws BAD_FORMAT, UNSUPPORTED_CELL, LIMIT
 */
export function decode(bytes: Uint8Array, resolve: Resolve = () => undefined, limits: Partial<CellLimits> = {}): Value {
  if (bytes.length > MAX_CELL_BYTES) throw badFormat("it is too long");
  const own = new Uint8Array(bytes);
  const cell = parseCell(own);
  const ref = refOf(own);
  const source: Source = { load: checkedLoad(resolve), limits: { ...DEFAULT_CELL_LIMITS, ...limits } };
  const { top } = assemble(cell, ref, source);
  return top.made === undefined ? lazyCell(cell, ref, source) : top.made.value();
}

function checkedLoad(resolve: Resolve): Load {
  return (hash) => {
    const bytes = resolve(hash);
    if (bytes === undefined) return undefined;
    if (bytes.length <= MAX_EMBEDDED_BYTES) throw badFormat("a branch is so short that it is none");
    if (bytes.length > MAX_CELL_BYTES) throw badFormat("a branch is too long");
    if (toHex(sha3(bytes)) !== hash) throw badFormat("a branch has another hash");
    return bytes;
  };
}
