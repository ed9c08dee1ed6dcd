// Stored form of a user's sealed key: length of the DID, DID, record.

import { storeDamaged } from "./checks.js";

const LENGTH_BYTES = 2;
/** Maximum keys per user; each venue the user came from may have added one. */
export const MAX_KEYS = 256;

export function keyRow(did: string, record: Uint8Array): Buffer {
  const name = Buffer.from(did);
  const length = Buffer.alloc(LENGTH_BYTES);
  length.writeUInt16BE(name.length);
  return Buffer.concat([length, name, record]);
}

/** @throws STORE_DAMAGED */
export function keyRowParts(row: Buffer): { readonly did: string; readonly bytes: Buffer } {
  const end = LENGTH_BYTES + (row.length < LENGTH_BYTES ? row.length : row.readUInt16BE());
  if (end > row.length) throw storeDamaged("a key is cut off");
  return { did: row.toString("utf8", LENGTH_BYTES, end), bytes: row.subarray(end) };
}
