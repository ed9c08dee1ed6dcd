// Tar archives, packed by gzip or not: their directory, read by modern-tar, and the contents of entries.

import { createGunzip } from "node:zlib";
import { createTarDecoder, type ParsedTarEntry } from "modern-tar";
import type { ArchiveEntry } from "../../core/call/archive.js";
import type { CallScope } from "../../core/call/scope.js";
import type { EntryType } from "../../core/ports/walk.js";
import { ArchiveDirectory, MAX_DIRECTORY_BYTES } from "./directory.js";
import { damaged, tooLarge, unsupported } from "./fault.js";
import { type Bytes, PieceReader, piecesOf, readExactly, unpack } from "./sequence.js";

/** Most bytes of a tar, unpacked, and the time that reading its directory may take. */
const MAX_TAR_BYTES = 268_435_456;
const MAX_MS = 10_000;
const BLOCK = 512;
const CHUNK_BYTES = 65_536;
const ZERO_BLOCK = Buffer.alloc(BLOCK);
const STEP_BYTES = 1_048_576;
const ZEROS = Buffer.alloc(STEP_BYTES);
/** A content up to this size is passed over together with the block behind it. */
const LITTLE_BYTES = 4096;
const TYPES: Readonly<Record<string, EntryType>> = {
  file: "file",
  directory: "directory",
  link: "symlink",
  symlink: "symlink",
};
/** Type flags of files: others that the decoder takes for one have contents of their own form. */
const FILE_FLAGS: ReadonlySet<number> = new Set([0, 0x30, 0x37]);
const TYPE_AT = 156;

/** Reads the headers; contents are passed over. @param unpacked its size may be Infinity @throws ArchiveFault */
export async function readTar(unpacked: Bytes, scope: CallScope): Promise<ArchiveDirectory> {
  if (unpacked.size > MAX_TAR_BYTES && Number.isFinite(unpacked.size)) throw tooLarge(`${MAX_TAR_BYTES} bytes`);
  const headers = new HeaderReader();
  try {
    return await readHeaders(new PieceReader(unpacked), headers, scope);
  } finally {
    headers.close();
  }
}

async function readHeaders(unpacked: Bytes, headers: HeaderReader, scope: CallScope): Promise<ArchiveDirectory> {
  const directory = new ArchiveDirectory();
  const isUnpacking = !Number.isFinite(unpacked.size);
  const late = performance.now() + MAX_MS;
  const requireTime = async () => {
    await scope.pause();
    if (performance.now() > late) throw tooLarge(`can be read in ${MAX_MS / 1000} s`);
  };
  let at = 0;
  let named = 0;
  /** Bytes of the content before the next header. */
  let passed = 0;
  for (let zeros = 0; zeros < 2; ) {
    await requireTime();
    const block = await readExactly(unpacked, at, BLOCK);
    at += BLOCK;
    named += BLOCK;
    if (named > MAX_DIRECTORY_BYTES) throw tooLarge(`${MAX_DIRECTORY_BYTES} bytes of headers`);
    zeros = block.equals(ZERO_BLOCK) ? zeros + 1 : 0;
    const found = await headers.take(block, passed);
    passed = 0;
    if (found === undefined) continue;
    const { header } = found;
    directory.add(header.name, factsOf(header, block[TYPE_AT], at));
    const end = at + Math.ceil(header.size / BLOCK) * BLOCK;
    if (end > MAX_TAR_BYTES) throw tooLarge(`${MAX_TAR_BYTES} bytes`);
    if (end > unpacked.size) throw damaged("an entry goes beyond its end");
    passed = end - at;
    for (; at < end; at = Math.min(end, at + STEP_BYTES)) {
      await requireTime();
      if (isUnpacking) await unpacked.read(at, 1);
    }
  }
  // The sum of all that is unpacked stands at its end.
  for (let rest = isUnpacking ? 1 : 0; rest > 0; at += rest) {
    await requireTime();
    rest = (await unpacked.read(at, CHUNK_BYTES)).length;
  }
  return directory;
}

function factsOf(
  { type = "file", size, mtime, mode = 0, pax = {} }: ParsedTarEntry["header"],
  flag = 0,
  offset: number,
): Omit<ArchiveEntry, "path"> {
  const isSparse = !FILE_FLAGS.has(flag) || Object.keys(pax).some((key) => key.startsWith("GNU.sparse."));
  const modified = mtime?.getTime() ?? 0;
  return {
    ...{ type: TYPES[type] ?? "other", size: type === "file" ? size : 0, compressedSize: size },
    modified: Number.isFinite(modified) ? Math.round(modified) : 0,
    mode: mode & 0o777,
    packed: { offset, method: type === "file" && isSparse ? "this kind of file is" : "store" },
  };
}

/** Gives the decoder one block at a time, so that it is known where each entry begins. */
class HeaderReader {
  readonly #writer: WritableStreamDefaultWriter<Uint8Array>;
  readonly #reader: ReadableStreamDefaultReader<ParsedTarEntry>;
  #found: ParsedTarEntry | undefined;

  constructor() {
    const { readable, writable } = createTarDecoder({ strict: true });
    this.#writer = writable.getWriter();
    this.#reader = readable.getReader();
    this.#writer.closed.catch(() => {});
    this.#reader.closed.catch(() => {});
    this.#await();
  }

  /**
   * @param passed bytes of a content before the block: the decoder gets zeros in their place
   * @returns the entry whose header ends with this block
   */
  async take(block: Buffer, passed: number): Promise<ParsedTarEntry | undefined> {
    let left = passed;
    try {
      for (let some = 0; left > LITTLE_BYTES; left -= some) {
        some = Math.min(left, STEP_BYTES);
        await this.#writer.write(ZEROS.subarray(0, some));
      }
      // The decoder keeps its input until a header is whole.
      const bytes = Buffer.alloc(left + BLOCK);
      block.copy(bytes, left);
      await this.#writer.write(bytes);
    } catch {
      throw damaged("a header cannot be read");
    }
    // The decoder has passed on an entry while it took the block.
    const found = this.#found;
    if (found === undefined) return undefined;
    found.body.cancel().catch(() => {});
    this.#await();
    return found;
  }

  close(): void {
    this.#writer.abort().catch(() => {});
  }

  #await(): void {
    this.#found = undefined;
    this.#reader.read().then(
      ({ value }) => {
        this.#found = value;
      },
      () => {},
    );
  }
}

/** The bytes of a file in a tar, from an offset. @throws ArchiveFault */
export async function* tarContent(unpacked: Bytes, entry: ArchiveEntry, from: number): AsyncGenerator<Buffer> {
  const { offset, method } = entry.packed;
  if (method !== "store") throw unsupported(method);
  yield* piecesOf(unpacked, offset + from, offset + entry.size);
}

/** All that a file holds. @throws ArchiveFault */
export async function* gunzip(file: Bytes): AsyncGenerator<Buffer> {
  let left = MAX_TAR_BYTES;
  const unpacker = createGunzip({ chunkSize: CHUNK_BYTES });
  for await (const chunk of unpack(piecesOf(file, 0, file.size), unpacker, "it cannot be unpacked")) {
    left -= chunk.length;
    if (left < 0) throw tooLarge(`${MAX_TAR_BYTES} bytes, unpacked`);
    yield chunk;
  }
}
