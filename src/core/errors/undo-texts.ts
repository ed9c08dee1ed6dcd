// Errors of undo, restore and purge.

import type { Lack, NotUndoable } from "../ports/changes/journal.js";
import { adapterError, type FileAdapterError } from "./errors.js";
import { escapeText, type Place, pathText } from "./texts.js";

/** An entry that prevents an undo. */
export interface Blocked {
  /** Entry that cannot be undone. */
  readonly id: string;
  readonly path: string;
  /** Who changed it since: an actor, or `external` for changes that no journal entry explains. */
  readonly by: string;
  /** The entry of that change. */
  readonly laterId?: string;
}

export const undoBlocked = (root: string, blocked: readonly Blocked[], count: number): FileAdapterError => {
  const [first] = blocked;
  const path = escapeText(first?.path ?? "");
  const more = count > 1 ? ` (and ${count - 1} more)` : "";
  const what = first === undefined ? "" : ` "${path}"${more} changed since, by ${escapeText(first.by)}`;
  const advice =
    first?.laterId === undefined ? "Look at it, and change it by hand" : `Undo ${first.laterId} first, or both by ids`;
  return adapterError("CONFLICT", `Cannot undo:${what}. Nothing was changed. ${advice}`, { root, blocked });
};

export const notUndoable = (id: string, reason: string): FileAdapterError =>
  adapterError("NOT_SUPPORTED", `Cannot undo ${id}: ${REASONS[reason] ?? "what it replaced was not kept"}`, {
    ...{ id, reason },
  });

const REASONS: Readonly<Record<string, string>> = {
  too_large: "what it replaced was too large to keep",
  permanent: "it was deleted for good",
  off: "the journal of this root keeps no content",
  altered: "what was kept has been altered since",
  pruned: "what it replaced was kept until room was needed, and is gone",
  purged: "what it replaced was removed for good",
  other_device:
    'it lies on another device than the root. What was kept of it is read with version "<id>:before", to be written by hand',
  concurrent: "others have changed the same at the same time",
  pending: "the process was killed as it made the change. Look at what is there, and change it by hand",
  visited: "the tree was too large to see all that the command has changed",
  partial: "you may not see every member of this group. Undo the ones you see by their ids",
};

export const notKept = ({ root, path }: Place): FileAdapterError =>
  adapterError(
    "CONFLICT",
    `Cannot undo the write of "${pathText(path)}": what it overwrote was not kept. Undo goes no further back`,
    { root, path },
  );

/** The same whether there never was such an entry, or the caller may not know of it. */
export const unknownEntry = (id: string): FileAdapterError =>
  adapterError("NOT_FOUND", `No change ${escapeText(id)} in the history. Take an id from file:history`, {
    id,
    next: { tool: "file:history" },
  });

export const nothingToUndo = (): FileAdapterError =>
  adapterError(
    "NOT_FOUND",
    "Nothing to undo: this caller has made no change in this session that is still in place. See file:history",
    { next: { tool: "file:history" } },
  );

export const viaDenied = (): FileAdapterError =>
  adapterError(
    "CAPABILITY_DENIED",
    "Only the operator may undo changes made by other sessions with 'via'. Leave it out",
  );

export const purgeNeedsOperator = (root: string): FileAdapterError =>
  adapterError(
    "DENIED_BY_POLICY",
    `Cannot purge root "${escapeText(root)}": it keeps everything deleted, so that only the operator may purge it`,
    { root },
  );

export const purgeNeedsRoom = (root: string): FileAdapterError =>
  adapterError(
    "NO_SPACE",
    `What was kept in root "${escapeText(root)}" may still be in the files of its journal: the disk of the state directory is full. Free some space, and purge again`,
    { root },
  );

// Texts of errors about the journal and the trash.

const WHY: Partial<Readonly<Record<NotUndoable, string>>> = {
  quota: "the trash is full. Purge it, or raise journalQuota",
  other_device: "it lies on another device, and only files of up to 16 MB are copied from there",
  too_large: "it is too large to copy",
  no_state_dir: "the state directory (stateDir) cannot be used, or its disk is full",
  no_lmdb: "the library lmdb cannot be loaded",
  no_trash: ".venue-files/trash in the root is a link, or cannot be used",
};

/** Why a root has no history, and what would give it one. */
export function lackText(root: string, { reason, why }: Lack): string {
  const start = `Root "${escapeText(root)}" keeps no history`;
  if (reason !== "off") return `${start}: ${WHY[reason]}`;
  return why === "stateDir" ? `${start}: it needs stateDir` : `${start}: its journal is off (set journal: "on")`;
}

export const movedText = (root: string): string =>
  `Root "${escapeText(root)}" was moved: what was changed before is listed again once it is back at its former path`;

/** What is said beside entries of which some are missing. */
export const missingText = (reason: string | undefined): string | undefined => MISSING[reason ?? ""];

const MISSING: Readonly<Record<string, string>> = {
  damaged: "Entries are missing: the history was damaged",
  lost: "Entries are missing: they could not be written to the state directory",
  waiting: "The newest entries could not be written to the state directory yet. They are lost if the process ends",
};

/** There is nothing that could be undone or restored. */
export const noHistory = (root: string, lack: Lack): FileAdapterError =>
  adapterError("NOT_SUPPORTED", lackText(root, lack), { root, reason: lack.reason });

/** What the answer of a change ends with where what it has replaced is not kept. */
export const unkeptText = ({
  kept,
  reason,
}: {
  readonly kept?: false;
  readonly reason?: string;
}): string | undefined => (kept === false ? `what was there is not kept: ${reason}` : undefined);

/** Behind a commit: what the disk did not confirm. */
export const UNFLUSHED = "It is made, but could not be flushed to the disk: a power failure may take it back";
export const PARENTS_STAY = "Directories that were made for it stay";
export const IN_PART = "A part of it was made and stays";
export const UNTOLD = "It is undone, but the history could not be told so";
export const SOURCE_STAYS = "The copy is made, and the source is still there";
export const COMMAND_RAN = "The command has run, but what it changed could not be looked at";
/** A step behind it failed. */
export const MADE = "The change itself was made before this failed: look before you repeat it";

/** The root keeps everything that is deleted, and this cannot be kept. */
export const cannotBeTrashed = ({ root, path }: Place, reason: NotUndoable): FileAdapterError =>
  adapterError(
    "QUOTA_EXCEEDED",
    `Cannot delete "${pathText(path)}": root "${escapeText(root)}" keeps what is deleted (trash: required), but ${
      WHY[reason] ?? "the trash cannot be used"
    }`,
    { root, path, reason },
  );

/** A caller asks for a final deletion in a root that has none. */
export const deletionNotFinal = ({ root, path }: Place): FileAdapterError =>
  adapterError(
    "DENIED_BY_POLICY",
    `Cannot delete "${pathText(path)}" permanently: root "${escapeText(root)}" keeps what is deleted (trash: required). Leave permanent out`,
    { root, path },
  );

/** A folder inside is a root of its own, whose trash or unfinished changes would be lost. */
export const holdsOtherRoot = ({ root, path }: Place, verb: string, inside: string): FileAdapterError =>
  adapterError(
    "DENIED_BY_POLICY",
    `Cannot ${verb} "${pathText(path)}" of root "${escapeText(root)}": "${pathText(inside)}" in it is a root too, with a trash of its own. Empty that trash first`,
    { root, path, inside },
  );
