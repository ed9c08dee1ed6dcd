// Manifests: lists of the packs that hold a root's cells.

import { createHash, randomBytes } from "node:crypto";
import { storeDamaged } from "../../checks.js";

/** `chunk`: only parts of files, which have no branches; `tree`: everything else; `mixed`: both, of a small change. */
export type PackKind = "tree" | "chunk" | "mixed";

/** A pack as described by a manifest. */
export interface PackInfo {
  /** SHA-256 of header, cells and footer, as hex digits. */
  readonly id: string;
  readonly kind: PackKind;
  readonly count: number;
  /** Size of the whole object in bytes. */
  readonly size: number;
  readonly filter: Uint8Array;
}

const HEADER = Buffer.from("VFMF\x02\0\0\0", "latin1");
const SALT_BYTES = 16;
const KINDS: readonly PackKind[] = ["tree", "chunk", "mixed"];
const ENTRY_HEAD_BYTES = 32 + 1 + 4 + 6;
export const MAX_MANIFEST_BYTES = 64 << 20;

/**
 * Format: `VFMF`, version, a salt that makes it unique even if another lists the same packs, then for each pack: id, kind,
 * count, size, Bloom filter of 10 bits per cell.
 */
export function encodeManifest(packs: readonly PackInfo[]): Buffer {
  const sorted = [...packs].sort((one, other) => (one.id < other.id ? -1 : 1));
  const parts = sorted.flatMap(({ id, kind, count, size, filter }) => {
    const head = Buffer.alloc(ENTRY_HEAD_BYTES);
    head.write(id, "hex");
    head[32] = KINDS.indexOf(kind);
    head.writeUInt32BE(count, 33);
    head.writeUIntBE(size, 37, 6);
    return [head, filter];
  });
  return Buffer.concat([HEADER, randomBytes(SALT_BYTES), ...parts]);
}

/** @throws STORE_DAMAGED */
export function parseManifest(bytes: Buffer): PackInfo[] {
  if (!bytes.subarray(0, HEADER.length).equals(HEADER)) throw storeDamaged("a manifest has no beginning");
  const packs: PackInfo[] = [];
  for (let at = HEADER.length + SALT_BYTES; at < bytes.length; ) {
    if (at + ENTRY_HEAD_BYTES > bytes.length) throw storeDamaged("a manifest is cut off");
    const kind = KINDS[bytes[at + 32] ?? KINDS.length];
    const [count, size] = [bytes.readUInt32BE(at + 33), bytes.readUIntBE(at + 37, 6)];
    const start = at + ENTRY_HEAD_BYTES;
    const end = start + bloomBytes(count);
    if (kind === undefined || end > bytes.length) throw storeDamaged("a manifest is cut off");
    packs.push({ id: bytes.toString("hex", at, at + 32), kind, count, size, filter: bytes.subarray(start, end) });
    at = end;
  }
  return packs;
}

export const manifestId = (bytes: Uint8Array): string => createHash("sha256").update(bytes).digest("hex");

const BITS_PER_CELL = 10;
const PROBES = 7;

const bloomBytes = (count: number): number => Math.ceil((Math.max(1, count) * BITS_PER_CELL) / 8);

/** A Bloom filter of some hashes: no false negatives, about 1 % false positives. */
export function bloomOf(hashes: Iterable<Uint8Array>, count: number): Buffer {
  const filter = Buffer.alloc(bloomBytes(count));
  const bits = filter.length * 8;
  for (const hash of hashes) {
    const [first, step] = [wordOf(hash, 0), wordOf(hash, 4) | 1];
    for (let probe = 0; probe < PROBES; probe += 1) {
      const bit = (first + probe * (step >>> 0)) % bits;
      filter[bit >>> 3] = (filter[bit >>> 3] ?? 0) | (1 << (bit & 7));
    }
  }
  return filter;
}

export function mayHold(filter: Uint8Array, hash: Uint8Array): boolean {
  const bits = filter.length * 8;
  const [first, step] = [wordOf(hash, 0), (wordOf(hash, 4) | 1) >>> 0];
  for (let probe = 0; probe < PROBES; probe += 1) {
    const bit = (first + probe * step) % bits;
    if (((filter[bit >>> 3] ?? 0) & (1 << (bit & 7))) === 0) return false;
  }
  return true;
}

/** Hashes are uniformly random, so their own bytes serve as hash functions. */
const wordOf = (hash: Uint8Array, at: number): number =>
  (((hash[at] ?? 0) << 24) | ((hash[at + 1] ?? 0) << 16) | ((hash[at + 2] ?? 0) << 8) | (hash[at + 3] ?? 0)) >>> 0;
