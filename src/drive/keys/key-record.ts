// Stored form of an owner's sealed key.

import { adapterError } from "../../core/errors/errors.js";
import type { JsonObject } from "../../core/ports/adapter.js";
import { fieldsOf } from "../../core/unknown.js";
import type { KeyRecord } from "../store/cell-store.js";
import type { Sealed } from "./seal.js";

/** A sealed key as stored: JSON `{ v: 1, did, publicKey, createdAt, nonce, sealed }`, with byte fields in base64. */
export interface SealedKey extends Sealed {
  readonly did: string;
  /** 64 hex digits. */
  readonly publicKey: string;
  /** Milliseconds since the epoch. */
  readonly createdAt: number;
}

const VERSION = 1;

export function encodeRecord({ did, publicKey, createdAt, nonce, sealed }: SealedKey): Uint8Array {
  const record = { v: VERSION, did, publicKey, createdAt, nonce: toText(nonce), sealed: toText(sealed) };
  return Buffer.from(JSON.stringify(record), "utf8");
}

const toText = (bytes: Buffer): string => bytes.toString("base64");

/** @throws STORE_DAMAGED if it is not a record of this owner and key */
export function decodeRecord(did: string, { publicKey, bytes }: KeyRecord): SealedKey {
  const fields = parseFields(bytes);
  const { v, createdAt, nonce, sealed } = fields;
  const isOurs = v === VERSION && fields["did"] === did && fields["publicKey"] === publicKey;
  if (!isOurs || typeof createdAt !== "number" || typeof nonce !== "string" || typeof sealed !== "string") {
    throw adapterError("STORE_DAMAGED", "Drive store is damaged: the key of an owner cannot be read");
  }
  return { did, publicKey, createdAt, nonce: Buffer.from(nonce, "base64"), sealed: Buffer.from(sealed, "base64") };
}

function parseFields(bytes: Uint8Array): JsonObject {
  try {
    return fieldsOf(JSON.parse(Buffer.from(bytes.buffer, bytes.byteOffset, bytes.length).toString("utf8")));
  } catch {
    return {};
  }
}
