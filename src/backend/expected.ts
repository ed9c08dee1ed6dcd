import { conflict } from "../core/errors/texts.js";
import { type Expected, etagOf, isExpected, type Sha256 } from "../core/etag.js";
import type { Access } from "../core/ports/backend.js";

/** Larger files are not read only to say in an error what they are. */
export const MAX_TOLD_BYTES = 8_388_608;

/** How a precondition stands in errors. */
export const textOf = (expected: Expected): string => (expected === "nothing" ? "*" : expected.content);

/**
 * Refuses a change that does not find what it is meant to. Whoever may not read is not told what there is.
 * @param found `undefined`: nothing is there @throws CONFLICT
 */
export function requireExpected(expected: Expected, found: Sha256 | undefined, access: Access): void {
  if (isExpected(expected, found)) return;
  throw refused(expected, found === undefined ? null : etagOf(found), access);
}

/** @param current as {@link conflict} takes it; left out where it is not known */
export function refused(expected: Expected, current: string | null | undefined, access: Access): Error {
  const isTold = current !== undefined && access.holds("crud/read");
  return conflict(access.place, { verb: access.verb, expected: textOf(expected), ...(isTold ? { current } : {}) });
}

/** @param found bytes; `undefined`: nothing is there, which is as good as no bytes @throws CONFLICT */
export function requireSize(expected: number, found: number | undefined, access: Access): void {
  if (expected !== (found ?? 0)) throw wrongSize(expected, found, access);
}

/** Whoever may not read is not told how large it is. */
export function wrongSize(expected: number, found: number | undefined, access: Access): Error {
  const told = !access.holds("crud/read") ? {} : found === undefined ? { current: null } : { currentSize: found };
  return conflict(access.place, { verb: access.verb, expected: `${expected} bytes`, ...told });
}
