// Etags and hashes of files for answers, from the version cache or computed.

import { createHash, hash } from "node:crypto";
import type { CallScope } from "../../core/call/scope.js";
import { etagOf, hashText, type Sha256 } from "../../core/etag.js";
import { type Io, isPending, runIo, wait } from "../../core/io.js";
import type { OpenFile, Stamp } from "../../core/ports/open-file.js";
import type { Call, FileCall } from "../../core/ports/operation.js";

/** `hash` is present only if the call's profile asks for details. */
interface Version {
  readonly etag?: string;
  readonly hash?: string;
}

/** Bytes hashed between two yields. */
const CHUNK = 262_144;

/** The SHA-256 of a whole content in memory, in hex. */
export const sha256Of = (whole: Buffer): Sha256 => hash("sha256", whole, "hex");

/** As {@link sha256Of}; lets other calls run where that takes long. */
export async function hashWhole(whole: Buffer, scope: CallScope): Promise<Sha256> {
  if (whole.length <= CHUNK) return sha256Of(whole);
  const digest = createHash("sha256");
  for (let at = 0; at < whole.length; at += CHUNK) {
    digest.update(whole.subarray(at, at + CHUNK));
    const pause = runIo(scope.breathe());
    if (isPending(pause)) await pause;
  }
  return digest.digest("hex");
}

/** Key of a file in the cache of recent edits, and in the turns of edits. */
export const placeKey = ({ root, path }: FileCall): string => `${root.name}/${path.text}`;

/**
 * The etag of a file for an answer: from the cache, or computed if the whole content is given; else nothing.
 * @param whole the content, if all of it was read
 */
export function etagFor(call: FileCall, stamp: Stamp | undefined, whole?: Buffer): Version {
  const known = call.versions.get(call.root.name, stamp);
  if (known !== undefined) return versionOf(known, call);
  if (whole === undefined) return {};
  const sha256 = call.versions.recent.hashOf(placeKey(call), whole) ?? sha256Of(whole);
  call.versions.put(call.root.name, stamp, sha256);
  return versionOf(sha256, call);
}

/** The etag (and with details the hash) fields of an answer. */
export const versionOf = (sha256: Sha256, { terms }: Pick<Call, "terms">): Version =>
  terms?.details === true ? { etag: etagOf(sha256), hash: hashText(sha256) } : { etag: etagOf(sha256) };

/** The hash of an open file, from the cache or by reading all of it. */
export function* hashOf(file: OpenFile, call: FileCall): Io<{ sha256: Sha256; size: number }> {
  const known = call.versions.get(call.root.name, file.stamp);
  if (known !== undefined) return { sha256: known, size: file.size };
  const digest = createHash("sha256");
  let size = 0;
  // One byte more than it has: so the first read finds the end of a small file.
  let into = Buffer.allocUnsafe(Math.min(CHUNK, file.size + 1));
  for (;;) {
    const bytes = yield* wait(file.read(size, into.length, into));
    digest.update(bytes);
    size += bytes.length;
    call.access.scope.report?.(size, Math.max(size, file.size));
    if (bytes.length < into.length) break;
    if (into.length < CHUNK) into = Buffer.allocUnsafe(CHUNK);
    yield* call.access.scope.breathe();
  }
  const sha256 = digest.digest("hex");
  call.versions.put(call.root.name, file.stamp, sha256);
  return { sha256, size };
}
