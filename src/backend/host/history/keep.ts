// Keeps what a change is about to replace or delete, without copying more than a little.

import type { Io } from "../../../core/io.js";
import type { EntryChange } from "../../../core/ports/changes/change.js";
import type { Kept } from "../../../core/ports/changes/journal-writer.js";
import { below, CREATE, identity, type NameIn, type Pinned, READ, statBelow, withOpen } from "../../../jail/handles.js";
import type { FolderUse } from "../../../jail/staging/folder.js";
import { moveBelow } from "../../../jail/staging/rename.js";
import { errnoOf, quietly, succeeds } from "../../../jail/sys.js";
import { noteUnkept } from "../changes/report.js";
import { copyBytes, readAt } from "../open.js";
import type { Change } from "../target.js";
import { beginNote, dropNote, idOf, type Keeping, keepsNothing, noteChange, settledKeeping } from "./note.js";
import { putInTrash, unlessUnkeepable } from "./trash.js";

/** Files up to this size (bytes) are kept as values in the journal. */
const VALUE_BYTES = 65_536;
/** Files up to this size (bytes) are copied where they can be neither linked nor cloned. */
export const COPY_BYTES = 16_777_216;
/** The note for content that is about to go into the trash. */
export const TO_TRASH: Kept = { in: "trash", size: 0 };
const READABLE = 0o400;
const ALL_BITS = 0o7777;

/** Whether a file stays in the trash when it is replaced, rather than a copy of its content, or nothing. */
export const keepsFile = ({ journal }: Pick<Change, "journal">, { stat }: Pinned): boolean =>
  journal?.mode === "on" && stat.size > VALUE_BYTES;

/** The parts of a change that keeping its content needs. */
type Keeper = Pick<Change, "jail" | "access" | "journal" | "rules" | "made" | "id">;

/** A file that is about to be replaced, by a name. */
export interface Replaced {
  readonly old: Pinned;
  readonly at: NameIn;
  /** The name is one that a group has given it, or a copy of it: it is given up once the group is made. */
  readonly isSpare?: boolean;
}

/**
 * Keeps the content of a file that is about to be replaced, and notes the change.
 * @param replaced `undefined`: nothing is
 * @throws system errors that do not say that it cannot be kept: it must not be replaced then
 */
export function* keepReplaced(
  change: Keeper,
  replaced: Replaced | undefined,
  { planned, inode }: { readonly planned: EntryChange; readonly inode: string | undefined },
): Io<Keeping | undefined> {
  const { journal } = change;
  if (journal === undefined) {
    if (replaced !== undefined) noteUnkept(change);
    return undefined;
  }
  const note = (kept?: Kept): Keeping | undefined => noteChange(change, planned, { inode, kept });
  if (replaced === undefined || journal.mode === "metadata") return note();
  const { old } = replaced;
  if (!old.stat.isFile()) return note(keepsNothing("not_kept"));
  if (old.stat.size <= VALUE_BYTES) {
    const bytes = yield* quietly(contentOf(change, old));
    if (bytes !== undefined) return note({ in: "value", bytes });
    // The file cannot be read, but may lie in the trash by a second name.
  }
  if (!journal.hasRoom(old.stat.size)) return note(keepsNothing("quota"));
  const id = idOf(change, journal);
  if (!beginNote(change, journal, { change: planned, inode, kept: TO_TRASH }))
    return settledKeeping(id, keepsNothing("not_kept"));
  let kept: Keeping | undefined;
  try {
    const name = journal.trashName(id);
    const trash = yield* unlessUnkeepable(
      putInTrash(change.jail, ({ directory }) => keepInTrash(change, replaced, { directory, name })),
    );
    if (trash === undefined || trash === "unkeepable") {
      kept = note(keepsNothing(trash === undefined ? "no_trash" : "not_kept"));
      return kept;
    }
    const { result: how } = trash;
    if (how === "too_large" || how === "concurrent") {
      trash.release();
      kept = note(keepsNothing(how));
      return kept;
    }
    const binned = { ...replaced, trash, name, how };
    kept = {
      id,
      isLinked: how === "linked",
      done: () => describeBinned(change, binned),
      undo: () => removeBinned(change, binned),
    };
    return kept;
  } finally {
    if (kept === undefined) yield* dropNote(change);
  }
}

/** How a replaced file gets into the trash; `later`: it moves there once the change is made. */
type Way = "linked" | "copied" | "later";

/** A file in the trash, for an entry of the journal. */
interface Binned extends Replaced {
  readonly trash: FolderUse;
  readonly name: string;
  readonly how: Way;
}

