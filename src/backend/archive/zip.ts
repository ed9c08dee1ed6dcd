// Zip archives: their directory, read by yauzl, and the contents of entries.

import { isUtf8 } from "node:buffer";
import { createInflateRaw, inflateRawSync } from "node:zlib";
import { type Entry, fromRandomAccessReaderPromise, getFileNameLowLevel, RandomAccessReader } from "yauzl";
import type { ArchiveEntry, Packed } from "../../core/call/archive.js";
import type { CallScope } from "../../core/call/scope.js";
import { isPending } from "../../core/io.js";
import type { EntryType } from "../../core/ports/walk.js";
import { ArchiveDirectory, MAX_DIRECTORY_BYTES, MAX_ENTRIES } from "./directory.js";
import { ArchiveFault, damaged, encrypted, tooLarge, unsupported } from "./fault.js";
import { type Bytes, PieceReader, piecesOf, readExactly, unpack } from "./sequence.js";

/** Entries between two looks at the clock. */
const STEPS_BETWEEN = 64;
const CENTRAL_HEADER = 0x02014b50;
const LOCAL_HEADER = 0x04034b50;
const UTF8_NAME = 0x800;
const LOCAL_HEADER_BYTES = 30;
/** Bytes that writers put behind the name of an entry. */
const EXTRA_BYTES = 64;
const LEAST_CHUNK_BYTES = 64;
const NOTHING = Buffer.alloc(0);
/** Content up to this size is inflated in place: less than a millisecond. */
const AT_ONCE_BYTES = 131_072;
const CHUNK_BYTES = 65_536;
/** Kinds of entries in the upper bits of a Unix mode. */
const UNIX_TYPES: Readonly<Record<number, EntryType>> = { 0: "file", 4: "directory", 8: "file", 10: "symlink" };
const MADE_ON_UNIX = 3;
const CANNOT_UNPACK = "the content of an entry cannot be unpacked";

/** The file as yauzl reads it. */
class DirectoryReader extends RandomAccessReader {
  readonly #file: Bytes;
  #spent = 0;

  constructor(file: Bytes) {
    super();
    this.#file = new PieceReader(file);
  }

