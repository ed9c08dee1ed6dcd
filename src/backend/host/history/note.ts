// Notes changes in the journal before they are made, and ends the notes of those that were not.

import type { Io } from "../../../core/io.js";
import type { Access } from "../../../core/ports/backend.js";
import type { ChangeOrigin, EntryChange } from "../../../core/ports/changes/change.js";
import type { NotUndoable } from "../../../core/ports/changes/journal.js";
import type { IdentifiedRecord, JournalWriter, Kept, Planned } from "../../../core/ports/changes/journal-writer.js";

/** A noted change that is not committed yet, and the content that is kept for it. */
export interface Keeping {
  readonly id: string;
  /** The file itself is kept, by another name: closing a handle to it frees nothing. */
  readonly isLinked?: boolean;
  /** Called after the commit. `undefined`: nothing had to be kept. */
  done(): Io<Kept | undefined>;
  /** Called if there was none. */
  undo(): Io<void>;
}

type Recorded = Pick<Access, "place" | "verb" | "origin">;

export interface Noted {
  /** Absent: the root has none, or it cannot be opened. */
  readonly journal: JournalWriter | undefined;
  /** Id of the entry, once the change is noted. */
  id?: string | undefined;
}

/** The parts of a change that a note of it needs. */
interface Noting extends Noted {
  readonly access: Recorded;
  /** Directories that were made on the way, outermost first. */
  readonly made: readonly (readonly string[])[];
}

/** The origin of a call that tells of none. */
const UNKNOWN_ORIGIN = { scheme: "file", actor: "operator", via: "", surface: "library" } as const;

/** The maker of the changes of a call. */
const originOf = ({ place, verb, origin }: Recorded): ChangeOrigin =>
  origin ?? { ...UNKNOWN_ORIGIN, root: place.root, op: verb };

export const recordOf = (
  { access }: { readonly access: Recorded },
  change: EntryChange,
  id: string,
): IdentifiedRecord =>
  // Two spread objects in one literal take ten times as long.
  Object.assign({}, originOf(access), change, { time: Date.now(), id });

export const newDirectory = (path: readonly string[]): EntryChange => ({
  ...{ action: "created", kind: "directory", path, before: null },
  after: { size: 0, modified: Date.now() },
});

/** The id that the entry of a change will have. */
export function idOf(change: Pick<Noted, "id">, journal: JournalWriter): string {
  change.id ??= journal.newId();
  return change.id;
}

type Foreseen = Pick<Planned, "inode" | "kept">;

/** Notes a change right before its commit. @returns `undefined`: the root has no journal */
export function noteChange(change: Noting, planned: EntryChange, foreseen?: Foreseen): Keeping | undefined {
  const { journal } = change;
  if (journal === undefined) return undefined;
  beginNote(change, journal, { change: planned, ...foreseen });
  return settledKeeping(idOf(change, journal), foreseen?.kept, () => dropNote(change));
}

/** @returns `false`: there will be no entry */
export function beginNote(
  noting: Noting,
  journal: JournalWriter,
  { change, inode, kept }: Omit<Planned, "origin">,
): boolean {
  const { made, access } = noting;
  const whole = made.length === 0 ? change : { ...change, made: [...made] };
  return journal.begin(idOf(noting, journal), { origin: originOf(access), change: whole, inode, kept });
}

/** Notes the directories that are about to be made for a change. */
export function noteParents(
  change: Noting & { readonly walk: { readonly names: readonly string[] } },
  parents: readonly string[],
): void {
  const { names } = change.walk;
  const paths = parents.map((_, index) => [...names, ...parents.slice(0, index + 1)]);
  const deepest = paths.pop();
  if (deepest === undefined || change.id !== undefined) return;
  noteChange({ ...change, made: paths, id: change.journal && idOf(change, change.journal) }, newDirectory(deepest));
}

/** Forgets the note of a change that was not made. */
export function* dropNote(change: Noted): Io<void> {
  const { id } = change;
  change.id = undefined;
  if (id !== undefined) change.journal?.cancel(id);
}

/** Makes a commit; if it fails, the entries kept for it are given up. */
export function* commitKept<T>(commit: Io<T>, keeping: Keeping | undefined): Io<T> {
  let isDone = false;
  try {
    const result = yield* commit;
    isDone = true;
    return result;
  } finally {
    if (!isDone && keeping !== undefined) yield* keeping.undo();
  }
}

export const keepsNothing = (reason: NotUndoable): Kept => ({ in: "nothing", reason });

export const settledKeeping = (id: string, kept: Kept | undefined, undo = undoNothing): Keeping => ({
  id,
  done: () => settled(kept),
  undo,
});

function* settled(kept: Kept | undefined): Io<Kept | undefined> {
  return kept;
}

function* undoNothing(): Io<void> {}
