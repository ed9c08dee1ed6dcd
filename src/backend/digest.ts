// SHA-256 of content, in the thread pool where that pays off.

import { hash, webcrypto } from "node:crypto";
import type { Sha256 } from "../core/etag.js";
import type { Awaitable } from "../core/io.js";

/** Hashing fewer bytes than this takes less time than handing them to the thread pool. */
const LARGE_BYTES = 262_144;

/**
 * Hashes bytes: synchronously, or for large content in the thread pool, concurrently with the write. The bytes must not
 * change meanwhile.
 */
export function sha256Of(bytes: Uint8Array): Awaitable<Sha256> {
  return bytes.length <= LARGE_BYTES ? hash("sha256", bytes, "hex") : hashInPool(bytes);
}

function hashInPool(bytes: Uint8Array): Promise<Sha256> {
  const digest = webcrypto.subtle.digest("SHA-256", bytes).then((sum) => Buffer.from(sum).toString("hex"));
  // If the write fails first, nobody awaits the digest.
  digest.catch(() => {});
  return digest;
}
