// Checks preconditions of changes (expected content or size).

import { conflict } from "../core/errors/texts.js";
import { type Expected, etagOf, hasStamp, isExpected, type Sha256 } from "../core/etag.js";
import type { Access } from "../core/ports/backend.js";

/** Size in bytes above which a file is not read merely to report its hash in an error. */
export const MAX_TOLD_BYTES = 8_388_608;

/** The precondition as shown in errors. */
const textOf = (expected: Expected): string => (expected === "nothing" ? "*" : expected.content);

/**
 * Requires the target to have the expected content. The error tells a caller without read access nothing about the
 * actual content.
 * @param found `undefined`: the target does not exist
 * @throws CONFLICT
 */
export function requireExpected(expected: Expected, found: Sha256 | undefined, access: Access): void {
  if (isExpected(expected, found)) return;
  throw expectationError(expected, found === undefined ? null : etagOf(found), access);
}

/** Requires the target to have the stamp that is named. @throws CONFLICT */
export function requireStamp(expected: Expected, stamp: string | undefined, access: Access): void {
  if (!hasStamp(expected, stamp)) throw expectationError(expected, undefined, access);
}

/** @param current as for {@link conflict}; `undefined` if not known */
export function expectationError(expected: Expected, current: string | null | undefined, access: Access): Error {
  const isTold = current !== undefined && access.holds("crud/read");
  return conflict(access.place, { verb: access.verb, expected: textOf(expected), ...(isTold ? { current } : {}) });
}

/**
 * The error omits the actual size for a caller without read access.
 * @param found size in bytes; `undefined`: the file does not exist
 */
export function sizeError(expected: number, found: number | undefined, access: Access): Error {
  const details = !access.holds("crud/read") ? {} : found === undefined ? { current: null } : { currentSize: found };
  return conflict(access.place, { verb: access.verb, expected: `${expected} bytes`, ...details });
}
