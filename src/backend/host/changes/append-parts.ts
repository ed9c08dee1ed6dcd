// Checks the preconditions of an append, notes it before it is made, and tells of it afterwards.

import type { Hash } from "node:crypto";
import { type Expected, isExpected, namesStamp, type Sha256 } from "../../../core/etag.js";
import { type Awaitable, type Io, isPending, wait } from "../../../core/io.js";
import type { Body } from "../../../core/ports/backend.js";
import { type Pinned, READ, statBelow, withOpen } from "../../../jail/handles.js";
import type { Stat } from "../../../jail/stat.js";
import { closeNow, quietly } from "../../../jail/sys.js";
import { sha256Of } from "../../digest.js";
import { requireExpected, sizeError } from "../../preconditions.js";
import { checkExpected, hashFile } from "../guard.js";
import { type Keeping, keepsNothing, noteChange, settledKeeping } from "../history/note.js";
import { readAt } from "../open.js";
import type { Change } from "../target.js";
import { isReported, realPath, report, stateOf } from "./report.js";
import { requireApproval } from "./step.js";

export interface Wanted {
  readonly expected: Expected | undefined;
  readonly expectedSize: number | undefined;
}

/** The data to add, where that depends on how the file begins; not computed for a file that may not be read. */
export function* dataFor({ jail }: Change, old: Pinned, addedTo: Body["addedTo"]): Io<Buffer | undefined> {
  const { size } = old.stat;
  if (addedTo === undefined || size < 2) return undefined;
  const fd = yield* quietly(jail.handles.reopen(old, READ));
  if (fd === undefined) return undefined;
  try {
    // Where this fails nothing is added: text in another encoding would damage the file.
    return addedTo(yield* readAt(jail.sys, fd, { buffer: Buffer.alloc(2), position: 0 }), size);
  } finally {
    closeNow(fd);
  }
}

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
export function* checkAppend(
  change: Change,
  old: Pinned,
  { expected, expectedSize }: Wanted,
  data: Buffer,
): Io<FoundBefore | undefined> {
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

/** An append: its data, and the file before. */
interface Appended {
  readonly name: string;
  readonly data: Buffer;
  readonly sum: Awaitable<Sha256> | undefined;
  readonly old: Stat;
}

export function noteAppend(change: Change, { name, data, sum, old }: Appended): Keeping | undefined {
  const after = { size: old.size + data.length, modified: Date.now() };
  // The sum of large content comes later than the note: without it the size tells.
  const known = sum === undefined || isPending(sum) ? {} : { sha256: sum };
  return noteChange(change, { ...appended(change, name, old), after, addition: { offset: old.size, ...known } });
}

/** Asks whether an append may be made, where somebody is asked. @throws as {@link requireApproval} */
export function* approveAppend(change: Change, { name, data, old }: Omit<Appended, "sum">): Io<void> {
  if (change.access.approve === undefined) return;
  const after = { size: old.size + data.length, modified: Date.now() };
  const addition = { offset: old.size, sha256: yield* wait(sha256Of(data)) };
  const content = (most: number): Buffer | undefined => (data.length > most ? undefined : data);
  const planned = { ...appended(change, name, old), after, addition };
  const recheck = yield* requireApproval([{ change: planned, at: change, content }]);
  recheck?.(change, yield* statBelow(change.jail.sys, change.walk.directory, name));
}

const appended = (change: Change, name: string, old: Stat) =>
  ({ action: "modified", kind: "file", path: realPath(change, name), before: stateOf(old) }) as const;

/** Tells of an append. @param what `fd`: the file, open */
export function* reportAppended(
  change: Change,
  what: Appended & { readonly fd: number; readonly keeping: Keeping | undefined },
): Io<void> {
  const { name, fd, data, old, keeping } = what;
  if (!isReported(change)) return;
  const sha256 = yield* wait(what.sum);
  const now = yield* quietly(change.jail.sys.fstat(fd));
  const size = old.size + data.length;
  const after = now === undefined ? { size, modified: Date.now() } : stateOf(now);
  const made = { ...appended(change, name, old), after };
  // Otherwise another process has appended too, and nobody knows where the data went.
  if (now === undefined || now.size === size) {
    const addition = { offset: old.size, ...(sha256 === undefined ? {} : { sha256 }) };
    return yield* report(change, { ...made, addition }, keeping);
  }
  yield* report(change, made, keeping && settledKeeping(keeping.id, keepsNothing("concurrent")));
}
