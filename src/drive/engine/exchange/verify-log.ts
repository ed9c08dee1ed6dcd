// Verifies that the log of a drive, and the content that it keeps, can be read completely.

import { cellOf } from "../../cad3/encoding/cell.js";
import { toHex } from "../../cad3/ref.js";
import { viewOf } from "../../dlfs/node.js";
import type { RootRecord } from "../../store/cell-store.js";
import { createCellPool, createScope } from "../cells.js";
import { readRange } from "../content/blob-reader.js";
import { isDamage } from "../fault.js";
import { allBooks, itemsBefore } from "../log/books.js";
import { type VerifyOptions, verifyTree, WINDOW_BYTES } from "./verify.js";

export interface VerifiedLog {
  /** Entries of the drive that can be read. */
  readonly entries: number;
  /** Whether a part of the log, or content that it keeps, is damaged. */
  readonly damaged: boolean;
}

interface Checking extends Pick<VerifyOptions, "store" | "overlay"> {
  /** Called before each part is read. */
  readonly step: () => void;
}

const PAGE = 256;

/** @param roots all roots of the owner, with their logs */
export async function verifyLog(
  drive: string,
  roots: readonly RootRecord[],
  { store, overlay, step }: Checking,
): Promise<VerifiedLog> {
  const pool = createCellPool({ store, verifyReads: true, cacheBytes: 2 ** 20 });
  const newScope = () => createScope(pool, overlay);
  const isWhole = async (ref: Uint8Array): Promise<boolean> => {
    try {
      const node = await newScope().open(ref);
      const view = await newScope().run(() => viewOf(node));
      if (view.kind === "directory")
        return (await verifyTree(ref, { store, overlay, onStep: step })).damagedCount === 0;
      for (let [at, size] = [0, 1]; view.kind === "file" && at < size; at += WINDOW_BYTES) {
        step();
        ({ size } = await readRange(view.data, { offset: at, length: WINDOW_BYTES }, newScope()));
      }
      return true;
    } catch (error) {
      if (!isDamage(error)) throw error;
      return false;
    }
  };
  // What changed often is kept once.
  const checked = new Set<string>();
  let [entries, damaged] = [0, false];
  for (let before: string | undefined; ; ) {
    step();
    const scope = newScope();
    const page = await itemsBefore(await allBooks(roots, scope), { before, limit: PAGE }, scope);
    damaged ||= page.isDamaged;
    for (const { entry, before: kept } of page.items) {
      if (entry.drive !== drive) continue;
      entries += 1;
      const ref = kept === undefined ? undefined : cellOf(kept).ref;
      if (ref === undefined || checked.has(toHex(ref))) continue;
      checked.add(toHex(ref));
      if (!(await isWhole(ref))) damaged = true;
    }
    before = page.items.at(-1)?.entry.id;
    if (page.isWhole || before === undefined) return { entries, damaged };
  }
}
