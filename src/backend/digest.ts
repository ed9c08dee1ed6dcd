import { hash, webcrypto } from "node:crypto";
import type { Sha256 } from "../core/etag.js";
import type { Awaitable } from "../core/io.js";

/** Hashing less takes less time than handing it over. */
const LARGE_BYTES = 262_144;

/** The hash of bytes: at once, or in the thread pool for many, while they are written. They must not change meanwhile. */
export function sha256Of(bytes: Uint8Array): Awaitable<Sha256> {
  return bytes.length <= LARGE_BYTES ? hash("sha256", bytes, "hex") : inPool(bytes);
}

function inPool(bytes: Uint8Array): Promise<Sha256> {
  const digest = webcrypto.subtle.digest("SHA-256", bytes).then((sum) => Buffer.from(sum).toString("hex"));
  // Nobody waits for it when the write has failed before.
  digest.catch(() => {});
  return digest;
}

/** The same where nothing may happen meanwhile. */
export const sha256Now = (bytes: Uint8Array): Sha256 => hash("sha256", bytes, "hex");
