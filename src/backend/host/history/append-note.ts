// Notes an append before it is made, and tells of it afterwards.

import type { Sha256 } from "../../../core/etag.js";
import { type Awaitable, type Io, isPending, wait } from "../../../core/io.js";
import type { EntryChange } from "../../../core/ports/changes/change.js";
import type { Stat } from "../../../jail/stat.js";
import { quietly } from "../../../jail/sys.js";
import { isReported, realPath, report, stateOf } from "../changes/report.js";
import type { Change } from "../target.js";
import { type Keeping, keepsNothing, noteChange, settledKeeping } from "./note.js";

/** What is appended. */
export interface Appended {
  readonly name: string;
  readonly data: Buffer;
  /** Of the data. */
  readonly sum: Awaitable<Sha256> | undefined;
  /** The file before; absent for a new one. */
  readonly old?: Stat;
}

/** Notes an append right before it. */
export function noteAppend(change: Change, { name, data, sum, old }: Appended): Keeping | undefined {
  const offset = old?.size ?? 0;
  const after = { size: offset + data.length, modified: Date.now() };
  // The sum of large content comes later than the note: without it the size tells.
  const known = sum === undefined || isPending(sum) ? {} : { sha256: sum };
  const path = realPath(change, name);
  if (old === undefined) {
    return noteChange(change, {
      ...{ action: "created", kind: "file", path, before: null },
      after: { ...after, ...known },
    });
  }
  const addition = { offset, ...known };
  return noteChange(change, { ...{ action: "modified", kind: "file", path, before: stateOf(old) }, after, addition });
}

/** Tells of an append. @param what `fd`: the file, open */
export function* reportAppended(
  change: Change,
  what: Appended & { readonly fd: number; readonly keeping: Keeping | undefined },
): Io<void> {
  const { name, fd, data, old } = what;
  if (!isReported(change)) return;
  const offset = old?.size ?? 0;
  const sha256 = yield* wait(what.sum);
  const now = yield* quietly(change.jail.sys.fstat(fd));
  const size = offset + data.length;
  // Otherwise another process has appended too, and nobody knows where the data went.
  const isOurs = now === undefined || now.size === size;
  const isShared = !isOurs && old !== undefined;
  const keeping = isShared && what.keeping ? settledKeeping(what.keeping.id, keepsNothing("concurrent")) : what.keeping;
  const made: EntryChange = {
    action: old === undefined ? "created" : "modified",
    kind: "file",
    path: realPath(change, name),
    before: old === undefined ? null : stateOf(old),
    after:
      now === undefined
        ? { size, modified: Date.now() }
        : stateOf(now, old === undefined && isOurs ? sha256 : undefined),
    ...(isOurs && old !== undefined ? { addition: { offset, ...(sha256 === undefined ? {} : { sha256 }) } } : {}),
  };
  yield* report(change, made, keeping);
}
