// Reports the changes of a committed group; what they replaced moves from the intent to the journal.

import { type Io, isPending } from "../../../core/io.js";
import type { EntryChange } from "../../../core/ports/changes/change.js";
import type { JournalWriter, Kept } from "../../../core/ports/changes/journal-writer.js";
import { type Pinned, release } from "../../../jail/handles.js";
import { finishWithReserve } from "../../../jail/reserve.js";
import type { FolderUse } from "../../../jail/staging/held-folder.js";
import { moveBelow } from "../../../jail/staging/movable.js";
import { quietly } from "../../../jail/sys.js";
import { type Keeping, noteUnkept, report } from "../changes/report.js";
import { contentOf, describeKept, keepsNothing, letRead, settledKeeping, VALUE_BYTES } from "../history/keep.js";
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
  const object = yield* quietly(finishWithReserve(intent.jail.handles.pin(intent.folder, kept)));
  if (object === undefined) return settledKeeping(id, keepsNothing("not_kept"));
  try {
    if (!isDeleted && object.stat.isFile() && object.stat.size <= VALUE_BYTES) {
      const bytes = yield* quietly(contentOf(intent, object));
      if (bytes !== undefined) return settledKeeping(id, { in: "value", bytes });
    }
    if (isDeleted && journal.trashMode === "off") return settledKeeping(id, keepsNothing("off"));
    return settledKeeping(id, yield* moveToTrash(intent, { kept, name: journal.trashName(id), object, isDeleted }));
  } finally {
    release(object);
  }
}

function* moveToTrash(
  intent: Intent,
  { kept, name, object, isDeleted }: { kept: string; name: string; object: Pinned; isDeleted: boolean },
): Io<Kept> {
  const { jail } = intent;
  const put = ({ directory }: FolderUse): Io<void> =>
    moveBelow(jail, { directory: intent.folder, name: kept }, { directory, name });
  const trash = yield* quietly(finishWithReserve(putInTrash(jail, put)));
  if (trash === undefined) return keepsNothing("no_trash");
  try {
    if (!isDeleted) yield* letRead(intent, trash.directory, { name, object });
    return yield* describeKept(trash.directory, intent, { name, object });
  } finally {
    trash.release();
  }
}
