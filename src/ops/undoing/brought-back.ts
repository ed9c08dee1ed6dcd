// What commands have deleted comes back as a copy, which was made before they ran: with other inodes and change times.

import { changedMsIn } from "../../core/identity.js";
import type { EntryState } from "../../core/ports/changes/change.js";
import type { ChangesSince } from "./tree-history.js";

/** An entry is recorded at most this much before the clock of file times shows its time, in milliseconds. */
const SLACK_MS = 20;

/**
 * When an undo has last put there what is at a path, or a directory that it lies in.
 * @returns milliseconds since the epoch, by which all that came back was there; `undefined`: never
 */
export function broughtBackTime(changes: ChangesSince | undefined, path: readonly string[]): number | undefined {
  const undo = changes?.broughtBackBy(path);
  return undo && undo.time + SLACK_MS;
}

/** Whether an entry in what came back is as a change had left it, and nothing has touched it since. */
export const isUntouchedCopy = (after: EntryState, now: EntryState, broughtBack: number): boolean =>
  after.size === now.size &&
  Math.floor(after.modified) === Math.floor(now.modified) &&
  now.version !== undefined &&
  changedMsIn(now.version) <= broughtBack;
