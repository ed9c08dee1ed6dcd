// Reads and verifies cells of the embedded store.

import { closeSync, openSync, readSync } from "node:fs";
import { join } from "node:path";
import { codeOf } from "../../../core/unknown.js";
import { asBuffer, isHashOf } from "../../cad3/ref.js";
import { createTurn } from "../../turn.js";
import type { TakeCell } from "../cell-store.js";
import { checkHash, storeDamaged } from "../checks.js";
import { type Place, placeOf, type Tables, unstamped } from "../tables.js";
import { runsOf } from "./pack-format.js";

/** Bytes and cells read and hashed between yields. Small cells cost their buffers and the collection of these. */
const PER_TURN = { bytes: 262_144, units: 128 };

export interface ReadParts {
  readonly tables: Tables;
  readonly reader: PackReader;
  /** Throws if the store is being closed. */
  readonly checkGoesOn: () => void;
  readonly take?: TakeCell | undefined;
}

/**
 * Lets others run each 256 KiB, 128 cells, or 10 ms.
 * @returns the cells in request order; `undefined` for those the store does not have
 * @throws RangeError for what is no hash, STORE_DAMAGED, STORE_UNAVAILABLE
 */
export async function readCells(hashes: readonly Uint8Array[], parts: ReadParts): Promise<(Uint8Array | undefined)[]> {
  hashes.forEach(checkHash);
  try {
    return await find(hashes, parts);
  } catch (error) {
    if (codeOf(error) !== "ENOENT") throw error;
  }
  // A collection copied the pack after its place was looked up.
  parts.checkGoesOn();
  parts.tables.env.resetReadTxn();
  return find(hashes, parts).catch((error: unknown) => {
    throw codeOf(error) === "ENOENT" ? storeDamaged("a pack is missing") : error;
  });
}

async function find(hashes: readonly Uint8Array[], parts: ReadParts): Promise<(Uint8Array | undefined)[]> {
  const { cells, chunks } = parts.tables;
  const found: (Uint8Array | undefined)[] = [];
  const turn = createTurn(PER_TURN);
  const wanted: Wanted[] = [];
  // Neighbours are mostly of one kind, and each look into a table costs about as much as a third of the hash.
  let isChunkLikely = false;
  for (const hash of hashes) {
    const at = found.length;
    const key = asBuffer(hash);
    const likely: Buffer | undefined = isChunkLikely ? chunks.get(key) : undefined;
    const row: Buffer | undefined = likely === undefined ? cells.get(key) : undefined;
    const place: Buffer | undefined = row === undefined && !isChunkLikely ? chunks.get(key) : likely;
    isChunkLikely = place !== undefined;
    found.push(row && verifyCell(unstamped(row), hash));
    if (place !== undefined) wanted.push(wantedAt(placeOf(place), at, hash));
    const waiting = turn(row?.length)?.then(parts.checkGoesOn);
    if (waiting !== undefined) await waiting;
  }
  const { reader, take } = parts;
  for (const [{ at, hash }, bytes] of reader.read(wanted, take !== undefined)) {
    const cell = verifyCell(bytes, hash);
    if (take === undefined) found[at] = cell;
    else take(at, cell);
    const waiting = turn(bytes.length)?.then(parts.checkGoesOn);
    if (waiting !== undefined) await waiting;
  }
  return found;
}

interface Wanted extends Place {
  readonly at: number;
  readonly hash: Uint8Array;
}

const wantedAt = ({ pack, offset, length }: Place, at: number, hash: Uint8Array): Wanted => ({
  pack,
  offset,
  length,
  at,
  hash,
});

/** @throws STORE_DAMAGED */
function verifyCell(bytes: Uint8Array, hash: Uint8Array): Uint8Array {
  if (!isHashOf(hash, bytes)) throw storeDamaged("a cell is not what was stored");
  return bytes;
}

export const packFile = (folder: string, pack: number): string =>
  join(folder, "packs", `${pack.toString(16).padStart(8, "0")}.pack`);

/** Maximum packs kept open. */
const MAX_OPEN = 32;
/** Maximum bytes of one read: 64 chunks. Places in one pack that are closer together than the gap are read at once. */
const MAX_SPARE = 4;
const RUN_LIMITS = { maxBytes: 64 * 4160, maxGapBytes: 16_384 };

/**
 * Reads places in packs and keeps recently used packs open. Reads run on the calling thread, as LMDB's do: the store is
 * on a local disk, and the thread pool takes longer to answer than the disk cache takes to give a piece.
 */
export class PackReader {
  readonly #folder: string;
  /** Descriptors by pack, the least recently used first. */
  readonly #open = new Map<number, number>();
  readonly #spare: Buffer[] = [];

  constructor(folder: string) {
    this.#folder = folder;
  }

  /**
   * Every place with its bytes, in the order of the disk. A piece of a pack is read when its first place is asked for.
   *
   * @param isPassing each piece may overwrite the one before: new memory for all would be garbage of the size of a file
   * @throws ENOENT if a pack is gone, STORE_DAMAGED if it is too short
   */
  *read<P extends Place>(places: readonly P[], isPassing = false): Generator<readonly [place: P, bytes: Buffer]> {
    const sorted = [...places].sort((one, other) => one.pack - other.pack || one.offset - other.offset);
    const own = isPassing ? (this.#spare.pop() ?? Buffer.allocUnsafeSlow(RUN_LIMITS.maxBytes)) : undefined;
    try {
      for (const run of runsOf(sorted, RUN_LIMITS)) {
        const [first, last] = [run[0], run.at(-1)];
        if (first === undefined || last === undefined) continue;
        const { pack, offset } = first;
        const length = last.offset + last.length - offset;
        const piece = own?.subarray(0, length) ?? Buffer.allocUnsafeSlow(length);
        if (readSync(this.#descriptorOf(pack), piece, 0, length, offset) !== length)
          throw storeDamaged("a pack is too short");
        for (const place of run) {
          const at = place.offset - offset;
          yield [place, piece.subarray(at, at + place.length)];
        }
      }
    } finally {
      if (own !== undefined && this.#spare.length < MAX_SPARE) this.#spare.push(own);
    }
  }

  #descriptorOf(pack: number): number {
    const fd = this.#open.get(pack) ?? openSync(packFile(this.#folder, pack), "r");
    this.#open.delete(pack);
    this.#open.set(pack, fd);
    const [oldest] = this.#open.keys();
    if (this.#open.size > MAX_OPEN && oldest !== undefined) this.drop(oldest);
    return fd;
  }

  drop(pack: number): void {
    const fd = this.#open.get(pack);
    this.#open.delete(pack);
    if (fd !== undefined) closeSync(fd);
  }

  close(): void {
    for (const pack of [...this.#open.keys()]) this.drop(pack);
  }
}
