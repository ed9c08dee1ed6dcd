// Deletes by one rename into the trash of the root.

import { cannotBeTrashed, deletionNotFinal } from "../../../core/errors/undo-texts.js";
import type { Io } from "../../../core/io.js";
import type { Access, RemoveOptions } from "../../../core/ports/backend.js";
import type { EntryChange } from "../../../core/ports/changes/change.js";
import type { NotUndoable } from "../../../core/ports/changes/journal.js";
import type { JournalWriter, Kept } from "../../../core/ports/changes/journal-writer.js";
import { below, type NameIn, type Pinned } from "../../../jail/handles.js";
import type { Jail } from "../../../jail/jail.js";
import { TRASH } from "../../../jail/staging/folder.js";
import type { Stage } from "../../../jail/staging/lock-file.js";
import { moveBelow } from "../../../jail/staging/rename.js";
import { errnoOf, quietly } from "../../../jail/sys.js";
import { setTime } from "../../../jail/times.js";
import type { Walk } from "../../../jail/walk/walk.js";
import { noteUnkept, removalOf } from "../changes/report.js";
import { countTree } from "../quota.js";
import type { Change } from "../target.js";
import { COPY_BYTES, copyToTrash, describeKept, TO_TRASH } from "./keep.js";
import { requireNoOtherRoot } from "./nested.js";
import { beginNote, dropNote, idOf, type Keeping, keepsNothing, noteChange, settledKeeping } from "./note.js";
import { isUnkeepable, putInTrash, unlessUnkeepable } from "./trash.js";

/** Mode bits of copies: no set-user-id bits, since our copy of another user's file would run as us. */
const SAFE_BITS = 0o777;

export interface Doomed {
  readonly object: Pinned;
  readonly name: string;
  readonly options: Pick<RemoveOptions, "recursive" | "permanent" | "discards">;
}

/** An entry moved out of sight. */
export interface Hidden {
  readonly stage: Stage;
  readonly name: string;
}

/** Something moved into the trash, whose folder is to be released. */
export interface TrashedEntry extends Hidden {
  readonly keeping: Keeping;
}

/** The part of a {@link Change} that a move into the trash needs. */
interface TrashChange extends Pick<Change, "jail" | "rules" | "journal"> {
  readonly access: Pick<Access, "place" | "verb" | "origin">;
  readonly walk: Pick<Walk, "directory" | "names">;
}

/**
 * Moves an entry into the trash. This is the commit of the removal.
 * @returns the reason if it has to be removed otherwise; `off`: the root has no trash
 * @throws QUOTA_EXCEEDED, DENIED_BY_POLICY where everything must be kept; ENOENT if it is gone; system errors that do not say
 * that it cannot be kept: it must not be removed then
 */
export function* moveToTrash(change: TrashChange, doomed: Doomed): Io<TrashedEntry | NotUndoable> {
  const { journal, access } = change;
  const { options } = doomed;
  const isRequired = change.rules.keepsDeleted === true;
  if (options.discards === true) return "permanent";
  if (options.permanent === true && isRequired) throw deletionNotFinal(access.place);
  const missing = journal === undefined ? (change.rules.whyNoJournal?.() ?? "off") : undefined;
  if (missing !== undefined && isRequired) throw cannotBeTrashed(access.place, missing);
  if (missing !== undefined && options.permanent !== true) return missing;
  if (journal === undefined || journal.mode === "metadata" || journal.trashMode === "off") return "off";
  if (options.permanent === true) return "permanent";
  const binned = yield* tryTrash(change, journal, doomed);
  if (typeof binned === "string" && isRequired) throw cannotBeTrashed(access.place, binned);
  return binned;
}

function* tryTrash(
  change: TrashChange,
  journal: JournalWriter,
  { object, name }: Doomed,
): Io<TrashedEntry | NotUndoable> {
  const { jail, walk } = change;
  const { stat } = object;
  if (stat.type === "other") return "not_kept";
  if (!journal.hasRoom(yield* sizeOf(change, journal, object))) return "quota";
  const id = journal.newId();
  const planned = removalOf(change, name, stat);
  let isMoved = false;
  try {
    if (!beginNote({ ...change, made: [], id }, journal, { change: planned, kept: TO_TRASH })) return "not_kept";
    const target = journal.trashName(id);
    const from = { directory: walk.directory, name };
    const trash = yield* putInTrash(jail, ({ directory }) =>
      renameOrCopy(jail, object, { from, to: { directory, name: target } }),
    );
    if (trash === undefined) return "no_trash";
    isMoved = true;
    const { directory, release, result: isCopied } = trash;
    const kept = yield* describeKept(directory, change, { name: target, object: isCopied ? undefined : object });
    const keeping = settledKeeping(id, kept, () => dropNote({ journal, id }));
    return { stage: { directory, release, prefix: "" }, name: target, keeping };
  } catch (error) {
    if (!isUnkeepable(error)) throw error;
    return errnoOf(error) === "EXDEV" ? "other_device" : "not_kept";
  } finally {
    if (!isMoved) journal.cancel(id);
  }
}

