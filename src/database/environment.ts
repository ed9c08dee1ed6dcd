// Opens environments of LMDB. It ends the process where their files are not what it expects, or cannot get longer: it maps
// lock files that were only lengthened, and an opening or a write that fails can overwrite memory of its own. So its files
// are whole before it sees them.

import { randomUUID } from "node:crypto";
import { linkSync, readFileSync, renameSync, rmSync, type Stats, statSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { open, type RootDatabase } from "lmdb";
import { attempt } from "../core/io.js";
import { codeOf } from "../core/unknown.js";

/** Bytes of a page of a new database. */
export const PAGE_BYTES = 4096;
const MODE = 0o600;
/** All who open a database tell the same, so that its lock file has room for it. */
const READERS = 512;
/** Bytes of one reader in a lock file, and at most of the header before the readers. */
const READER_BYTES = 64;
const LOCK_HEAD_BYTES = 1024;

export interface EnvironmentOptions {
  /** A folder, or a file beside which the lock file lies. */
  readonly path: string;
  readonly isFile?: boolean;
  readonly maxTables: number;
  /** Read transactions at once, of all processes. */
  readonly maxReaders?: number;
  readonly flush: boolean;
  readonly readOnly?: boolean;
}

/** The file of a database in its folder. */
export const dataFile = (folder: string): string => join(folder, "data.mdb");

/**
 * The caller has checked the file of the database, if it holds something, and sees to it that nobody else opens it
 * meanwhile.
 * @throws the system's error
 */
export function openEnvironment(options: EnvironmentOptions): RootDatabase<Buffer, Buffer> {
  const { path, isFile = false, maxTables, maxReaders = READERS, flush, readOnly = false } = options;
  makeWhole(isFile ? `${path}-lock` : join(path, "lock.mdb"), READER_BYTES * maxReaders + LOCK_HEAD_BYTES);
  const file = isFile ? path : dataFile(path);
  if ((fileAt(file)?.size ?? 0) === 0 && !readOnly) replace(file, emptyDatabase());
  return open<Buffer, Buffer>({
    ...{ encoding: "binary", keyEncoding: "binary", path, noSubdir: isFile, maxReaders, readOnly },
    ...{ maxDbs: maxTables, noSync: !flush, overlappingSync: false, permissionsMode: MODE },
  });
}

/** Sees to it that a file is a database without anything in it. Processes that have it open go on with what it was. */
export function makeEmpty(file: string): void {
  const empty = emptyDatabase();
  const isEmpty = fileAt(file)?.size === empty.length && attempt(() => readFileSync(file))?.equals(empty) === true;
  if (!isEmpty) replace(file, empty);
}

/** Makes a lock file if it is missing. A file with holes stays as it is, since others may use it: there must be room. */
function makeWhole(file: string, bytes: number): void {
  const found = fileAt(file);
  if (found !== undefined && found.size > 0 && found.blocks * 512 >= found.size) return;
  withNew(file, Buffer.alloc(bytes), (made) => {
    try {
      linkSync(made, file);
    } catch (error) {
      // Another process was first; or the file system has no links, and LMDB makes the file where there was room.
      if (codeOf(error) === "ENOENT") throw error;
    }
  });
}

const replace = (file: string, content: Buffer): void => withNew(file, content, (made) => renameSync(made, file));

function withNew(file: string, content: Buffer, use: (made: string) => void): void {
  const made = `${file}.${randomUUID()}.new`;
  try {
    writeFileSync(made, content, { mode: MODE, flag: "wx" });
    use(made);
  } finally {
    rmSync(made, { force: true });
  }
}

/** @throws Error if something else is in its place */
function fileAt(file: string): Stats | undefined {
  const found = statSync(file, { throwIfNoEntry: false });
  if (found !== undefined && !found.isFile()) throw new Error("A file of the database is not a file");
  return found;
}

/** The file of a database without tables: two heads, neither with a page in use. */
function emptyDatabase(): Buffer {
  const bytes = Buffer.alloc(2 * PAGE_BYTES);
  for (const page of [0, 1]) {
    const head = bytes.subarray(page * PAGE_BYTES);
    head.writeBigUInt64LE(BigInt(page), 0);
    head.writeUInt16LE(8, 18);
    head.writeUInt32LE(0xbeefc0de, 24);
    head.writeUInt32LE(2, 28);
    head.writeBigUInt64LE(0x20000n, 40);
    head.writeUInt32LE(PAGE_BYTES, 48);
    head.writeUInt16LE(8, 52);
    for (const root of [88, 136]) head.writeBigUInt64LE(0xffff_ffff_ffff_ffffn, root);
    head.writeBigUInt64LE(1n, 144);
  }
  return bytes;
}
