// Checks the preconditions of an append.

import type { Hash } from "node:crypto";
import { type Expected, isExpected, namesStamp } from "../../../core/etag.js";
import type { Io } from "../../../core/io.js";
import type { Body } from "../../../core/ports/backend.js";
import { type Pinned, READ, withOpen } from "../../../jail/handles.js";
import { quietly } from "../../../jail/sys.js";
import { requireExpected, sizeError } from "../../preconditions.js";
import { checkExpected, hashFile } from "../guard.js";
import { readAt } from "../open.js";
import type { Change } from "../target.js";

/** Preconditions of an append. */
export interface Wanted {
  readonly expected: Expected | undefined;
  readonly expectedSize: number | undefined;
  readonly data: Buffer;
}

/** The data to add, where that depends on how the file begins; not computed for a file that cannot be read. */
export function* dataFor({ jail }: Change, old: Pinned, addedTo: Body["addedTo"]): Io<Buffer | undefined> {
  const { size } = old.stat;
  if (addedTo === undefined || size < 2) return undefined;
  const read = withOpen(jail.handles.reopen(old, READ), (fd) =>
    readAt(jail.sys, fd, { buffer: Buffer.alloc(2), position: 0 }),
  );
  const head = yield* quietly(read);
  return head && addedTo(head, size);
}

/** Result of the check. */
export interface FoundBefore {
  /** Current size in bytes, including the data of a repeated append. */
  readonly size: number;
  /** Hash state of the content before the data, if all of it was read. */
  readonly hash: Hash | undefined;
  /** The data is already at the end. */
  readonly isRepeated: boolean;
}

/**
 * @param old the file, looked up under the lock
 * @returns `undefined` for an unconditional append
 * @throws CONFLICT
 */
export function* checkAppend(change: Change, old: Pinned, wanted: Wanted): Io<FoundBefore | undefined> {
  const { expected, expectedSize, data } = wanted;
  const { access } = change;
  if (expected === undefined && expectedSize === undefined) return undefined;
  const { size } = old.stat;
  if (expectedSize !== undefined && size !== expectedSize) {
    if (!(yield* isRepeat(change, old, { data, expectedSize }))) throw sizeError(expectedSize, size, access);
    const hash = expected === undefined ? undefined : yield* hashFile(change, old, expectedSize);
    const wasExpected = expected === undefined || isExpected(expected, hash?.copy().digest("hex"));
    if (!wasExpected) throw sizeError(expectedSize, size, access);
    return { size, hash, isRepeated: true };
  }
  const isStamp = namesStamp(expected);
  if (expected === "nothing" || isStamp) yield* checkExpected(change, old, expected);
  const hash = expected === undefined || isStamp ? undefined : yield* hashFile(change, old, size);
  if (expected !== undefined && !isStamp) requireExpected(expected, hash?.copy().digest("hex"), access);
  return { size, hash, isRepeated: false };
}

/** A missing file counts as size 0. @throws CONFLICT */
export function requireMissingSize({ access }: Change, expectedSize = 0): void {
  if (expectedSize !== 0) throw sizeError(expectedSize, undefined, access);
}

/**
 * Whether the append has already been made. Requires read access: otherwise a caller could find out the content by
 * guessing one byte more each time.
 */
function* isRepeat(
  change: Change,
  file: Pinned,
  { data, expectedSize }: { data: Buffer; expectedSize: number },
): Io<boolean> {
  if (file.stat.size !== expectedSize + data.length || !change.access.holds("crud/read")) return false;
  const { handles, sys } = change.jail;
  const buffer = Buffer.allocUnsafe(data.length);
  const tail = yield* withOpen(handles.reopen(file, READ), (fd) => readAt(sys, fd, { buffer, position: expectedSize }));
  return tail.equals(data);
}