  override read(
    into: Buffer,
    offset: number,
    length: number,
    position: number,
    done: (error: Error | null) => void,
  ): void {
    const take = (bytes: Buffer) => done(bytes.copy(into, offset) < length ? damaged("it is cut off") : null);
    this.#spent += length;
    if (this.#spent > MAX_DIRECTORY_BYTES) done(tooLarge(`${MAX_DIRECTORY_BYTES} bytes of directory`));
    else if (position + length > this.#file.size) done(damaged("it is cut off"));
    else {
      const bytes = this.#file.read(position, length);
      if (isPending(bytes)) bytes.then(take).catch(done);
      else take(bytes);
    }
  }
}

/** @throws ArchiveFault */
export async function readZip(file: Bytes, scope: CallScope): Promise<ArchiveDirectory> {
  const directory = new ArchiveDirectory();
  try {
    const zip = await fromRandomAccessReaderPromise(new DirectoryReader(file), file.size, {
      ...{ lazyEntries: true, autoClose: false, decodeStrings: false, validateEntrySizes: false },
    });
    if (zip.entryCount > MAX_ENTRIES) throw tooLarge(`${MAX_ENTRIES} entries`);
    let steps = 0;
    for await (const entry of zip.eachEntry()) {
      if (++steps % STEPS_BETWEEN === 0) await scope.pause();
      const name = nameOf(entry);
      directory.add(name, factsOf(entry, name));
    }
    await refuseMore(file, Number(zip.readEntryCursor));
    return directory;
  } catch (error) {
    throw isOwn(error) ? error : damaged("its directory cannot be read");
  }
}

/** Errors of ours pass yauzl as they are; its own say what stands in the archive. */
const isOwn = (error: unknown): boolean => error instanceof ArchiveFault || (error instanceof Error && "code" in error);

/** Other programs see entries beyond those that the archive counts. */
async function refuseMore(file: Bytes, end: number): Promise<void> {
  const next = await file.read(end, 4);
  if (next.length === 4 && next.readUInt32LE(0) === CENTRAL_HEADER) throw damaged("it has more entries than it counts");
}

/** Writers on Unix often leave out the flag for names in UTF-8, which no other encoding is likely to look like. */
function nameOf({ generalPurposeBitFlag, fileNameRaw, extraFields }: Entry): string {
  const flags = isUtf8(fileNameRaw) ? generalPurposeBitFlag | UTF8_NAME : generalPurposeBitFlag;
  return getFileNameLowLevel(flags, fileNameRaw, extraFields, false);
}

function factsOf(entry: Entry, name: string): Omit<ArchiveEntry, "path"> {
  const { compressedSize, uncompressedSize, externalFileAttributes, versionMadeBy } = entry;
  const mode = versionMadeBy >>> 8 === MADE_ON_UNIX ? externalFileAttributes >>> 16 : 0;
  const type = /[/\\]$/.test(name) ? "directory" : (UNIX_TYPES[mode >>> 12] ?? "other");
  const modified = entry.getLastModDate({ timezone: "UTC" }).getTime();
  return {
    ...{ type, compressedSize, size: type === "file" ? uncompressedSize : 0 },
    modified: Number.isFinite(modified) ? Math.round(modified) : 0,
    mode: mode === 0 ? undefined : mode & 0o777,
    packed: { offset: entry.relativeOffsetOfLocalHeader, method: methodOf(entry), crc32: entry.crc32 },
  };
}

function methodOf(entry: Entry): Packed["method"] {
  if (entry.isEncrypted()) return "encrypted";
  if (entry.compressionMethod === 0) return "store";
  return entry.compressionMethod === 8 ? "deflate" : `compression method ${entry.compressionMethod} is`;
}

/** The bytes of a file in a zip, from an offset that is 0 unless they are stored. @throws ArchiveFault */
export async function* zipContent(file: Bytes, entry: ArchiveEntry, from: number): AsyncGenerator<Buffer> {
  const { size, compressedSize, packed } = entry;
  const { method, offset } = packed;
  if (method === "encrypted") throw encrypted();
  if (method !== "store" && method !== "deflate") throw unsupported(method);
  const guessed = LOCAL_HEADER_BYTES + Buffer.byteLength(entry.path) + EXTRA_BYTES + compressedSize;
  // Most often all of a small entry is in the first read.
  const first = offset > file.size ? NOTHING : await file.read(offset, Math.min(guessed, AT_ONCE_BYTES));
  if (first.length < LOCAL_HEADER_BYTES || first.readUInt32LE(0) !== LOCAL_HEADER)
    throw damaged("an entry is not where its directory says");
  const head = LOCAL_HEADER_BYTES + first.readUInt16LE(26) + first.readUInt16LE(28);
  const start = offset + head;
  if (method === "store") {
    if (size !== compressedSize) throw damaged("an entry has two sizes");
    yield* piecesOf(file, start + from, start + size);
    return;
  }
  if (compressedSize === 0) return;
  if (Math.max(size, compressedSize) > AT_ONCE_BYTES) {
    const inflater = createInflateRaw({ chunkSize: CHUNK_BYTES });
    yield* unpack(piecesOf(file, start, start + compressedSize), inflater, CANNOT_UNPACK);
    return;
  }
  const isWhole = head + compressedSize <= first.length;
  const bytes = isWhole ? first.subarray(head, head + compressedSize) : await readExactly(file, start, compressedSize);
  yield inflateNow(bytes, size);
}

/** @param size that is expected: more is a fault */
function inflateNow(bytes: Buffer, size: number): Buffer {
  try {
    return inflateRawSync(bytes, { maxOutputLength: size + 1, chunkSize: Math.max(LEAST_CHUNK_BYTES, size + 1) });
  } catch {
    throw damaged(CANNOT_UNPACK);
  }
}