function* describeBinned(change: Keeper, { old, at, isSpare, trash, name, how }: Binned): Io<Kept> {
  const { directory } = trash;
  const { jail } = change;
  try {
    // Until its other name is gone, each change of that would be one of the file.
    const isEnded =
      isSpare !== true ||
      (yield* succeeds(
        how === "later" ? moveBelow(jail, at, { directory, name }) : jail.sys.unlink(below(at.directory, at.name)),
      ));
    if (!isEnded) return keepsNothing("no_trash");
    const object = how === "linked" && isSpare !== true ? old : undefined;
    if (how !== "copied") yield* letRead(change, directory, { name, object: old });
    return yield* describeKept(directory, change, { name, object });
  } finally {
    trash.release();
  }
}

function* removeBinned(change: Keeper, { trash, name, how }: Binned): Io<void> {
  if (how !== "later") yield* quietly(change.jail.sys.unlink(below(trash.directory, name)));
  trash.release();
  yield* dropNote(change);
}

/** Lets the owner read a kept file, else an undo could not bring it back. The journal entry has its own permissions. */
function* letRead(
  { jail }: Pick<Change, "jail">,
  trash: Pinned,
  { name, object: { stat } }: { readonly name: string; readonly object: Pinned },
): Io<void> {
  if (stat.isFile() && (stat.mode & READABLE) === 0) {
    yield* quietly(jail.sys.chmod(below(trash, name), (stat.mode & ALL_BITS) | READABLE));
  }
}

/**
 * Describes a kept entry in the trash, with its version: every later change of it is noticed.
 * @param object a handle to it, if there is one: that is quicker than its name
 */
export function* describeKept(
  trash: Pinned,
  { jail }: Pick<Change, "jail">,
  { name, object }: { readonly name: string; readonly object?: Pinned | undefined },
): Io<Kept> {
  const isOpen = object !== undefined && object.fd >= 0;
  const stat = yield* quietly(isOpen ? jail.sys.fstat(object.fd) : statBelow(jail.sys, trash, name));
  return stat?.isFile() === true ? { in: "trash", size: stat.size, version: stat.version } : { in: "trash", size: 0 };
}

/** @returns how it is kept, or why it cannot be */
function* keepInTrash(
  change: Keeper,
  { old, at, isSpare }: Replaced,
  to: NameIn,
): Io<"too_large" | "concurrent" | Way> {
  const { sys } = change.jail;
  const path = below(to.directory, to.name);
  const isOwn = old.stat.nlink === 1 && old.stat.uid === (process.geteuid?.() ?? old.stat.uid);
  if (isOwn || isSpare === true) {
    try {
      yield* sys.link(below(at.directory, at.name), path);
      if ((yield* statBelow(sys, to.directory, to.name))?.identity === identity(old)) return "linked";
      // Another process has just replaced the file: this is not the one that was looked at.
      yield* sys.unlink(path);
      return "concurrent";
    } catch (error) {
      const code = errnoOf(error);
      // ENOENT: the folder is gone, and the caller tries again in a new one.
      if (code === undefined || code === "EEXIST" || code === "ENOENT") throw error;
      if (isSpare === true) return "later";
    }
  }
  try {
    yield* copyToTrash(change, old, path);
    return "copied";
  } catch (error) {
    yield* quietly(sys.unlink(path));
    if (errnoOf(error) === "EFBIG") return "too_large";
    throw error;
  }
}

/** Clones the file, or copies it if it is small enough. */
export function* copyToTrash({ jail }: Pick<Change, "jail">, old: Pinned, path: string): Io<void> {
  const { sys, handles } = jail;
  yield* withOpen(sys.open(path, CREATE, 0o600), (to) =>
    withOpen(handles.reopen(old, READ), function* (from) {
      if (jail.top.fd >= 0 && (yield* succeeds(sys.clone(from, to)))) return;
      if (old.stat.size > COPY_BYTES) throw Object.assign(new Error("too large"), { code: "EFBIG", syscall: "copy" });
      yield* sys.ftruncate(to, 0);
      yield* copyBytes(sys, { from, to });
    }),
  );
}

/** The whole content of a small file. @throws a system error if it has grown */
function* contentOf({ jail }: Pick<Change, "jail">, file: Pinned): Io<Buffer> {
  const { size } = file.stat;
  // Requesting one byte more than expected detects the end in the same call.
  const part = { buffer: Buffer.allocUnsafe(size + 1), position: 0, enough: size };
  const bytes = yield* withOpen(jail.handles.reopen(file, READ), (fd) => readAt(jail.sys, fd, part));
  if (bytes.length <= size) return bytes;
  throw Object.assign(new Error("grown meanwhile"), { code: "EAGAIN", syscall: "read" });
}
