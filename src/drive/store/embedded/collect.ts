// Garbage collection (mark and sweep) of the embedded store.

import { randomUUID } from "node:crypto";
import { rmSync } from "node:fs";
import { open, readdir, rm, stat } from "node:fs/promises";
import { join } from "node:path";
import { yieldToLoop } from "../../../core/io.js";
import { openShared, type Table } from "../../../database/shared-database.js";
import { isHashOf } from "../../cad3/ref.js";
import type { CollectOptions, CollectReport } from "../cell-store.js";
import { storeDamaged, storeUnavailable } from "../checks.js";
import type { LiveBatches, Pins } from "../live-batches.js";
import { type HashText, hashOfText, type LoadForMark, logsOf, type Marks, markTrees, textOfHash } from "../mark.js";
import {
  allLogs,
  type Place,
  packState,
  page,
  placeOf,
  placeRow,
  rows,
  type Tables,
  uint,
  unstamped,
} from "../tables.js";
import { PACK_HEADER, type PackEntry, parseFooter, parseTrailer, TRAILER_BYTES } from "./pack-format.js";
import { type PackWriter, packKey, removePack } from "./pack-writer.js";
import { type PackReader, packFile } from "./read-cells.js";

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
    const { live, missing } = await markTrees(allRoots(parts, before), scratch.marks, loaderOf(parts));
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

function* allRoots({ pins, tables: { roots, retired } }: CollectParts, before: number): Generator<Uint8Array> {
  for (const { bytes } of pins.roots()) yield bytes;
  for (const { value } of rows(roots)) yield unstamped(value);
  // A reader, possibly in another process, may still use a recently replaced root.
  for (const { key, value } of rows(retired)) if (uint(key) >= before) yield value;
}

function loaderOf({ tables: { cells, chunks }, checkGoesOn }: CollectParts): LoadForMark {
  return (wanted) => {
    checkGoesOn();
    const found = new Map<HashText, Uint8Array | "leaf">();
    for (const text of wanted) {
      const hash = hashOfText(text);
      const row = cells.get(hash);
      const bytes = row && unstamped(row);
      if (bytes !== undefined && isHashOf(hash, bytes)) found.set(text, bytes);
      else if (bytes === undefined && chunks.doesExist(hash)) found.set(text, "leaf");
    }
    return found;
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

/** Cells copied at a time. */
const CELLS_PER_COPY = 256;

interface CompactParts {
  readonly folder: string;
  readonly tables: Tables;
  readonly packs: PackWriter;
  readonly reader: PackReader;
  readonly checkGoesOn: () => void;
}

/**
 * Removes sealed packs that are less than half full or very short, after copying their live cells.
 *
 * @param liveBytes live bytes of each pack
 * @returns number of packs removed
 */
async function compactPacks(parts: CompactParts, liveBytes: ReadonlyMap<number, number>): Promise<number> {
  const { tables, folder, reader, packs } = parts;
  let removed = 0;
  for (const { key, value } of rows(tables.packs)) {
    parts.checkGoesOn();
    const number = key.readUInt32BE();
    const { isSealed, length } = packState(value);
    // An unsealed pack is still being written, or will be taken over by the next process that opens the store.
    if (!isSealed) continue;
    const live = liveBytes.get(number) ?? 0;
    if (live * 2 >= length - PACK_HEADER.length && length >= packs.smallBytes) continue;
    if (!(await copyLive(parts, number))) continue;
    tables.env.transactionSync(() => tables.packs.removeSync(packKey(number)));
    reader.drop(number);
    await removePack(folder, number);
    removed += 1;
  }
  return removed;
}

/** @returns whether the pack is now empty */
async function copyLive(parts: CompactParts, number: number): Promise<boolean> {
  const { tables, reader, packs } = parts;
  // In the order in which they lie there: chunks of a file stay in a row.
  const entries = ((await readFooter(parts.folder, number)) ?? []).sort((one, other) => one.offset - other.offset);
  const placesOf = (some: readonly PackEntry[]): (Place & { hash: Buffer })[] =>
    some.flatMap(({ hash }) => {
      const key = Buffer.from(hash);
      const row = tables.chunks.get(key);
      const place = row === undefined ? undefined : placeOf(row);
      return place?.pack === number ? [{ ...place, hash: key }] : [];
    });
  for (let at = 0; at < entries.length; at += CELLS_PER_COPY) {
    const live = [...reader.read(placesOf(entries.slice(at, at + CELLS_PER_COPY)))];
    if (live.length === 0) continue;
    const copies = await packs.append({
      bytes: Buffer.concat(live.map(([, bytes]) => bytes)),
      chunks: live.map(([{ hash, length }]) => ({ hash, length })),
    });
    const durable = await packs.sync();
    tables.env.transactionSync(() => {
      if (durable !== undefined) packs.record(durable);
      if (copies.some((copy) => packs.isBroken(copy.pack))) throw storeUnavailable("its disk failed");
      live.forEach(([{ hash, offset }], which) => {
        const row = tables.chunks.get(hash);
        const copy = copies[which];
        const isSame = row !== undefined && placeOf(row).pack === number && placeOf(row).offset === offset;
        if (isSame && copy !== undefined) tables.chunks.putSync(hash, placeRow(uint(row), copy));
      });
    });
  }
  return placesOf(entries).length === 0;
}

/** @throws STORE_DAMAGED if the end of the pack is invalid */
async function readFooter(folder: string, number: number): Promise<PackEntry[] | undefined> {
  const path = packFile(folder, number);
  const { size } = await stat(path).catch(() => ({ size: undefined }));
  // Removed by a collection in another process.
  if (size === undefined) return undefined;
  const handle = await open(path, "r");
  const read = async (offset: number, length: number): Promise<Buffer> => {
    const target = Buffer.alloc(Math.max(0, length));
    const { bytesRead } = await handle.read(target, 0, target.length, Math.max(0, offset));
    if (bytesRead !== target.length) throw storeDamaged("a pack is too short");
    return target;
  };
  try {
    const trailer = parseTrailer(await read(size - TRAILER_BYTES, TRAILER_BYTES), size);
    return parseFooter(await read(trailer.footerOffset, size - TRAILER_BYTES - trailer.footerOffset), trailer);
  } finally {
    await handle.close();
  }
}
