// Reports the changes of a committed group; what they replaced moves from the intent to the journal.

import { type Io, isPending } from "../../../core/io.js";
import type { EntryChange } from "../../../core/ports/changes/change.js";
import type { JournalWriter, Kept } from "../../../core/ports/changes/journal-writer.js";
import { below, type Pinned, release } from "../../../jail/handles.js";
import type { FolderUse } from "../../../jail/staging/held-folder.js";
import { quietly } from "../../../jail/sys.js";
import { type Keeping, noteUnkept, report } from "../changes/report.js";
import { contentOf, describeKept, keepsNothing, settledKeeping, VALUE_BYTES } from "../history/keep.js";
import { putInTrash } from "../history/trash.js";
import type { Change, WriteRules } from "../target.js";
import type { Intent } from "./intent.js";

/** A committed change, and the name in the intent of what was there before. */
export interface Member {
  readonly access: Change["access"];
  readonly change: EntryChange;
  readonly kept: string | undefined;
}

/** The journal of a root that is open already; a group opens it first. */
export function openedJournal({ openJournal }: WriteRules): JournalWriter | undefined {
  const journal = openJournal?.();
  return isPending(journal) ? undefined : journal;
}

export function* reportMember(rules: WriteRules, intent: Intent, { access, change, kept }: Member): Io<void> {
  const journal = openedJournal(rules);
  const keeping = journal && (yield* keepingOf(intent, journal, { kept, isDeleted: change.action === "deleted" }));
  if (journal === undefined && kept !== undefined) noteUnkept({ access, rules });
  yield* report({ access, journal, made: [] }, change, keeping);
}

function* keepingOf(
  intent: Intent,
  journal: JournalWriter,
  { kept, isDeleted }: { readonly kept: string | undefined; readonly isDeleted: boolean },
): Io<Keeping> {
  const id = journal.newId();
  if (kept === undefined || journal.mode === "metadata") return settledKeeping(id, undefined);
  const object = yield* quietly(intent.jail.handles.pin(intent.folder, kept));
  if (object === undefined) return settledKeeping(id, keepsNothing("not_kept"));
  try {
    if (!isDeleted && object.stat.isFile() && object.stat.size <= VALUE_BYTES) {
      const bytes = yield* quietly(contentOf(intent, object));
      return settledKeeping(id, bytes === undefined ? keepsNothing("not_kept") : { in: "value", bytes });
    }
    if (isDeleted && journal.trashMode === "off") return settledKeeping(id, keepsNothing("off"));
    return settledKeeping(id, yield* moveToTrash(intent, { kept, name: journal.trashName(id), object }));
  } finally {
    release(object);
  }
}

function* moveToTrash(
  intent: Intent,
  { kept, name, object }: { readonly kept: string; readonly name: string; readonly object: Pinned },
): Io<Kept> {
  const { jail } = intent;
  const put = ({ directory }: FolderUse): Io<void> => jail.sys.rename(intent.pathOf(kept), below(directory, name));
  const trash = yield* quietly(putInTrash(jail, put));
  if (trash === undefined) return keepsNothing("no_trash");
  try {
    return yield* describeKept(trash.directory, intent, { name, object });
  } finally {
    trash.release();
  }
}
