// Zips written by hand, so that each field can lie.

import { crc32, deflateRawSync } from "node:zlib";

export interface ZipEntry {
  readonly name: string | Buffer;
  readonly content?: string | Buffer;
  /** Default: 8, deflate. */
  readonly method?: number;
  /** Bytes as they stand in the archive. Default: the content, packed by the method. */
  readonly packed?: Buffer;
  readonly flags?: number;
  /** What the directory says in place of the truth. */
  readonly size?: number;
  readonly compressedSize?: number;
  readonly crc?: number;
  readonly offset?: number;
  /** Unix mode with its type; 0: made on MS-DOS. */
  readonly mode?: number;
  readonly extra?: Buffer;
}

export interface ZipOptions {
  readonly comment?: Buffer;
  /** Default: as many as there are. */
  readonly count?: number;
  readonly zip64?: boolean;
  /** Bytes before the directory that belong to no entry. */
  readonly gap?: Buffer;
}

const UTF8_NAMES = 0x800;
/** 2001-02-03 04:05:06. */
const TIME = (4 << 11) | (5 << 5) | 3;
const DATE = (21 << 9) | (2 << 5) | 3;
export const MODIFIED = Date.UTC(2001, 1, 3, 4, 5, 6);

export function zipOf(entries: readonly ZipEntry[], { comment = Buffer.alloc(0), count, zip64, gap }: ZipOptions = {}) {
  const parts: Buffer[] = [];
  const directory: Buffer[] = [];
  let at = 0;
  for (const entry of entries) {
    const { method = 8, flags = UTF8_NAMES, mode = 0o100644, extra = Buffer.alloc(0) } = entry;
    const name = Buffer.from(entry.name);
    const content = Buffer.from(entry.content ?? "");
    const packed = entry.packed ?? (method === 8 ? deflateRawSync(content) : content);
    const facts = Buffer.alloc(26);
    facts.writeUInt16LE(20, 0);
    facts.writeUInt16LE(flags, 2);
    facts.writeUInt16LE(method, 4);
    facts.writeUInt16LE(TIME, 6);
    facts.writeUInt16LE(DATE, 8);
    facts.writeUInt32LE(entry.crc ?? crc32(content), 10);
    facts.writeUInt32LE(entry.compressedSize ?? packed.length, 14);
    facts.writeUInt32LE(entry.size ?? content.length, 18);
    facts.writeUInt16LE(name.length, 22);
    const local = Buffer.concat([Buffer.from("PK\x03\x04"), facts, name, packed]);
    facts.writeUInt16LE(extra.length, 24);
    const rest = Buffer.alloc(14);
    rest.writeUInt32LE((mode << 16) >>> 0, 6);
    rest.writeUInt32LE(entry.offset ?? at, 10);
    const by = Buffer.from([20, mode === 0 ? 0 : 3]);
    directory.push(Buffer.concat([Buffer.from("PK\x01\x02"), by, facts, rest, name, extra]));
    parts.push(local);
    at += local.length;
  }
  if (gap !== undefined) parts.push(gap);
  at += gap?.length ?? 0;
  const central = Buffer.concat(directory);
  const end = Buffer.alloc(22);
  end.write("PK\x05\x06", "latin1");
  const many = count ?? entries.length;
  const isLong = zip64 === true;
  end.writeUInt16LE(isLong ? 0xffff : many, 8);
  end.writeUInt16LE(isLong ? 0xffff : many, 10);
  end.writeUInt32LE(isLong ? 0xffffffff : central.length, 12);
  end.writeUInt32LE(isLong ? 0xffffffff : at, 16);
  end.writeUInt16LE(comment.length, 20);
  const long = isLong ? [longEnd(many, central.length, at)] : [];
  return Buffer.concat([...parts, central, ...long, end, comment]);
}

/** An entry whose sizes and place stand in the field of zip64, as far as they are given. */
export function longEntry(
  entry: ZipEntry,
  { size, compressedSize, offset }: { size?: bigint; compressedSize?: bigint; offset?: bigint },
): ZipEntry {
  const fields = [size, compressedSize, offset].filter((field) => field !== undefined);
  const extra = Buffer.alloc(4 + 8 * fields.length);
  extra.writeUInt16LE(0x0001, 0);
  extra.writeUInt16LE(8 * fields.length, 2);
  for (const [index, field] of fields.entries()) extra.writeBigUInt64LE(field, 4 + 8 * index);
  return {
    ...{ ...entry, extra },
    ...(size === undefined ? {} : { size: 0xffffffff }),
    ...(compressedSize === undefined ? {} : { compressedSize: 0xffffffff }),
    ...(offset === undefined ? {} : { offset: 0xffffffff }),
  };
}

/** The end of a directory as zip64 has it, and the record that finds it. */
function longEnd(count: number, length: number, offset: number): Buffer {
  const end = Buffer.alloc(56);
  end.write("PK\x06\x06", "latin1");
  end.writeBigUInt64LE(44n, 4);
  end.writeBigUInt64LE(BigInt(count), 24);
  end.writeBigUInt64LE(BigInt(count), 32);
  end.writeBigUInt64LE(BigInt(length), 40);
  end.writeBigUInt64LE(BigInt(offset), 48);
  const finder = Buffer.alloc(20);
  finder.write("PK\x06\x07", "latin1");
  finder.writeBigUInt64LE(BigInt(offset + length), 8);
  finder.writeUInt32LE(1, 16);
  return Buffer.concat([end, finder]);
}
