// Ends pending entries of processes that died between what they noted and what they did.

import type { TrashItem } from "../core/ports/changes/journal-writer.js";
import { mayRun } from "../drive/store/embedded/process-token.js";
import { type PendingRow, rowOf } from "./rows.js";
import type { JournalStore } from "./store.js";

/**
 * The trash tells whether the change was made: what is there under its name was deleted, or replaced if it has no other
 * name any more.
 * @returns names in the trash of changes that were not made
 */
export function settlePending(
  store: JournalStore,
  { items, trashName }: { readonly items: readonly TrashItem[]; readonly trashName: (id: string) => string },
): string[] {
  const found = new Map(items.map((item) => [item.name, item]));
  const lost: string[] = [];
  for (const [id, pending] of store.pending()) {
    if (mayRun(pending.process)) continue;
    const item = found.get(trashName(id));
    if (item !== undefined && wasMade(pending, item)) {
      // Its state afterwards was not seen, so that an undo compares the content.
      store.add(
        rowOf(pending.planned, "on", { in: "trash", size: item.size }),
        { in: "trash", size: item.size },
        false,
      );
      continue;
    }
    if (item !== undefined) lost.push(item.name);
    store.cancel(id);
  }
  store.flush();
  return lost;
}

/** A replaced file has its second name before the change, and loses the first by it. */
const wasMade = ({ planned }: PendingRow, { links }: TrashItem): boolean => planned.action === "deleted" || links === 1;
