// Format of root objects.

import { createHash } from "node:crypto";
import { type Reader, readerOf, take, takeVlq } from "../../../cad3/encoding/reader.js";
import { sha3, vlqLength, writeVlq } from "../../../cad3/ref.js";
import { MAX_CELL_BYTES, storeDamaged } from "../../checks.js";
import { type HashText, isLogCell, textOfHash } from "../../mark.js";

/** Content of the object that is an owner's root. */
export interface RootObject {
  /** Encoding of Signed(drives). */
  readonly bytes: Uint8Array;
  /** Id of the manifest that lists the packs of its cells, as hex digits. */
  readonly manifest: string;
  /** By store id, the number of the last successful put of each store; newest last. */
  readonly puts: ReadonlyMap<string, number>;
  /** Roots of single venues that an earlier version included in it, by {@link singleRootId}. */
  readonly merged: ReadonlySet<string>;
  /** Cells that are in no pack yet. */
  readonly carried: ReadonlyMap<HashText, Uint8Array>;
  /** Encoding of the top cell of the owner's log. */
  readonly log?: Uint8Array | undefined;
}

/** Name of the root that all venues share. */
export const SHARED_NAME = "0".repeat(32);
/** @param name of a single venue, in buckets of earlier versions */
export const rootKey = (owner: string, name = SHARED_NAME): string => `roots/${owner}/${name}`;

const HEADER = Buffer.from("VFRT\x02", "latin1");
/** Roots of single venues, which this version does not write. */
const SINGLE_HEADER = Buffer.from("VFRT\x01", "latin1");
const MANIFEST_BYTES = 32;
const ID_BYTES = 16;
/** Maximum stores whose puts a root records. */
export const MAX_PUTS = 64;
/** Maximum bytes of cells in a root object; larger amounts go to a pack. */
export const MAX_CARRIED_BYTES = 65_536;
/** Exceeds every root object that this version writes. */
export const MAX_ROOT_OBJECT_BYTES = 4 * MAX_CARRIED_BYTES;

/**
 * Format: `VFRT`, version, length and bytes of the root, hash of the manifest, a zero (a time in earlier versions), puts and
 * merged roots, each list with its count; then each carried cell with its length. The top cell of the log is among the
 * carried ones, so that software which knows no logs carries it on; {@link isLogCell} tells it from others.
 */
export function encodeRootObject({ bytes, manifest, puts, merged, carried, log }: RootObject): Buffer {
  const parts: Uint8Array[] = [HEADER, ...lengthPrefixed(bytes), Buffer.from(manifest, "hex"), countBytes(0)];
  parts.push(countBytes(puts.size));
  for (const [id, number] of puts) parts.push(Buffer.from(id, "hex"), countBytes(number));
  parts.push(countBytes(merged.size));
  for (const id of merged) parts.push(Buffer.from(id, "hex"));
  for (const cell of carried.values()) parts.push(...lengthPrefixed(cell));
  if (log !== undefined) parts.push(...lengthPrefixed(log));
  return Buffer.concat(parts);
}

const lengthPrefixed = (bytes: Uint8Array): Uint8Array[] => [countBytes(bytes.length), bytes];

function countBytes(count: number): Uint8Array {
  const bytes = new Uint8Array(vlqLength(count));
  writeVlq(bytes, 0, count);
  return bytes;
}

/** The root's signature is not verified. @throws STORE_DAMAGED */
export function parseRootObject(object: Buffer, header = HEADER): RootObject {
  if (!object.subarray(0, header.length).equals(header)) throw storeDamaged("a root has no beginning");
  try {
    const reader = readerOf(object);
    take(reader, header.length);
    const next = (): Uint8Array => {
      const length = takeVlq(reader);
      if (length === 0 || length > MAX_CELL_BYTES) throw storeDamaged("a root holds what is no cell");
      return take(reader, length);
    };
    const bytes = next();
    const manifest = Buffer.from(take(reader, MANIFEST_BYTES)).toString("hex");
    const { puts, merged } = takeHistory(reader, header === HEADER);
    const carried = new Map<HashText, Uint8Array>();
    let log: Uint8Array | undefined;
    while (reader.at < reader.end) {
      const cell = next();
      if (isLogCell(cell)) {
        log = cell;
        continue;
      }
      // Keyed by its own hash, so that no cell can be passed off under another hash.
      carried.set(textOfHash(sha3(cell)), cell);
    }
    return { bytes, manifest, puts, merged, carried, log };
  } catch {
    throw storeDamaged("a root is cut off");
  }
}

function takeHistory(reader: Reader, isThere: boolean): Pick<RootObject, "puts" | "merged"> {
  const [puts, merged] = [new Map<string, number>(), new Set<string>()];
  if (!isThere) return { puts, merged };
  const id = (): string => Buffer.from(take(reader, ID_BYTES)).toString("hex");
  takeVlq(reader);
  for (let left = takeVlq(reader); left > 0; left -= 1) puts.set(id(), takeVlq(reader));
  for (let left = takeVlq(reader); left > 0; left -= 1) merged.add(id());
  return { puts, merged };
}

/** Depends only on content, so that a root whose cells were merely relocated still counts as the expected one. */
export function versionOf({ bytes, log }: Pick<RootObject, "bytes" | "log">): string {
  const hash = createHash("sha256").update(bytes);
  return (log === undefined ? hash : hash.update(log)).digest("hex");
}

/** By what an owner's root names the root of a single venue. @throws STORE_DAMAGED */
export function singleRootId(venue: string, object: Buffer): string {
  const version = versionOf(parseRootObject(object, SINGLE_HEADER));
  return createHash("sha256").update(`${venue} ${version}`).digest().toString("hex", 0, ID_BYTES);
}

export const carriedBytes = (carried: ReadonlyMap<HashText, Uint8Array>): number => {
  let bytes = 0;
  for (const cell of carried.values()) bytes += cell.length;
  return bytes;
};
