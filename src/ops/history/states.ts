// Compares states of entries, and finds what an undo has put back.

import { createHash } from "node:crypto";
import type { Sha256 } from "../../core/etag.js";
import type { EntryState } from "../../core/ports/changes/change.js";
import type { OpenFile } from "../../core/ports/open-file.js";

type State = EntryState | null | undefined;

const PIECE_BYTES = 262_144;

/** Whether two states are known to be of the same entry with the same content and mode. */
export function areSame(one: State, other: State): boolean {
  if (!one || !other) return !one && !other;
  if (one.mode !== undefined && other.mode !== undefined && one.mode !== other.mode) return false;
  if (one.version !== undefined && one.version === other.version) return true;
  return one.sha256 !== undefined && one.sha256 === other.sha256;
}

/** The hash of bytes `from` to `to` of an open file. */
export async function hashRange(file: OpenFile, from: number, to: number): Promise<Sha256> {
  const hash = createHash("sha256");
  const into = Buffer.allocUnsafe(Math.min(PIECE_BYTES, Math.max(0, to - from)));
  for (let at = from; at < to; ) {
    const bytes = await file.read(at, Math.min(into.length, to - at), into);
    if (bytes.length === 0) break;
    hash.update(bytes);
    at += bytes.length;
  }
  return hash.digest("hex");
}
