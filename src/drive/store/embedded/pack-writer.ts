// Appends chunks to pack files; chunks are durable after `sync`.

import { type FileHandle, open, unlink } from "node:fs/promises";
import { join } from "node:path";
import { syncDirectory, writeAll } from "../../../database/durable-files.js";
import { mayRun, ownToken } from "../../../process/identity.js";
import { storeDamaged, storeUnavailable } from "../checks.js";
import { nextNumber, type PackState, type Place, packRow, packState, type Tables } from "../tables.js";
import { leafLength, PACK_HEADER, type PackEntry, packEnd, startDigest, walkCells } from "./pack-format.js";
import { packFile } from "./read-cells.js";

const ROLL_BYTES = 64 * 2 ** 20;
/** Sealed packs below this fraction of a full one (1/64) are leftovers of processes that ran concurrently. */
const SMALL_PART = 64;
const READ_BYTES = 1 << 20;

/** Contiguous chunks. */
export interface PackPiece {
  readonly bytes: Buffer;
  /** Whole chunks, in order. */
  readonly chunks: readonly { readonly hash: Uint8Array; readonly length: number }[];
}

interface OpenPack {
  readonly number: number;
  readonly handle: FileHandle;
  readonly entries: PackEntry[];
  readonly digest: ReturnType<typeof startDigest>;
  /** Current length; the next cell is written at this offset. */
  length: number;
  isDirty: boolean;
}

export const packKey = (number: number): Buffer => {
  const key = Buffer.allocUnsafe(4);
  key.writeUInt32BE(number);
  return key;
};

export interface DurableLength {
  readonly pack: number;
  readonly length: number;
}

export interface PackWriterOptions {
  readonly folder: string;
  readonly tables: Tables;
  readonly flush: boolean;
  /** A pack is sealed when it reaches this size. */
  readonly rollBytes?: number | undefined;
}

/** Appends to a pack of its own, one piece at a time. */
export class PackWriter {
  readonly #options: PackWriterOptions;
  readonly #rollBytes: number;
  readonly #token = ownToken();
  readonly #broken = new Set<number>();
  #pack: OpenPack | undefined;
  #tail: Promise<unknown> = Promise.resolve();

  constructor(options: PackWriterOptions) {
    this.#options = options;
    this.#rollBytes = options.rollBytes ?? ROLL_BYTES;
  }

  /** Packs shorter than this (in bytes) are worth merging. */
  get smallBytes(): number {
    return this.#rollBytes / SMALL_PART;
  }

