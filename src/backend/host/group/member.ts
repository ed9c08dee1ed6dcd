// Tells of the members of a group that was committed; what they replaced goes from the intent to the journal.

import { type Io, isPending } from "../../../core/io.js";
import type { EntryChange } from "../../../core/ports/changes/change.js";
import type { NotUndoable } from "../../../core/ports/changes/journal.js";
import type { JournalWriter, Kept } from "../../../core/ports/changes/journal-writer.js";
import { below, type Pinned, release } from "../../../jail/handles.js";
import type { FolderUse } from "../../../jail/staging/held-folder.js";
import { quietly } from "../../../jail/sys.js";
import { type Keeping, report } from "../changes/report.js";
import { contentOf, keptIn, settled, VALUE_BYTES } from "../history/keep.js";
import { inTrash } from "../history/trash.js";
import type { Change, WriteRules } from "../target.js";
import type { Intent } from "./intent.js";

/** A committed change, and the name in the intent of what was there before. */
export interface Member {
  readonly access: Change["access"];
  readonly change: EntryChange;
  readonly kept: string | undefined;
}

/** The journal of a root that is open already; a group opens it first. */
export function journalNow({ openJournal }: WriteRules): JournalWriter | undefined {
  const journal = openJournal?.();
  return isPending(journal) ? undefined : journal;
}

export function* reportMember(rules: WriteRules, intent: Intent, { access, change, kept }: Member): Io<void> {
  const journal = journalNow(rules);
  const keeping = journal && (yield* keepingOf(intent, journal, { kept, isDeleted: change.action === "deleted" }));
  yield* report({ access, journal, made: [] }, change, keeping);
}

function* keepingOf(
  intent: Intent,
  journal: JournalWriter,
  { kept, isDeleted }: { readonly kept: string | undefined; readonly isDeleted: boolean },
): Io<Keeping> {
  const id = journal.newId();
  if (kept === undefined || journal.mode === "metadata") return settled(id, undefined);
  const object = yield* quietly(intent.jail.handles.pin(intent.folder, kept));
  if (object === undefined) return settled(id, nothing("not_kept"));
  try {
    if (!isDeleted && object.stat.isFile() && object.stat.size <= VALUE_BYTES) {
      const bytes = yield* quietly(contentOf(intent, object));
      return settled(id, bytes === undefined ? nothing("not_kept") : { in: "value", bytes });
    }
    if (isDeleted && journal.trashMode === "off") return settled(id, nothing("off"));
    return settled(id, yield* moveToTrash(intent, { kept, name: journal.trashName(id), object }));
  } finally {
    release(object);
  }
}

const nothing = (reason: NotUndoable): Kept => ({ in: "nothing", reason });

function* moveToTrash(
  intent: Intent,
  { kept, name, object }: { readonly kept: string; readonly name: string; readonly object: Pinned },
): Io<Kept> {
  const { jail } = intent;
  const put = ({ directory }: FolderUse): Io<void> => jail.sys.rename(intent.pathOf(kept), below(directory, name));
  const trash = yield* quietly(inTrash(jail, put));
  if (trash === undefined) return nothing("not_kept");
  try {
    return yield* keptIn(trash.directory, intent, { name, object });
  } finally {
    trash.release();
  }
}
