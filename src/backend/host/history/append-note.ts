// Notes an append before it is made, and tells of it afterwards.

import type { Sha256 } from "../../../core/etag.js";
import { type Awaitable, type Io, isPending, wait } from "../../../core/io.js";
import { statBelow } from "../../../jail/handles.js";
import type { Stat } from "../../../jail/stat.js";
import { quietly } from "../../../jail/sys.js";
import { sha256Of } from "../../digest.js";
import { isReported, realPath, report, stateOf } from "../changes/report.js";
import { requireApproval } from "../changes/step.js";
import type { Change } from "../target.js";
import { type Keeping, keepsNothing, noteChange, settledKeeping } from "./note.js";

/** An append: its data, and the file before. */
export interface Appended {
  readonly name: string;
  readonly data: Buffer;
  /** Hash of the data. */
  readonly sum: Awaitable<Sha256> | undefined;
  /** The file before. */
  readonly old: Stat;
}

/** Notes an append right before it. */
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
