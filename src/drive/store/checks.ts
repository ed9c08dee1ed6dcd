// Checks and errors shared by all stores.

import { describeError } from "../../core/errors/describe-error.js";
import { adapterError, FileAdapterError } from "../../core/errors/errors.js";
import type { Log } from "../../core/ports/log.js";

/** Maximum length of an encoding in bytes. */
export const MAX_CELL_BYTES = 16383;
const HASH_BYTES = 32;
/** Maximum size of a key record, and of its DID, in bytes. */
const MAX_RECORD_BYTES = 65_536;
const MAX_DID_BYTES = 8192;

const HEX_KEY = /^[0-9a-f]{64}$/;

/** @throws RangeError for invalid arguments */
export function checkCell(hash: Uint8Array, bytes: Uint8Array): void {
  checkHash(hash);
  if (bytes.length === 0 || bytes.length > MAX_CELL_BYTES) throw new RangeError("Not the length of a cell");
}

export function checkHash(hash: Uint8Array): void {
  if (hash.length !== HASH_BYTES) throw new RangeError("Not a hash");
}

export function checkOwner(owner: string): void {
  if (!HEX_KEY.test(owner)) throw new RangeError("Not an account key");
}

export function checkRoot(bytes: Uint8Array): void {
  if (bytes.length === 0 || bytes.length > MAX_CELL_BYTES) throw new RangeError("Not the length of a root");
}

export function checkKeyRecord(did: string, publicKey: string, bytes: Uint8Array): void {
  if (!HEX_KEY.test(publicKey)) throw new RangeError("Not a public key");
  if (Buffer.byteLength(did) > MAX_DID_BYTES || bytes.length > MAX_RECORD_BYTES)
    throw new RangeError("A key record is too long");
}

/** @throws STORE_UNAVAILABLE if the store is closed */
export function checkOpen(isOpen: boolean): void {
  if (!isOpen) throw adapterError("STORE_UNAVAILABLE", CLOSED);
}

const CLOSED = "Store cannot be used: it is closed";
export const NEWEST_FORMAT = 2;

/** @param why reason for the operator; contains no paths, keys or hashes */
export const storeUnavailable = (why: string): FileAdapterError =>
  adapterError("STORE_UNAVAILABLE", `Store cannot be used: ${why}`);

/** @param what description of the damaged item */
export const storeDamaged = (what: string): FileAdapterError =>
  adapterError("STORE_DAMAGED", `Store is damaged: ${what}`);

/** Codes of a disk or a quota that is full; LMDB gives the number of the system's error. */
const FULL: ReadonlySet<string> = new Set(["ENOSPC", "EDQUOT", "28", "122"]);

const isFull = (error: unknown): boolean =>
  FULL.has(String(error instanceof Error && Reflect.get(error, "code"))) || /no space left/i.test(String(error));

/**
 * Failures of the store are logged with their reason; that it is closed is none.
 * @param isToldElsewhere its own errors are not logged, as of a store that is opened: whoever opens it tells them
 * @throws STORE_UNAVAILABLE or NO_SPACE instead of system or library errors
 */
export async function withStoreErrors<T>(
  log: Log,
  act: () => Promise<T>,
  { isToldElsewhere = false } = {},
): Promise<T> {
  try {
    return await act();
  } catch (error) {
    const isOurs = error instanceof FileAdapterError;
    const isKnown = isOurs && (isToldElsewhere || !error.code.startsWith("STORE_") || error.message === CLOSED);
    if (error instanceof RangeError || isKnown) throw error;
    const why = isOurs ? { reason: error.message } : { error: describeError(error) };
    log.error({ event: "drive.store", ...why }, "The drive store failed");
    if (isOurs) throw error;
    throw isFull(error)
      ? adapterError("NO_SPACE", "No space left for the drive store")
      : storeUnavailable("see the log");
  }
}
