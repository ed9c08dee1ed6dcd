// Entries of a directory, as the kernel and as Node return them.

import type { Dirent } from "node:fs";
import type { EntryType } from "../../core/ports/backend.js";

export interface DirectoryEntry {
  /** latin1, one character per byte, since names need not be UTF-8. */
  readonly name: string;
  /** The name, if it is ASCII and known to be: then it is no other as text. */
  readonly raw?: string;
  /** See `Name`. */
  readonly isUsual?: boolean;
  /** `undefined` where the file system does not report it. */
  readonly type: EntryType | undefined;
}

/** Offsets in `struct linux_dirent64`: length of the record (16 bits), type (8 bits), name (ends with NUL). */
const LENGTH_AT = 16;
const TYPE_AT = 18;
const NAME_AT = 19;
const NUL = 0;
const DOT = 46;
/** By byte: 0 in usual names, 1 elsewhere in ASCII, 2 beyond it. */
const KINDS = Uint8Array.from({ length: 256 }, (_, byte) =>
  byte > 127 ? 2 : /[ -~]/.test(String.fromCharCode(byte)) && !/[A-Z:\\]/.test(String.fromCharCode(byte)) ? 0 : 1,
);
const UNUSUAL = 1;

/** By the `DT_` constants: FIFO 1, CHR 2, DIR 4, BLK 6, REG 8, LNK 10, SOCK 12; anything else is not reported. */
const TYPES: readonly (EntryType | undefined)[] = [
  ...[undefined, "other", "other", undefined, "directory", undefined, "other", undefined, "file", undefined],
  ...["symlink", undefined, "other"],
] as (EntryType | undefined)[];

/**
 * The entries that `getdents64` put into a buffer, without `.` and `..`.
 * @param asParts names are parts of one text: made in half of the time, but a native call takes longer to read them
 */
export function parseEntries(buffer: Buffer, end: number, asParts: boolean): DirectoryEntry[] {
  const found: DirectoryEntry[] = [];
  const text = asParts ? buffer.toString("latin1", 0, end) : "";
  let length = 0;
  for (let at = 0; at < end; at += length) {
    length = (buffer[at + LENGTH_AT] ?? 0) | ((buffer[at + LENGTH_AT + 1] ?? 0) << 8);
    if (length <= NAME_AT || at + length > end) break;
    const start = at + NAME_AT;
    let last = start;
    let kind = 0;
    for (let byte = buffer[last]; last < at + length && byte !== undefined && byte !== NUL; byte = buffer[++last]) {
      kind |= KINDS[byte] ?? 0;
    }
    const isDots = buffer[start] === DOT && (last - start === 1 || (last - start === 2 && buffer[start + 1] === DOT));
    if (isDots) continue;
    const name = asParts ? text.slice(start, last) : buffer.toString("latin1", start, last);
    const type = TYPES[buffer[at + TYPE_AT] ?? 0];
    found.push(kind <= UNUSUAL ? { name, raw: name, type, isUsual: kind < UNUSUAL } : { name, type });
  }
  return found;
}

export const fromDirent = (entry: Dirent): DirectoryEntry => ({ name: entry.name, type: typeOf(entry) });

function typeOf(entry: Dirent): EntryType | undefined {
  if (entry.isFile()) return "file";
  if (entry.isDirectory()) return "directory";
  if (entry.isSymbolicLink()) return "symlink";
  if (entry.isFIFO() || entry.isSocket() || entry.isBlockDevice() || entry.isCharacterDevice()) return "other";
  return undefined;
}