/**
 * Takes an entry out of its directory. From another device, where nothing can be renamed, a file is copied if it is small
 * enough, with its mode and time, and its name is removed only if it is still what was copied.
 * @returns whether it was copied
 * @throws EXDEV for anything else that lies there
 */
function* renameOrCopy(
  jail: Jail,
  object: Pinned,
  places: { readonly from: NameIn; readonly to: NameIn },
): Io<boolean> {
  const { sys } = jail;
  try {
    yield* moveBelow(jail, places.from, places.to);
    return false;
  } catch (error) {
    if (errnoOf(error) !== "EXDEV" || !object.stat.isFile() || object.stat.size > COPY_BYTES) throw error;
    const { version, mode, modifiedMs } = object.stat;
    const from = below(places.from.directory, places.from.name);
    const to = below(places.to.directory, places.to.name);
    let isTaken = false;
    try {
      yield* copyToTrash({ jail }, object, to);
      yield* sys.chmod(to, mode & SAFE_BITS);
      yield* setTime(sys, to, modifiedMs);
      if ((yield* sys.lstat(from))?.version !== version) throw error;
      yield* sys.unlink(from);
      isTaken = true;
    } finally {
      if (!isTaken) yield* quietly(sys.unlink(to));
    }
    return true;
  }
}

/** A tree is measured only where its size decides. */
function* sizeOf({ jail }: Pick<Change, "jail">, { trashMode }: JournalWriter, object: Pinned): Io<number> {
  if (!object.stat.isDirectory()) return object.stat.size;
  return trashMode === "required" ? (yield* countTree(jail, object, false)).bytes : 0;
}

/** @throws QUOTA_EXCEEDED, DENIED_BY_POLICY, PERMISSION_DENIED if an entry must not be deleted */
export function* requireDeletable(change: Change, object: Pinned): Io<void> {
  yield* requireNoOtherRoot(change, object);
  if (change.journal?.trashMode !== "off") yield* requireWritableTrash(change);
  const { journal, rules, access } = change;
  if (rules.keepsDeleted !== true) return;
  if (journal === undefined) throw cannotBeTrashed(access.place, rules.whyNoJournal?.() ?? "not_kept");
  if (!journal.hasRoom(yield* sizeOf(change, journal, object))) throw cannotBeTrashed(access.place, "quota");
}

/**
 * Checks the trash before a commit after which entries go there, since they cannot be refused then.
 * @throws system errors if there is a trash that takes nothing now
 */
export function* requireWritableTrash({ jail, journal }: Change): Io<void> {
  if (journal === undefined || journal.mode === "metadata") return;
  const trash = yield* unlessUnkeepable(jail.staging.heldFolder(TRASH));
  if (trash === undefined || trash === "unkeepable") return;
  try {
    yield* jail.sys.checkWrite(trash.directory);
  } finally {
    trash.release();
  }
}

/** An entry that is about to go, as it was noted, and the place that it will have. */
export interface Displaced extends Hidden {
  /** `undefined`: the root has no journal. */
  readonly keeping: Keeping | undefined;
  /** The place is in the trash. */
  readonly isBinned: boolean;
}

/**
 * Notes that an entry goes, and opens the place it goes to: if this process dies, it is in the trash by then.
 * @param spare opens the place of an entry that does not go to the trash @returns its stage, to be released
 * @throws QUOTA_EXCEEDED where everything must be kept, and this cannot be
 */
export function* displace(change: Change, planned: EntryChange, spare: () => Io<Hidden>): Io<Displaced> {
  const { jail, journal, walk, rules, access } = change;
  const isOff = journal?.mode === "metadata" || journal?.trashMode === "off";
  const isRequired = rules.keepsDeleted === true;
  const isNear = walk.directory.stat.device === jail.top.stat.device;
  if (journal !== undefined && !isOff && isNear) {
    const trash = yield* unlessUnkeepable(jail.staging.heldFolder(TRASH, true));
    if (trash !== undefined && trash !== "unkeepable") {
      const id = idOf(change, journal);
      const name = journal.trashName(id);
      if (!beginNote(change, journal, { change: planned, kept: TO_TRASH }) && isRequired) {
        trash.release();
        throw cannotBeTrashed(access.place, "not_kept");
      }
      const done = (): Io<Kept> => describeKept(trash.directory, change, { name });
      const keeping = { id, done, undo: () => dropNote(change) };
      return { keeping, stage: { ...trash, prefix: "" }, name, isBinned: true };
    }
  }
  if (isRequired && !isOff) throw cannotBeTrashed(access.place, isNear ? "no_trash" : "other_device");
  const place = yield* spare();
  if (journal === undefined) noteUnkept(change);
  const keeping = noteChange(change, planned, { kept: keepsNothing(isOff ? "off" : "no_trash") });
  return { ...place, keeping, isBinned: false };
}
