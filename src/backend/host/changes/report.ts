// Reports the committed changes of a host root.

import type { Io } from "../../../core/io.js";
import type { ChangedKind, EntryChange, EntryState } from "../../../core/ports/change.js";
import { below } from "../../../jail/handles.js";
import type { Stat } from "../../../jail/stat.js";
import { quietly } from "../../../jail/sys.js";
import type { Change } from "../target.js";

const PERMISSION_BITS = 0o7777;

export const stateOf = (stat: Stat, sha256?: string): EntryState => ({
  size: stat.isFile() ? stat.size : 0,
  modified: stat.modifiedMs,
  mode: stat.mode & PERMISSION_BITS,
  version: stat.version,
  ...(sha256 === undefined ? {} : { sha256 }),
});

export function kindOf(stat: Stat): ChangedKind {
  const { type } = stat;
  return type === "symlink" ? "link" : type;
}

/** The real path of an entry in the directory that the walk of a change has reached. */
export const realPath = ({ walk }: Change, name: string): string[] => [...walk.names, name];

/**
 * The state of an entry that was just put in place, looked up by its name.
 * @param placed the entry as it was prepared: another process may have replaced or changed it since
 */
export function* stateAfter(
  { jail, walk }: Change,
  name: string,
  { placed, sha256 }: { readonly placed: Stat; readonly sha256?: string | undefined },
): Io<EntryState> {
  const now = yield* quietly(jail.sys.lstat(below(walk.directory, name)));
  const isSame = now?.identity === placed.identity && now.size === placed.size && now.modifiedMs === placed.modifiedMs;
  const { version, ...state } = stateOf(isSame ? now : placed, sha256);
  return isSame && version !== undefined ? { ...state, version } : state;
}

/** Tells of a change, with the directories that were made for it. */
export function report({ access, made }: Change, change: EntryChange): void {
  const parents = made.splice(0);
  access.changed?.(parents.length === 0 ? change : { ...change, made: parents });
}

/** Runs a change. Directories that were made for it stay when it fails, so they are told of by themselves. */
export function* withReport<T>(change: Change, work: (change: Change) => Io<T>): Io<T> {
  try {
    return yield* work(change);
  } finally {
    const path = change.made.pop();
    const after = { size: 0, modified: Date.now() };
    if (path !== undefined) report(change, { action: "created", kind: "directory", path, before: null, after });
  }
}
