// Format of root objects.

import { createHash } from "node:crypto";
import { type Reader, readerOf, take, takeVlq } from "../../../cad3/encoding/reader.js";
import { sha3 } from "../../../cad3/ref.js";
import { vlqLength, writeVlq } from "../../../cad3/vlq.js";
import { MAX_CELL_BYTES } from "../../checks.js";
import { isLogCell } from "../../log-cell.js";
import { type HashText, textOfHash } from "../../mark.js";
import { storeDamaged } from "../../store-error.js";

/** Content of an object below `roots/`. */
export interface RootObject {
  /** Encoding of Signed(drives). */
  readonly bytes: Uint8Array;
  /** Id of the manifest that lists the packs of its cells, as hex digits. */
  readonly manifest: string;
  /** Cells that are in no pack yet. */
  readonly carried: ReadonlyMap<HashText, Uint8Array>;
  /** Encoding of the top cell of the owner's log. */
  readonly log?: Uint8Array | undefined;
  /** Present in the root shared by all processes. */
  readonly head?: HeadPart | undefined;
}

/** History of a shared root. */
export interface HeadPart {
  /** By store id, the number of the last successful put of each store; newest last. */
  readonly puts: ReadonlyMap<string, number>;
  /** Roots of single writers included in it, by {@link mergedId}. */
  readonly merged: ReadonlySet<string>;
  /** When a writer was found to have put a root beside it, in ms since 1970; 0 for never. */
  readonly lateAt: number;
}

const HEADER = Buffer.from("VFRT\x01", "latin1");
/**
 * Software that reads only version 1 must not continue beside a shared root: it reports this object as damaged and
 * stops.
 */
const HEAD_HEADER = Buffer.from("VFRT\x02", "latin1");
const MANIFEST_BYTES = 32;
const ID_BYTES = 16;
/** Maximum stores whose puts a head records. */
export const MAX_PUTS = 64;
export const MAX_MERGED = 4096;
/** Maximum bytes of cells in a root object; larger amounts go to a pack. */
export const MAX_CARRIED_BYTES = 65_536;
/** Exceeds every root object that this version writes. */
export const MAX_ROOT_OBJECT_BYTES = 4 * MAX_CARRIED_BYTES;

/**
 * Format: `VFRT`, version, length and bytes of the root, hash of the manifest; in a head (version 2) `lateAt`, then
 * puts and merged roots, each list with its count; then each carried cell with its length. The top cell of the log is
 * among the carried ones, so that software which knows no logs carries it on; {@link isLogCell} tells it from others.
 */
export function encodeRootObject({ bytes, manifest, carried, log, head }: RootObject): Buffer {
  const header = head === undefined ? HEADER : HEAD_HEADER;
  const parts: Uint8Array[] = [header, ...lengthPrefixed(bytes), Buffer.from(manifest, "hex")];
  if (head !== undefined) parts.push(...headParts(head));
  for (const cell of carried.values()) parts.push(...lengthPrefixed(cell));
  if (log !== undefined) parts.push(...lengthPrefixed(log));
  return Buffer.concat(parts);
}

function headParts({ lateAt, puts, merged }: HeadPart): Uint8Array[] {
  const ids = Array.from(puts, ([id, number]) => [Buffer.from(id, "hex"), countBytes(number)]);
  const tags = Array.from(merged, (id) => Buffer.from(id, "hex"));
  return [countBytes(lateAt), countBytes(puts.size), ...ids.flat(), countBytes(merged.size), ...tags];
}

const lengthPrefixed = (bytes: Uint8Array): Uint8Array[] => [countBytes(bytes.length), bytes];

function countBytes(count: number): Uint8Array {
  const bytes = new Uint8Array(vlqLength(count));
  writeVlq(bytes, 0, count);
  return bytes;
}

/** The root's signature is not verified. @throws STORE_DAMAGED */
export function parseRootObject(object: Buffer): RootObject {
  const start = object.subarray(0, HEADER.length);
  const isHead = start.equals(HEAD_HEADER);
  if (!isHead && !start.equals(HEADER)) throw storeDamaged("a root has no beginning");
  try {
    const reader = readerOf(object);
    take(reader, HEADER.length);
    const next = (): Uint8Array => {
      const length = takeVlq(reader);
      if (length === 0 || length > MAX_CELL_BYTES) throw storeDamaged("a root holds what is no cell");
      return take(reader, length);
    };
    const bytes = next();
    const manifest = Buffer.from(take(reader, MANIFEST_BYTES)).toString("hex");
    const head = isHead ? takeHead(reader) : undefined;
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
    return { bytes, manifest, carried, log, head };
  } catch {
    throw storeDamaged("a root is cut off");
  }
}

function takeHead(reader: Reader): HeadPart {
  const id = (): string => Buffer.from(take(reader, ID_BYTES)).toString("hex");
  const lateAt = takeVlq(reader);
  const puts = new Map<string, number>();
  for (let left = takeVlq(reader); left > 0; left -= 1) puts.set(id(), takeVlq(reader));
  const merged = new Set<string>();
  for (let left = takeVlq(reader); left > 0; left -= 1) merged.add(id());
  return { lateAt, puts, merged };
}

/** Id of a single writer's root in a head. */
export const mergedId = ({ writer, version }: { readonly writer: string; readonly version: string }): string =>
  createHash("sha256").update(`${writer} ${version}`).digest().toString("hex", 0, ID_BYTES);

export const carriedBytes = (carried: ReadonlyMap<HashText, Uint8Array>): number => {
  let bytes = 0;
  for (const cell of carried.values()) bytes += cell.length;
  return bytes;
};
