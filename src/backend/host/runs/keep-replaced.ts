// Keeps what a command has replaced or deleted: takes it out of the snapshot of the tree from before.

import type { Io } from "../../../core/io.js";
import type { NotUndoable } from "../../../core/ports/changes/journal.js";
import type { JournalWriter, Kept } from "../../../core/ports/changes/journal-writer.js";
import type { Difference } from "./differences.js";
import type { KnownChanges } from "./recorded-changes.js";
import type { TreeSnapshot } from "./snapshot.js";

/** A difference with the id that its entry will have. */
export interface FoundChange {
  readonly one: Difference;
  readonly id: string;
}

export interface KeeperParts {
  readonly journal: JournalWriter;
  /** A reason: why there is none. */
  readonly snapshot: TreeSnapshot | NotUndoable;
  readonly known: KnownChanges;
}

/** @returns what is kept of each change, or why nothing is, by id; absent: nothing is needed to undo it */
export function* keepChanges(found: readonly FoundChange[], parts: KeeperParts): Io<ReadonlyMap<string, Kept>> {
  const kept = new Map<string, Kept>();
  // Deepest first: a tree that is kept must not hold entries that are kept elsewhere.
  for (const { one, id } of found.toSorted((a, b) => depthOf(b) - depthOf(a))) {
    const result = yield* keepOne(one, id, parts);
    if (result !== undefined) kept.set(id, result);
  }
  return kept;
}

function* keepOne(one: Difference, id: string, { journal, snapshot, known }: KeeperParts): Io<Kept | undefined> {
  const { action, path, was, before } = one;
  const isChangedByCall = known.has(path) || (action === "deleted" && known.hasBelow(path));
  if (action === "created" || action === "moved") {
    if (was !== undefined && typeof snapshot !== "string") yield* snapshot.forget(was, journal.trashName(id));
    return isChangedByCall ? nothing("concurrent") : undefined;
  }
  if (typeof snapshot === "string") return nothing(snapshot);
  if (isChangedByCall || was === undefined) return nothing("concurrent");
  if (action === "deleted" && journal.trashMode === "off") return nothing("off");
  // An entry changed in place can be put back only if it is a file.
  if (action === "modified" && before?.kind !== "file") return nothing("not_kept");
  return (yield* snapshot.take(was, journal.trashName(id))) ?? nothing("not_kept");
}

const nothing = (reason: NotUndoable): Kept => ({ in: "nothing", reason });

const depthOf = ({ one }: FoundChange): number => (one.was ?? "").split("/").length;
