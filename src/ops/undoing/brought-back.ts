// What commands have deleted comes back as a copy, which was made before they ran: with other inodes and change times.

import { isSamePath } from "../../core/call/path.js";
import { changedMsIn } from "../../core/identity.js";
import type { EntryState } from "../../core/ports/changes/change.js";
import type { Journal, JournalEntry } from "../../core/ports/changes/journal.js";

const PAGE = 100;
/** An entry is recorded at most this much before the clock of file times shows its time, in milliseconds. */
const SLACK_MS = 20;

/**
 * When an undo has last put a directory at the path of an entry, or above it, since that entry.
 * @returns milliseconds since the epoch, by which all that came back was there; `undefined`: never
 */
export async function broughtBackBy(journal: Journal, entry: JournalEntry): Promise<number | undefined> {
  const { id, path, time: since } = entry;
  let last: number | undefined;
  for (let length = path.length; length > 0; length--) {
    const directory = path.slice(0, length);
    const sees = (one: JournalEntry): boolean =>
      one.id > id && one.undoes !== undefined && one.kind === "directory" && isSamePath(one.path, directory);
    const { entries } = await journal.query({ path: directory, since, limit: PAGE, sees });
    const found = entries.find(({ action }) => action === "created");
    if (found !== undefined) last = Math.max(last ?? 0, found.time + SLACK_MS);
  }
  return last;
}

/** Whether an entry in what came back is as a change had left it, and nothing has touched it since. */
export const isUntouchedCopy = (after: EntryState, now: EntryState, broughtBack: number): boolean =>
  after.size === now.size &&
  Math.floor(after.modified) === Math.floor(now.modified) &&
  now.version !== undefined &&
  changedMsIn(now.version) <= broughtBack;
