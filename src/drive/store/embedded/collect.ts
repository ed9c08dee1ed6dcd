// Garbage collection (mark and sweep) of the embedded store.

import { randomUUID } from "node:crypto";
import { rmSync } from "node:fs";
import { readdir, rm, stat } from "node:fs/promises";
import { join } from "node:path";
import { yieldToLoop } from "../../../core/io.js";
import { openShared, type Table } from "../../../database/shared-database.js";
import { isHashOf } from "../../cad3/ref.js";
import type { CollectOptions, CollectReport } from "../cell-store.js";
import type { LiveBatches } from "../live-batches.js";
import { type HashText, hashOfText, type LoadForMark, logsOf, type Marks, markTrees, textOfHash } from "../mark.js";
import type { Pins } from "../pins.js";
import { allLogs, page, placeOf, rows, type Tables, uint, unstamped } from "../tables.js";
import type { CompactParts } from "./pack-compact.js";
import { compactPacks } from "./pack-compact.js";

const MARKS_PER_WRITE = 4096;
const ROWS_PER_TURN = 512;
const DAY_MS = 86_400_000;
const SCRATCH = "gc-";

export interface CollectParts extends CompactParts {
  readonly batches: LiveBatches;
  readonly pins: Pins;
  readonly now: () => number;
}

interface Swept {
  removed: number;
  removedBytes: number;
  /** Remaining bytes per pack. */
  readonly liveBytes: Map<number, number>;
}

/** Mark and sweep. Marks are kept on disk, so memory use does not grow with the store. */
export async function collectEmbedded(parts: CollectParts, options: CollectOptions): Promise<CollectReport> {
  const { tables, now, batches, folder } = parts;
  await removeLeftovers(folder);
  const scratch = openScratch(folder);
  try {
    tables.env.resetReadTxn();
    // Roots swapped from here on reference only cells that are marked below or newer than this time.
    const before = Math.min(now() - options.graceMs, batches.oldestStart());
    const roots = [...parts.pins.roots()].map(({ bytes }) => bytes);
    const { live, missing } = await markTrees(allRoots(roots, tables, before), scratch.marks, loaderOf(parts));
    await markTrees([...logsOf(parts.pins.roots()), ...allLogs(tables)], scratch.marks, loaderOf(parts));
    const swept: Swept = { removed: 0, removedBytes: 0, liveBytes: new Map() };
    if (missing > 0) return { live, removed: 0, removedBytes: 0, packs: 0, missing };
    const sweep = { marks: scratch.marks, before, isDry: options.dryRun === true, swept };
    await sweepTable(parts, tables.cells, { ...sweep, bytesOf: (row) => unstamped(row).length });
    await sweepTable(parts, tables.chunks, { ...sweep, bytesOf: (row) => placeOf(row).length });
    const packs = sweep.isDry ? 0 : await compactPacks(parts, swept.liveBytes);
    if (!sweep.isDry) await forgetRetired(tables, before);
    return { live, removed: swept.removed, removedBytes: swept.removedBytes, packs, missing };
  } finally {
    await scratch.close();
  }
}

function* allRoots(pinned: readonly Uint8Array[], { roots, retired }: Tables, before: number): Generator<Uint8Array> {
  yield* pinned;
  for (const { value } of rows(roots)) yield unstamped(value);
  // A reader, possibly in another process, may still use a recently replaced root.
  for (const { key, value } of rows(retired)) if (uint(key) >= before) yield value;
}

function loaderOf({ tables: { cells, chunks }, checkGoesOn }: CollectParts): LoadForMark {
  return (text) => {
    checkGoesOn();
    const hash = hashOfText(text);
    const row = cells.get(hash);
    if (row === undefined) return chunks.doesExist(hash) ? "leaf" : undefined;
    const bytes = unstamped(row);
    return isHashOf(hash, bytes) ? bytes : "damaged";
  };
}

interface SweepOptions {
  readonly marks: Marks;
  readonly before: number;
  readonly isDry: boolean;
  readonly swept: Swept;
  readonly bytesOf: (row: Buffer) => number;
}

async function sweepTable(
  { tables: { env }, checkGoesOn }: CollectParts,
  table: Table,
  options: SweepOptions,
): Promise<void> {
  const { marks, before, isDry, swept, bytesOf } = options;
  for (let after: Buffer | undefined; ; ) {
    checkGoesOn();
    env.resetReadTxn();
    const found = page(table, after, ROWS_PER_TURN);
    const garbage = found.filter(({ key, value }) => uint(value) < before && !marks.has(textOfHash(key)));
    // Written again in the meantime: kept.
    const isOld = (key: Buffer): boolean => uint(table.get(key) ?? Buffer.alloc(6, 0xff)) < before;
    const remove = () => garbage.filter(({ key }) => isOld(key) && (isDry || table.removeSync(key)));
    const gone = garbage.length === 0 ? [] : isDry ? remove() : env.transactionSync(remove);
    const removed = new Set(gone);
    for (const row of found) {
      const bytes = bytesOf(row.value);
      if (removed.has(row)) {
        swept.removed += 1;
        swept.removedBytes += bytes;
      } else if (row.value.length === CHUNK_ROW_BYTES) {
        const { pack } = placeOf(row.value);
        swept.liveBytes.set(pack, (swept.liveBytes.get(pack) ?? 0) + bytes);
      }
    }
    after = found.at(-1)?.key;
    if (found.length < ROWS_PER_TURN) return;
    await yieldToLoop();
  }
}

/** Time and place; no row of a branch in the other table is this short. */
const CHUNK_ROW_BYTES = 16;

/** Removes rows of roots that were replaced before a time. */
export async function forgetRetired({ env, retired }: Tables, before: number): Promise<void> {
  for (;;) {
    const old = page(retired, undefined, ROWS_PER_TURN).filter(({ key }) => uint(key) < before);
    if (old.length > 0) env.transactionSync(() => old.forEach(({ key }) => void retired.removeSync(key)));
    if (old.length < ROWS_PER_TURN) return;
    await yieldToLoop();
  }
}

/** Marks on disk. */
export interface Scratch {
  readonly marks: Marks;
  close(): Promise<void>;
}

/** @param folder on a local disk */
export function openScratch(folder: string): Scratch {
  const path = join(folder, `${SCRATCH}${randomUUID()}`);
  const env = openShared(path, { maxTables: 1, flush: false });
  const empty = Buffer.alloc(0);
  const fresh = new Set<HashText>();
  const write = (): void => {
    env.transactionSync(() => fresh.forEach((text) => void env.putSync(hashOfText(text), empty)));
    fresh.clear();
  };
  return {
    marks: {
      has: (text) => fresh.has(text) || env.doesExist(hashOfText(text)),
      add(text) {
        fresh.add(text);
        if (fresh.size >= MARKS_PER_WRITE) write();
      },
    },
    async close() {
      await env.close();
      rmSync(path, { recursive: true, force: true });
    },
  };
}

/** Removes the marks of interrupted collections. */
export async function removeLeftovers(folder: string): Promise<void> {
  for (const name of await readdir(folder)) {
    if (!name.startsWith(SCRATCH)) continue;
    const path = join(folder, name);
    const { mtimeMs } = await stat(path).catch(() => ({ mtimeMs: Number.POSITIVE_INFINITY }));
    if (mtimeMs < Date.now() - DAY_MS) await rm(path, { recursive: true, force: true });
  }
}
