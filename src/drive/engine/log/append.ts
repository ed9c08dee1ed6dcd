// The log of an owner's drives with the entries of one swap added.

import { newEntryId, timeOfId } from "../../../core/entry-id.js";
import type { Cell } from "../../cad3/ref.js";
import type { RootRecord } from "../../store/cell-store.js";
import { undefinedIfDamaged } from "../fault.js";
import { type EditGround, LogEdit, openBook } from "./book.js";
import { allBooks, findItem } from "./books.js";
import type { LogItem, Noted } from "./entry.js";

/** Additions of one swap to the log. */
export interface LogChange {
  readonly notes: readonly Noted[];
  /** Changes of entries that are there. */
  readonly edits: readonly ((edit: LogEdit) => Promise<void>)[];
}

export interface LogGround extends EditGround {
  /** The root that is replaced. */
  readonly own: RootRecord | null;
  /** The roots of all accounts of the owner. */
  readonly all: readonly RootRecord[];
  readonly nowMs: number;
}

/**
 * The new top cell; its branches are in the write set.
 * @returns `undefined` if the log stays as it is
 */
export async function appendToLog({ notes, edits }: LogChange, ground: LogGround): Promise<Cell | undefined> {
  const { own, scope, nowMs } = ground;
  if (notes.length === 0 && edits.length === 0) return undefined;
  // A log that cannot be read any more must not stop changes: a new one begins.
  const book = (await undefinedIfDamaged(() => openBook(own?.log, scope))) ?? (await openBook(undefined, scope));
  const edit = new LogEdit(book, ground);
  const before = edit.book;
  for (const one of edits) await one(edit);
  for (const { note, ticket } of assignIds(notes, { last: book.facts.l, nowMs })) {
    if (note.undoes !== undefined) await markUndone(edit, note.undoes, { by: note.group ?? ticket.id ?? "", ground });
  }
  await edit.add(
    notes.map((noted) => itemOf(noted, edit, nowMs)),
    nowMs,
  );
  if (edit.book === before) return undefined;
  return edit.end();
}

/** Gives each its id: later than all before it, whatever the clock says. */
function assignIds(notes: readonly Noted[], { last, nowMs }: { last: string; nowMs: number }): readonly Noted[] {
  let newest = last;
  for (const { ticket } of notes) {
    const id = newEntryId(nowMs);
    ticket.id = id > newest ? id : newEntryId(timeOfId(newest) + 1);
    newest = ticket.id;
  }
  return notes;
}

function itemOf({ note, drive, before, after, kept, reason, ticket }: Noted, edit: LogEdit, nowMs: number): LogItem {
  // JSON omits undefined fields. To omit them here takes longer than all the rest of an entry.
  const entry = Object.assign({}, note, {
    driveOwner: undefined,
    id: ticket.id ?? "",
    time: nowMs,
    drive,
    kept: kept === 0 ? undefined : kept,
    apart: edit.isApart(kept) ? (true as const) : undefined,
    reason,
  });
  return { entry, before, after };
}

/** Entries that an undone undo had undone are in force again. */
async function markUndone(
  edit: LogEdit,
  ids: readonly string[],
  { by, ground }: { readonly by: string; readonly ground: LogGround },
): Promise<void> {
  const again: string[] = [];
  const mark = async (id: string, undoneBy: string | undefined): Promise<void> => {
    const change = ({ entry, ...nodes }: LogItem): LogItem => {
      if (undoneBy !== undefined) again.push(...(entry.undoes ?? []));
      return { ...nodes, entry: { ...entry, undoneBy } };
    };
    if (await edit.update(id, change)) return;
    const { books } = await allBooks(ground.all, ground.scope);
    const other = await findItem(books, id, ground.scope);
    if (other !== undefined) await edit.update(id, change, other);
  };
  for (const id of ids) await mark(id, by);
  for (const id of again) await mark(id, undefined);
}
