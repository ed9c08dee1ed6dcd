// Texts of errors about the journal and the trash.

import type { NotUndoable } from "../ports/changes/journal.js";
import { adapterError, type FileAdapterError } from "./errors.js";
import { escapeText, type Place, pathText } from "./texts.js";

const WHY: Partial<Readonly<Record<NotUndoable, string>>> = {
  quota: "the trash is full. Purge it, or raise journalQuota",
  other_device: "it lies on another device, and only files of up to 16 MB are copied from there",
  too_large: "it is too large to copy",
};

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
