// Compaction of packs after garbage collection.

import { open, stat } from "node:fs/promises";
import { storeDamaged, storeUnavailable } from "../store-error.js";
import { type Place, packState, placeOf, placeRow, rows, type Tables, uint } from "../tables.js";
import { PACK_HEADER, type PackEntry, parseFooter, parseTrailer, TRAILER_BYTES } from "./pack-format.js";
import { type PackReader, packFile } from "./pack-reader.js";
import { type PackWriter, packKey, removePack } from "./pack-writer.js";

/** Cells copied at a time. */
const CELLS_PER_COPY = 256;

export interface CompactParts {
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
export async function compactPacks(parts: CompactParts, liveBytes: ReadonlyMap<number, number>): Promise<number> {
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
