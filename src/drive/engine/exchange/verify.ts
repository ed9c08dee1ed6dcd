// Verifies that a drive can be read completely.

import type { DriveCheck } from "../../../core/ports/drive-shelf.js";
import type { CellStore } from "../../store/cell-store.js";
import { type CellPool, createCellPool, createScope, type Overlay } from "../cells.js";
import { entriesAt, readAt, type Tree } from "../content/tree-read.js";
import type { DriveEntry } from "../drives.js";
import { isDamage } from "../fault.js";

export type VerifyReport = Omit<DriveCheck, "history">;

/** Maximum paths in a report. */
const MAX_NAMED = 100;
export const WINDOW_BYTES = 4 * 2 ** 20;

interface Verifying {
  readonly pool: CellPool;
  readonly overlay: Overlay;
  readonly ref: Uint8Array;
  readonly step: () => void;
  readonly report: { files: number; directories: number; bytes: number; damaged: string[][]; damagedCount: number };
}

export interface VerifyOptions {
  readonly store: CellStore;
  readonly overlay: Overlay;
  /** Called before each part is read; throwing ends the verification. */
  readonly onStep?: ((seen: VerifyReport) => void) | undefined;
}

/**
 * Reads and checks everything in a drive.
 * @param ref of its root
 */
export async function verifyTree(ref: Uint8Array, options: VerifyOptions): Promise<VerifyReport> {
  const { store, overlay, onStep = () => {} } = options;
  const pool = createCellPool({ store, verifyReads: true, cacheBytes: 2 ** 20 });
  const report: Verifying["report"] = { files: 0, directories: 0, bytes: 0, damaged: [], damagedCount: 0 };
  const verifying: Verifying = { pool, overlay, ref, report, step: () => onStep(report) };
  const waiting: string[][] = [[]];
  for (let path = waiting.pop(); path !== undefined; path = waiting.pop()) {
    const here = path;
    const entries = await readOrReport(here, verifying, (tree) => entriesAt(tree, here));
    if (entries === undefined) continue;
    report.directories += 1;
    for (const entry of entries) {
      if (entry.type === "directory") waiting.push([...here, entry.name]);
      else await verifyFile([...here, entry.name], entry, verifying);
    }
  }
  return report;
}

async function verifyFile(path: string[], { size }: DriveEntry, verifying: Verifying): Promise<void> {
  const isWhole = await readOrReport(path, verifying, async (tree) => {
    let offset = 0;
    do {
      verifying.step();
      await readAt(tree, path, { offset, length: WINDOW_BYTES });
      offset += WINDOW_BYTES;
    } while (offset < size);
    return true;
  });
  if (isWhole === undefined) return;
  verifying.report.files += 1;
  verifying.report.bytes += size;
}

/** @returns `undefined` for damage, which has then been reported */
async function readOrReport<T>(
  path: string[],
  { pool, overlay, ref, report, step }: Verifying,
  read: (tree: Tree) => Promise<T>,
): Promise<T | undefined> {
  step();
  try {
    const scope = createScope(pool, overlay);
    return await read({ root: await scope.open(ref), scope });
  } catch (error) {
    if (!isDamage(error)) throw error;
    report.damagedCount += 1;
    if (report.damaged.length < MAX_NAMED) report.damaged.push(path);
    return undefined;
  }
}
