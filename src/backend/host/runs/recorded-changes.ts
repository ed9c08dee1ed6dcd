// Changes that calls have recorded in the journal since a command began: they are not the command's.

import { identityInVersion } from "../../../core/identity.js";
import type { ChangeRecord } from "../../../core/ports/changes/change.js";
import type { JournalWriter } from "../../../core/ports/changes/journal-writer.js";
import { isIn, type SeenEntry } from "./scan.js";

/** Paths are relative to the mount. */
export interface KnownChanges {
  /** Whether a call has changed the entry at a path. */
  readonly has: (path: string) => boolean;
  /** Whether a call has changed something at a path or below it. */
  hasBelow(path: string): boolean;
  /** Whether the entry is still as the last such change left it. @param now `null`: no entry */
  isLast(path: string, now: SeenEntry | null): boolean;
}

/** State that a change has left; `tree`: everything below came or went with it. */
type Left = { readonly version: string | null | undefined; readonly isTree: boolean };

/** The state of the journal at one moment. */
export interface JournalMark {
  /** Milliseconds since the epoch. */
  readonly time: number;
  /** Entries of that time that were there: no clock tells them from later ones of the same millisecond. */
  readonly ids: ReadonlySet<string>;
}

export function markIn(journal: JournalWriter, time: number): JournalMark {
  return { time, ids: new Set(Array.from(journal.madeSince(time), ({ id }) => id)) };
}

export function changesSince(journal: JournalWriter, since: JournalMark, mount: readonly string[]): KnownChanges {
  const left = new Map<string, Left>();
  const note = (path: readonly string[], state: Left): void => {
    if (!mount.every((name, index) => name === path[index])) return;
    const place = path.slice(mount.length).join("/");
    // The newest comes first.
    if (!left.has(place)) left.set(place, state);
  };
  for (const record of journal.madeSince(since.time)) if (!since.ids.has(record.id)) noteStates(record, note);
  const trees = [...left].filter(([, { isTree }]) => isTree).map(([path]) => `${path}/`);
  const isInTree = (path: string): boolean => trees.some((tree) => path.startsWith(tree));
  return {
    has: (path) => left.has(path) || isInTree(path),
    hasBelow: (path) => [...left.keys()].some((one) => isIn(one, path)),
    isLast(path, now) {
      const state = left.get(path);
      if (state === undefined) return isInTree(path);
      if (now === null || state.version === null) return now === null && state.version === null;
      if (state.version === undefined || state.version === now.version) return true;
      // Entries that come into a directory change its times.
      return now.kind === "directory" && identityInVersion(now.version) === identityInVersion(state.version);
    },
  };
}

function noteStates(record: ChangeRecord, note: (path: readonly string[], state: Left) => void): void {
  const { path, from, fromRoot, after, made = [], kind, files, action, undoes, before } = record;
  const isTree = kind === "directory" && (files !== undefined || action !== "created" || undoes !== undefined);
  // Of a directory that stays only permissions or times were changed.
  const isThere = before !== null && after !== null;
  note(path, { version: after === null ? null : after.version, isTree: isTree && !isThere });
  if (from !== undefined && fromRoot === undefined && action === "moved") note(from, { version: null, isTree });
  for (const one of made) note(one, { version: undefined, isTree: false });
}
