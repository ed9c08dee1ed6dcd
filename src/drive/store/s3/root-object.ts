import { readerOf, take, takeVlq } from "../../reader.js";
import { sha3 } from "../../ref.js";
import { vlqLength, writeVlq } from "../../vlq.js";
import { MAX_CELL_BYTES } from "../checks.js";
import { type HashText, textOfHash } from "../mark.js";
import { storeDamaged } from "../store-error.js";

/** What an object below `roots/` holds. */
export interface RootObject {
  /** Encoding of Signed(drives). */
  readonly bytes: Uint8Array;
  /** Of the manifest that lists the packs of its cells, as hex digits. */
  readonly manifest: string;
  /** Cells that are in no pack yet. */
  readonly carried: ReadonlyMap<HashText, Uint8Array>;
}

const HEADER = Buffer.from("VFRT\x01", "latin1");
const MANIFEST_BYTES = 32;
/** Cells in a root object, in bytes; more go to a pack. */
export const MAX_CARRIED_BYTES = 65_536;
/** Twice as long as any that is written, by this version. */
export const MAX_ROOT_OBJECT_BYTES = 4 * MAX_CARRIED_BYTES;

/** `VFRT`, version, the root with its length, the hash of the manifest, then each carried cell with its length. */
export function encodeRootObject({ bytes, manifest, carried }: RootObject): Buffer {
  const parts: Uint8Array[] = [HEADER, ...framed(bytes), Buffer.from(manifest, "hex")];
  for (const cell of carried.values()) parts.push(...framed(cell));
  return Buffer.concat(parts);
}

function framed(bytes: Uint8Array): Uint8Array[] {
  const length = new Uint8Array(vlqLength(bytes.length));
  writeVlq(length, 0, bytes.length);
  return [length, bytes];
}

/** The signature of the root is not looked at. @throws STORE_DAMAGED */
export function parseRootObject(object: Buffer): RootObject {
  if (!object.subarray(0, HEADER.length).equals(HEADER)) throw storeDamaged("a root has no beginning");
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
    const carried = new Map<HashText, Uint8Array>();
    while (reader.at < reader.end) {
      const cell = next();
      // By its own hash: nothing can stand under another's.
      carried.set(textOfHash(sha3(cell)), cell);
    }
    return { bytes, manifest, carried };
  } catch {
    throw storeDamaged("a root is cut off");
  }
}

export const carriedBytes = (carried: ReadonlyMap<HashText, Uint8Array>): number => {
  let bytes = 0;
  for (const cell of carried.values()) bytes += cell.length;
  return bytes;
};
