import type { Hash } from "node:crypto";
import { type Expected, isExpected } from "../../../core/etag.js";
import type { Io } from "../../../core/io.js";
import { type Pinned, READ } from "../../../jail/handles.js";
import { closeNow } from "../../../jail/sys.js";
import { requireExpected, requireSize, wrongSize } from "../../expected.js";
import { checkExpected, hashFile } from "../guard.js";
import type { Change } from "../target.js";

/** What an append counts on. */
export interface Wanted {
  readonly expected: Expected | undefined;
  readonly expectedSize: number | undefined;
  readonly data: Buffer;
}

/** What was found of a file that is to be added to. */
export interface FoundBefore {
  /** Bytes now, those of a repeated append included. */
  readonly size: number;
  /** Of what comes before the data, where all of it was read. */
  readonly hash: Hash | undefined;
  /** The data is at the end already. */
  readonly isRepeated: boolean;
}

/** @param old under the turn and the lock file, not looked at before @returns nothing for an append without conditions @throws CONFLICT */
export function* checkAppend(change: Change, old: Pinned, wanted: Wanted): Io<FoundBefore | undefined> {
  const { expected, expectedSize, data } = wanted;
  const { access } = change;
  if (expected === undefined && expectedSize === undefined) return undefined;
  const { size } = old.stat;
  if (expectedSize !== undefined && size !== expectedSize) {
    if (!(yield* isRepeat(change, old, { data, expectedSize }))) throw wrongSize(expectedSize, size, access);
    const hash = expected === undefined ? undefined : yield* hashFile(change, old, expectedSize);
    const wasExpected = expected === undefined || isExpected(expected, hash?.copy().digest("hex"));
    if (!wasExpected) throw wrongSize(expectedSize, size, access);
    return { size, hash, isRepeated: true };
  }
  if (expected === "nothing") yield* checkExpected(change, old, expected);
  const hash = expected === undefined ? undefined : yield* hashFile(change, old, size);
  if (expected !== undefined) requireExpected(expected, hash?.copy().digest("hex"), access);
  return { size, hash, isRepeated: false };
}

/** A file that is not there has no bytes. @throws CONFLICT */
export function requireMissingSize({ access }: Change, expectedSize: number | undefined): void {
  if (expectedSize !== undefined) requireSize(expectedSize, undefined, access);
}

/**
 * Whether the append has been done already. Never for whoever may not read: by asking for one byte more each time they
 * could find out what the file ends in, and so all of it.
 */
function* isRepeat(
  change: Change,
  file: Pinned,
  { data, expectedSize }: { data: Buffer; expectedSize: number },
): Io<boolean> {
  if (file.stat.size !== expectedSize + data.length || !change.access.holds("crud/read")) return false;
  const { handles, sys } = change.jail;
  const fd = yield* handles.reopen(file, READ);
  try {
    const tail = Buffer.allocUnsafe(data.length);
    let done = 0;
    while (done < tail.length) {
      const count = yield* sys.read(fd, tail, done, expectedSize + done);
      if (count === 0) return false;
      done += count;
    }
    return tail.equals(data);
  } finally {
    closeNow(fd);
  }
}
