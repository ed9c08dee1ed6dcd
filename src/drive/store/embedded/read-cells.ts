// Reads and verifies cells of the embedded store.

import { yieldToLoop } from "../../../core/io.js";
import { codeOf } from "../../../core/unknown.js";
import { asBuffer, isHashOf } from "../../cad3/ref.js";
import { checkHash } from "../checks.js";
import type { ReadLease } from "../read-lease.js";
import { storeDamaged } from "../store-error.js";
import { type Place, placeOf, type Tables, unstamped } from "../tables.js";
import type { PackReader } from "./pack-reader.js";

/** Bytes and cells read and hashed between yields. Small cells cost their buffers and the collection of these. */
const BYTES_PER_TURN = 262_144;
const CELLS_PER_TURN = 128;
/** Most milliseconds between yields: while V8 marks a large heap, each buffer that is made can cost milliseconds. */
const MAX_MS_PER_TURN = 10;
/**
 * Chunks of a file lie in a row, as they were written, unless it was changed later or others were written meanwhile. So of so
 * many that are read under a lease, as content, only the first and the last are looked up: if these lie as far apart as in a row,
 * the others are taken from between them, and one whose hash does not match is looked up after all. Other reads look up each:
 * a check of a drive has to notice that the table lacks one.
 */
const ROW_CHUNKS = 64;

export interface ReadParts {
  readonly tables: Tables;
  readonly reader: PackReader;
  /** Throws if the store is being closed. */
  readonly checkGoesOn: () => void;
  readonly lease?: ReadLease | undefined;
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

/** @param rowChunks see {@link ROW_CHUNKS} */
async function find(
  hashes: readonly Uint8Array[],
  parts: ReadParts,
  rowChunks = parts.lease === undefined ? 1 : ROW_CHUNKS,
): Promise<(Uint8Array | undefined)[]> {
  const found: (Uint8Array | undefined)[] = hashes.map(() => undefined);
  const places = createPlaces(hashes, parts.tables, found);
  const turn = createByteTurn(parts);
  const wanted: Wanted[] = [];
  for (let at = 0; at < hashes.length; at += 1) {
    const place = places(at);
    const waiting = turn(found[at]?.length ?? 0);
    if (waiting !== undefined) await waiting;
    if (place === undefined) continue;
    const { pack, offset, length } = place;
    wanted.push({ pack, offset, length, at, isGuess: false });
    const last = Math.min(at + rowChunks, hashes.length) - 1;
    const end = last > at + 1 ? places(last) : undefined;
    if (end?.pack !== pack || end.offset !== offset + (last - at) * length) continue;
    for (let next = at + 1; next < last; next += 1)
      wanted.push({ pack, offset: offset + (next - at) * length, length, at: next, isGuess: true });
    wanted.push({ pack, offset: end.offset, length: end.length, at: last, isGuess: false });
    at = last;
  }
  const missed: number[] = [];
  for (const [{ at, isGuess }, bytes] of parts.reader.read(wanted, parts.lease)) {
    if (isHashOf(hashAt(hashes, at), bytes)) found[at] = bytes;
    else if (isGuess) missed.push(at);
    else throw notAsStored();
    const waiting = turn(bytes.length);
    if (waiting !== undefined) await waiting;
  }
  if (missed.length === 0) return found;
  const others = await find(
    missed.map((at) => hashAt(hashes, at)),
    parts,
    1,
  );
  for (const [place, at] of missed.entries()) found[at] = others[place];
  return found;
}

interface Wanted extends Place {
  readonly at: number;
  /** It was not looked up, so it may lie elsewhere. */
  readonly isGuess: boolean;
}

/** Where the chunk with a number lies; `undefined` if it is a cell of the table, which is found with that, or missing. */
type Places = (at: number) => Place | undefined;

/** Looks each up once; cells of the table twice if they are at the end of what is no row. */
function createPlaces(
  hashes: readonly Uint8Array[],
  { cells, chunks }: Tables,
  found: (Uint8Array | undefined)[],
): Places {
  const ahead = new Map<number, Place>();
  // Neighbours are mostly of one kind, and each look into a table costs about as much as a third of the hash.
  let isChunkLikely = false;
  const look = (at: number): Place | undefined => {
    const hash = hashAt(hashes, at);
    const key = asBuffer(hash);
    const likely: Buffer | undefined = isChunkLikely ? chunks.get(key) : undefined;
    const row: Buffer | undefined = likely === undefined ? cells.get(key) : undefined;
    const place: Buffer | undefined = row === undefined && !isChunkLikely ? chunks.get(key) : likely;
    isChunkLikely = place !== undefined;
    if (row !== undefined) found[at] = verifyCell(unstamped(row), hash);
    return place && placeOf(place);
  };
  return (at) => {
    const place = ahead.get(at) ?? look(at);
    if (place !== undefined) ahead.set(at, place);
    return place;
  };
}

/** Called with the bytes just processed; returns a promise when others should run. */
function createByteTurn({ checkGoesOn }: ReadParts): (bytes: number) => Promise<void> | undefined {
  let [done, cells, since] = [0, 0, performance.now()];
  const yieldToOthers = async (): Promise<void> => {
    await yieldToLoop();
    [done, cells, since] = [0, 0, performance.now()];
    checkGoesOn();
  };
  return (bytes) => {
    done += bytes;
    cells += 1;
    const isShort = done < BYTES_PER_TURN && cells < CELLS_PER_TURN && performance.now() - since < MAX_MS_PER_TURN;
    return isShort ? undefined : yieldToOthers();
  };
}

/** @throws STORE_DAMAGED */
function verifyCell(bytes: Uint8Array, hash: Uint8Array): Uint8Array {
  if (!isHashOf(hash, bytes)) throw notAsStored();
  return bytes;
}

const notAsStored = (): Error => storeDamaged("a cell is not what was stored");

function hashAt(hashes: readonly Uint8Array[], at: number): Uint8Array {
  const hash = hashes[at];
  if (hash === undefined) throw new RangeError("No such cell was asked for");
  return hash;
}
