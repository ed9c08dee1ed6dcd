// Ends pending entries of processes that died between what they noted and what they did.

import type { TrashItem } from "../core/ports/changes/journal-writer.js";
import type { LeftNotes } from "./pending-log.js";
import { type PendingRow, rowOf } from "./rows.js";
import type { JournalStore } from "./store.js";

/**
 * The trash tells whether the change was made: what is there under its name was deleted, or replaced if it has no other
 * name any more.
 * @param items of the trash, as far as notes name them
 * @returns names in the trash of changes that were not made
 */
export function settlePending(
  store: JournalStore,
  notes: LeftNotes,
  { items, trashName }: { readonly items: readonly TrashItem[]; readonly trashName: (id: string) => string },
): string[] {
  const found = new Map(items.map((item) => [item.name, item]));
  const lost: string[] = [];
  for (const [id, pending] of notes.rows) {
    // Its process died after the entry was written.
    if (store.entry(id) !== undefined) continue;
    const item = found.get(trashName(id));
    if (item === undefined) continue;
    if (wasMade(pending, item)) {
      // Its state afterwards was not seen, so that an undo compares the content.
      const kept = { in: "trash", size: item.size } as const;
      store.add(rowOf(pending.planned, "on", kept), kept, false);
    } else {
      lost.push(item.name);
    }
  }
  store.flush();
  notes.forget();
  return lost;
}

/** A replaced file has its second name before the change, and loses the first by it. */
const wasMade = ({ planned }: PendingRow, { links }: TrashItem): boolean => planned.action === "deleted" || links === 1;
