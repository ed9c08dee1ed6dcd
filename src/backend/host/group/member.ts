// The changes of a group in the journal: noted before they are made, told of once the group is committed.

import type { Io } from "../../../core/io.js";
import type { EntryChange } from "../../../core/ports/changes/change.js";
import type { Kept } from "../../../core/ports/changes/journal-writer.js";
import { below, type Pinned, release } from "../../../jail/handles.js";
import type { Jail } from "../../../jail/jail.js";
import { finishWithReserve } from "../../../jail/reserve.js";
import type { FolderUse } from "../../../jail/staging/folder.js";
import { moveBelow } from "../../../jail/staging/movable.js";
import { quietly, succeeds } from "../../../jail/sys.js";
import { noteUnkept, report } from "../changes/report.js";
import type { Plan } from "../changes/step.js";
import { contentOf, describeKept, letRead, TO_TRASH, VALUE_BYTES } from "../history/keep.js";
import { dropNote, type Keeping, keepsNothing, noteChange } from "../history/note.js";
import { putInTrash } from "../history/trash.js";
import type { Change } from "../target.js";
import type { Intent, StepRecord } from "./intent.js";

/** One step of a group, as the journal sees it. */
export class Member {
  /** Both are set once the step is prepared. */
  plan: Plan | undefined;
  record: StepRecord | undefined;
  /** Set once the step is committed; `undefined`: nothing changed. */
  change: EntryChange | undefined;
  readonly #intent: Intent;
  readonly #change: Pick<Change, "access" | "journal" | "made" | "id" | "rules">;
  #keeping: Keeping | undefined;

  constructor(intent: Intent, { access, journal, made, id, rules }: Change) {
    this.#intent = intent;
    this.#change = { access, journal, made, id, rules };
  }

  /** Notes the change, with the content of the file that is replaced. */
  *note(): Io<void> {
    const { change: planned, inode } = this.plan ?? {};
    const { journal } = this.#change;
    if (planned === undefined || journal === undefined) return;
    const { put, moved, taken } = this.record ?? {};
    const note = (kept?: Kept): Keeping | undefined => noteChange(this.#change, planned, { inode, kept });
    const before = put?.before ?? moved?.before;
    if (journal.mode === "metadata") this.#keeping = note();
    else if (taken?.isBinned === true) this.#keeping = this.#binned(note(TO_TRASH), taken.kept);
    else if (taken !== undefined) this.#keeping = note(keepsNothing(journal.trashMode === "off" ? "off" : "no_trash"));
    else this.#keeping = before === undefined ? note() : yield* this.#keep(before, note);
  }

  *#keep(before: string, note: (kept?: Kept) => Keeping | undefined): Io<Keeping | undefined> {
    const { jail, folder } = this.#intent;
    const object = yield* quietly(finishWithReserve(jail.handles.pin(folder, before)));
    if (object === undefined) return note(keepsNothing("not_kept"));
    try {
      if (object.stat.isFile() && object.stat.size <= VALUE_BYTES) {
        const bytes = yield* quietly(contentOf(this.#intent, object));
        if (bytes !== undefined) return note({ in: "value", bytes });
      }
      return yield* this.#link(before, object, note(TO_TRASH));
    } finally {
      release(object);
    }
  }

  /** Gives the replaced file a name in the trash too; where that cannot be, it moves there once the group is committed. */
  *#link(before: string, object: Pinned, noted: Keeping | undefined): Io<Keeping | undefined> {
    const { journal } = this.#change;
    if (noted === undefined || journal === undefined) return undefined;
    const { jail, folder } = this.#intent;
    const from = this.#intent.pathOf(before);
    const name = journal.trashName(noted.id);
    const link = ({ directory }: FolderUse): Io<void> => jail.sys.link(from, below(directory, name));
    const move = ({ directory }: FolderUse): Io<void> =>
      moveBelow(jail, { directory: folder, name: before }, { directory, name });
    const isLinked = yield* inTrash(jail, link);
    return {
      ...noted,
      done: () => this.#endLink(isLinked ? succeeds(jail.sys.unlink(from)) : inTrash(jail, move), name, object),
      undo: () => this.#dropLink(isLinked ? name : undefined, noted),
    };
  }

  /** Leaves a replaced file its name in the trash alone. */
  *#endLink(work: Io<boolean>, name: string, object: Pinned): Io<Kept> {
    return (yield* work) ? yield* this.#describe(name, object) : keepsNothing("no_trash");
  }

  *#dropLink(name: string | undefined, noted: Keeping): Io<void> {
    const { jail } = this.#intent;
    if (name !== undefined) yield* inTrash(jail, ({ directory }) => jail.sys.unlink(below(directory, name)));
    yield* noted.undo();
  }

  /** What lies in the trash once the group is committed. */
  #binned(noted: Keeping | undefined, name: string): Keeping | undefined {
    return noted && { ...noted, done: () => this.#describe(name) };
  }

  /** @param replaced absent: it was taken away */
  *#describe(name: string, replaced?: Pinned): Io<Kept> {
    const { jail } = this.#intent;
    const describe = (use: FolderUse): Io<Kept> => describeIn(jail, use, { name, replaced });
    const trash = yield* quietly(finishWithReserve(putInTrash(jail, describe)));
    trash?.release();
    return trash?.result ?? keepsNothing("no_trash");
  }

  /** After the group was undone. */
  *forget(): Io<void> {
    yield* this.#keeping?.undo() ?? dropNote(this.#change);
  }

  /** After the group was committed. */
  *report(): Io<void> {
    if (this.change === undefined) return yield* this.forget();
    const { put, taken, moved } = this.record ?? {};
    const isReplaced = (put?.before ?? taken?.kept ?? moved?.before) !== undefined;
    if (this.#change.journal === undefined && isReplaced) noteUnkept(this.#change);
    yield* report(this.#change, this.change, this.#keeping);
  }
}

function* describeIn(
  jail: Jail,
  { directory }: FolderUse,
  { name, replaced }: { readonly name: string; readonly replaced: Pinned | undefined },
): Io<Kept> {
  if (replaced !== undefined) yield* letRead({ jail }, directory, { name, object: replaced });
  return yield* describeKept(directory, { jail }, { name });
}

/** @returns whether it was done */
function* inTrash(jail: Jail, work: (trash: FolderUse) => Io<void>): Io<boolean> {
  const trash = yield* quietly(finishWithReserve(putInTrash(jail, work)));
  trash?.release();
  return trash !== undefined;
}
