// Texts of several rooms about changes: whether they can be undone, and what they left behind.

import type { Lack, NotUndoable } from "../ports/changes/journal.js";
import { adapterError, FileAdapterError } from "./errors.js";
import { escapeText, type Place, pathText } from "./texts.js";

export const nothingToUndo = (): FileAdapterError =>
  adapterError(
    "NOT_FOUND",
    "Nothing to undo: this caller has made no change in this session that is still in place. See file:history",
    { next: { tool: "file:history" } },
  );

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

/** End of the answer of a change whose replaced content is not kept. */
export const unkeptText = ({
  kept,
  reason,
}: {
  readonly kept?: false;
  readonly reason?: string;
}): string | undefined => (kept === false ? `what was there is not kept: ${reason}` : undefined);

/** Fault behind a commit: the disk did not confirm the write. */
export const UNFLUSHED = "It is made, but could not be flushed to the disk: a power failure may take it back";
export const PARENTS_STAY = "Directories that were made for it stay";
export const IN_PART = "A part of it was made and stays";
export const SOURCE_STAYS = "The copy is made, and the source is still there";
export const COMMAND_RAN = "The command has run, but what it changed could not be looked at";
/** For the error of a later step. */
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

/** The error of a group that failed, where others changed paths of it meanwhile, so that these were not put back. */
export function notPutBack(error: unknown, paths: readonly (readonly string[])[]): unknown {
  if (!(error instanceof FileAdapterError)) return error;
  const shown = paths.slice(0, MAX_SHOWN).map((path) => path.join("/"));
  const names = shown.map((path) => `"${escapeText(path)}"`).join(", ");
  const text = `${error.message}. Not put back, since others changed it meanwhile: ${names}. Look at it`;
  // The next step is to look at them now; these names are none that a surface has words for.
  const { next: _, ...data } = error.data;
  return adapterError(error.code, text, { ...data, notPutBack: shown });
}

const MAX_SHOWN = 10;