  /** Writes chunks contiguously; not yet durable. */
  append({ bytes, chunks }: PackPiece): Promise<Place[]> {
    return this.#queue(async () => {
      if (this.#pack !== undefined && this.#pack.length >= this.#rollBytes) await this.#seal();
      this.#pack ??= await this.#begin();
      const pack = this.#pack;
      pack.isDirty = true;
      // After a failure the length is unchanged, so the next piece overwrites what was half written.
      await writeAll(pack.handle, bytes, pack.length);
      pack.digest.update(bytes);
      return chunks.map(({ hash, length }) => {
        const place = { pack: pack.number, offset: pack.length, length };
        pack.entries.push({ hash, offset: place.offset, length });
        pack.length += length;
        return place;
      });
    });
  }

  /** Makes all appended chunks durable. @returns `undefined` if there is no pack */
  sync(): Promise<DurableLength | undefined> {
    return this.#queue(async () => {
      const pack = this.#pack;
      if (pack === undefined) return undefined;
      if (pack.isDirty) await this.#flush(pack);
      pack.isDirty = false;
      return { pack: pack.number, length: pack.length };
    });
  }

  /** Whether data appended to the pack may never have reached the disk. */
  isBroken(pack: number): boolean {
    return this.#broken.has(pack);
  }

  async #flush(pack: OpenPack): Promise<void> {
    if (!this.#options.flush) return;
    try {
      await pack.handle.datasync();
    } catch (error) {
      // No retry: fsync may succeed the second time although the pages are lost.
      this.#abandon(pack);
      throw error;
    }
  }

  #abandon(pack: OpenPack): void {
    this.#broken.add(pack.number);
    this.#pack = undefined;
    pack.handle.close().catch(() => undefined);
  }

  /**
   * Records the durable length, inside the transaction that references it.
   * @throws STORE_UNAVAILABLE if the pack was taken over
   */
  record({ pack, length }: DurableLength): void {
    const { packs } = this.#options.tables;
    const present = packs.get(packKey(pack));
    const state = present === undefined ? undefined : packState(present);
    // Sealed by this process in the meantime: longer than the length recorded here.
    if (state?.isSealed === true && this.#pack?.number !== pack) return;
    if (state?.isSealed !== false || state.writer !== this.#token) {
      if (this.#pack?.number === pack) this.#abandon(this.#pack);
      throw storeUnavailable("another process took over its pack; try again");
    }
    if (length > state.length) packs.putSync(packKey(pack), packRow({ ...state, length }));
  }

  /** Takes over the pack of a dead process, truncated to its committed length; a full one is sealed. */
  adopt(number: number): Promise<void> {
    return this.#queue(async () => {
      if (this.#pack !== undefined) await this.#seal();
      const state = this.#claim(number);
      if (state === undefined) return;
      const handle = await openOrDrop(this.#options, number, state);
      if (handle === undefined) return;
      try {
        this.#pack = await reopen(number, handle, state.length);
      } catch (error) {
        await handle.close();
        throw error;
      }
    });
  }

  #claim(number: number): PackState | undefined {
    const { env, packs } = this.#options.tables;
    return env.transactionSync(() => {
      const present = packs.get(packKey(number));
      const state = present === undefined ? undefined : packState(present);
      // Another process may have taken it over since the caller looked.
      if (state === undefined || state.isSealed || mayRun(state.writer)) return undefined;
      packs.putSync(packKey(number), packRow({ ...state, writer: this.#token }));
      return state;
    });
  }

  /** Leaves the pack to the next process that opens the store. */
  close(): Promise<void> {
    return this.#queue(async () => {
      const pack = this.#pack;
      this.#pack = undefined;
      if (pack === undefined) return;
      await pack.handle.close();
      const { env, packs } = this.#options.tables;
      env.transactionSync(() => {
        const row = packs.get(packKey(pack.number));
        if (row !== undefined) packs.putSync(packKey(pack.number), packRow({ ...packState(row), writer: "" }));
      });
    });
  }

  #queue<T>(act: () => Promise<T>): Promise<T> {
    const done = this.#tail.then(act);
    this.#tail = done.catch(() => undefined);
    return done;
  }

  async #begin(): Promise<OpenPack> {
    const { folder, tables, flush } = this.#options;
    const number = tables.env.transactionSync(() => {
      const next = nextNumber(tables.meta, "packs");
      tables.packs.putSync(
        packKey(next),
        packRow({ isSealed: false, length: PACK_HEADER.length, writer: this.#token }),
      );
      return next;
    });
    const handle = await open(packFile(folder, number), "wx+", 0o600);
    try {
      await handle.write(PACK_HEADER, 0, PACK_HEADER.length, 0);
      if (flush) await syncDirectory(join(folder, "packs"));
    } catch (error) {
      await handle.close();
      throw error;
    }
    return { number, handle, entries: [], digest: startDigest(), length: PACK_HEADER.length, isDirty: true };
  }

  async #seal(): Promise<void> {
    const pack = this.#pack;
    if (pack === undefined) return;
    const { env, packs } = this.#options.tables;
    const end = packEnd(pack.entries, pack.length, pack.digest.copy());
    await pack.handle.write(end, 0, end.length, pack.length);
    // Removes what a failed write left behind.
    await pack.handle.truncate(pack.length + end.length);
    await this.#flush(pack);
    env.transactionSync(() => {
      packs.putSync(packKey(pack.number), packRow({ isSealed: true, length: pack.length, writer: "" }));
    });
    this.#pack = undefined;
    await pack.handle.close();
  }
}

async function openOrDrop({ folder, tables }: PackWriterOptions, number: number, state: PackState) {
  try {
    return await open(packFile(folder, number), "r+");
  } catch {
    if (state.length > PACK_HEADER.length) throw storeDamaged("a pack is missing");
    // Recorded, but the process ended before it created the file.
    tables.env.transactionSync(() => tables.packs.removeSync(packKey(number)));
    return undefined;
  }
}

async function reopen(number: number, handle: FileHandle, length: number): Promise<OpenPack> {
  const { size } = await handle.stat();
  if (size < length && length > PACK_HEADER.length) throw storeDamaged("a pack is shorter than what was committed");
  await handle.truncate(length);
  await handle.write(PACK_HEADER, 0, PACK_HEADER.length, 0);
  const pack: OpenPack = { number, handle, entries: [], digest: startDigest(), length, isDirty: true };
  let rest = Buffer.alloc(0);
  for (let at = PACK_HEADER.length; at < length; ) {
    const piece = Buffer.allocUnsafe(Math.min(READ_BYTES, length - at));
    const { bytesRead } = await handle.read(piece, 0, piece.length, at);
    if (bytesRead === 0) throw storeDamaged("a pack is too short");
    const bytes = Buffer.concat([rest, piece.subarray(0, bytesRead)]);
    const start = at - rest.length;
    at += bytesRead;
    const whole = at < length ? wholeCells(bytes) : bytes.length;
    pack.entries.push(...walkCells(bytes.subarray(0, whole), start));
    pack.digest.update(bytes.subarray(0, whole));
    rest = bytes.subarray(whole);
  }
  return pack;
}

function wholeCells(bytes: Buffer): number {
  for (let at = 0; ; ) {
    const end = at + 3 > bytes.length ? Number.POSITIVE_INFINITY : at + leafLength(bytes, at);
    if (end > bytes.length) return at;
    at = end;
  }
}

/** Removes a pack file; a missing one is not an error. */
export async function removePack(folder: string, number: number): Promise<void> {
  await unlink(packFile(folder, number)).catch(() => undefined);
}
