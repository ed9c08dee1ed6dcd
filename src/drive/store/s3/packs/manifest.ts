// Manifests: lists of the packs that hold a root's cells.

import { createHash, randomBytes } from "node:crypto";
import { storeDamaged } from "../../store-error.js";
import { bloomBytes } from "./bloom.js";

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
