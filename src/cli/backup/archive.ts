// A backup is one tar archive, encrypted or not, whose last entry lists all others with their sizes and digests.

import { createHash } from "node:crypto";
import type { FileHandle } from "node:fs/promises";
import { ReadableStream } from "node:stream/web";
import { createTarDecoder, createTarPacker, type ParsedTarEntry, type TarPackController } from "modern-tar";
import { isSystemError } from "../context.js";
import { writeNewFile } from "../output/new-file.js";
import { MAGIC, SealBroken, sealStream, unsealStream } from "./seal.js";

/** The list at the end of a backup. */
export interface Manifest {
  readonly format: 1;
  readonly version: string;
  /** DID of the venue, where it has a lasting key. */
  readonly did?: string;
  /** Milliseconds since the epoch. */
  readonly created: number;
  readonly entries: readonly ListedEntry[];
}

interface ListedEntry {
  /** With a slash at the end: a folder of a root. */
  readonly path: string;
  readonly size: number;
  readonly sha256: string;
  /** Permission bits of an entry of a root. */
  readonly mode?: number;
}

/** Something to put into a backup. Its path is `state/…`, `drives/…`, `roots/NAME/…`, `seed` or `revocations`. */
export interface Source extends Omit<ListedEntry, "sha256"> {
  /** Milliseconds since the epoch. */
  readonly modified: number;
  /** Exactly `size` bytes. */
  read(): AsyncIterable<Uint8Array>;
}

const MANIFEST = "manifest.json";
const PRIVATE = 0o600;
const MAX_ENTRIES = 1_000_000;
const MAX_MANIFEST_BYTES = 268_435_456;
/** Segments that stay below the place they are put into, on every system. */
const SEGMENTS = String.raw`(?:/(?!\.{1,2}(?:/|$))[^/\\\0]+)+`;
const ROOT_NAME = "[A-Za-z0-9][A-Za-z0-9._-]{0,62}";
const SAFE = new RegExp(`^(?:seed|revocations|(?:state|drives)${SEGMENTS}|roots/${ROOT_NAME}${SEGMENTS}/?)$`);

/**
 * Writes a new file, mode 0600. Until all of it is on disk it is `<file>.part`, which a killed process leaves and the next one to write
 * this file removes.
 *
 * @throws the system's error; `EEXIST` if the file is there, or another process is writing it
 */
export function writeBackup(
  file: string,
  content: { readonly sources: AsyncIterable<Source>; readonly about: Omit<Manifest, "format" | "entries"> },
  passphrase: string | undefined,
): Promise<Manifest> {
  return writeNewFile(file, { mode: 0o600, draft: `${file}.part` }, async (handle) => {
    const { readable, controller } = createTarPacker();
    const filling = fill(controller, content).catch((error: Error) => {
      controller.error(error);
      throw error;
    });
    const stream = passphrase === undefined ? readable : sealStream(readable, passphrase);
    const [manifest] = await Promise.all([filling, writeAll(handle, stream)]);
    return manifest;
  });
}

async function writeAll(handle: FileHandle, stream: AsyncIterable<Uint8Array>): Promise<void> {
  for await (const chunk of stream) await handle.writeFile(chunk);
}

async function fill(
  archive: TarPackController,
  { sources, about }: Parameters<typeof writeBackup>[1],
): Promise<Manifest> {
  const entries: ListedEntry[] = [];
  for await (const source of sources) {
    if (!SAFE.test(source.path)) throw new RangeError(`No place for ${source.path} in a backup`);
    const { path, size, mode } = source;
    const hash = createHash("sha256");
    const header = { type: typeOf(path), mode: mode ?? PRIVATE, name: path, size, mtime: new Date(source.modified) };
    const entry = archive.add(header).getWriter();
    for await (const chunk of source.read()) {
      hash.update(chunk);
      await entry.write(chunk);
    }
    await entry.close();
    entries.push({ path, size, sha256: hash.digest("hex"), ...(mode === undefined ? {} : { mode }) });
  }
  const manifest: Manifest = { format: 1, ...about, entries };
  const list = Buffer.from(JSON.stringify(manifest));
  const header = { type: "file", mode: PRIVATE, name: MANIFEST, size: list.length } as const;
  const entry = archive.add({ ...header, mtime: new Date(about.created) }).getWriter();
  await entry.write(list);
  await entry.close();
  archive.finalize();
  return manifest;
}

/** The backup cannot be used. The message completes "Cannot restore: …". */
export class BackupFault extends Error {
  override readonly name = "BackupFault";
}

const typeOf = (path: string): "directory" | "file" => (path.endsWith("/") ? "directory" : "file");

/** An entry that is being read. Content that is not taken is read all the same, to verify it. */
export interface ReadEntry {
  readonly path: string;
  readonly size: number;
  readonly modified: number;
  /** Permission bits. */
  readonly mode: number | undefined;
  readonly content: AsyncIterable<Buffer>;
}

/** Verifies a backup. @throws BackupFault */
export async function verifyBackup(handle: FileHandle, passphrase: string | undefined): Promise<Manifest> {
  const entries = readBackup(handle, passphrase);
  for (let step = await entries.next(); ; step = await entries.next()) if (step.done === true) return step.value;
}

/** Reads a backup: each entry in turn, all of it verified at the end. @throws BackupFault */
export async function* readBackup(
  handle: FileHandle,
  passphrase: string | undefined,
): AsyncGenerator<ReadEntry, Manifest> {
  const head = Buffer.alloc(MAGIC.length);
  const { bytesRead } = await handle.read(head, 0, head.length, 0);
  if (bytesRead === 0) throw new BackupFault("it is cut off: nothing is in it");
  const isSealed = bytesRead === head.length && head.equals(MAGIC);
  if (isSealed && passphrase === undefined)
    throw new BackupFault("it is encrypted. Give --passphrase FILE or env:NAME");
  const start = isSealed ? MAGIC.length : 0;
  const bytes = handle.createReadStream({ start, autoClose: false, highWaterMark: 1_048_576 });
  const plain = isSealed ? unsealStream(bytes, passphrase ?? "") : bytes;
  const archive = ReadableStream.from(plain).pipeThrough(createTarDecoder({ strict: true }));
  try {
    return yield* checkEntries(archive);
  } catch (error) {
    if (error instanceof SealBroken) throw new BackupFault(error.message);
    if (error instanceof BackupFault || isSystemError(error)) throw error;
    throw new BackupFault("it is no backup, or it is damaged");
  }
}

async function* checkEntries(archive: AsyncIterable<ParsedTarEntry>): AsyncGenerator<ReadEntry, Manifest> {
  const found = new Map<string, Omit<ListedEntry, "path">>();
  let manifest: Manifest | undefined;
  for await (const { header, body } of archive) {
    if (manifest !== undefined) throw new BackupFault("something stands behind its list");
    if (header.name === MANIFEST) {
      manifest = await readManifest(body, header.size);
      continue;
    }
    const { name: path } = header;
    if (header.type !== typeOf(path) || !SAFE.test(path) || found.has(path))
      throw new BackupFault("it holds what is no entry of a backup");
    if (found.size >= MAX_ENTRIES) throw new BackupFault("it has too many entries");
    const hash = createHash("sha256");
    let size = 0;
    const content = (async function* () {
      for await (const chunk of body) {
        hash.update(chunk);
        size += chunk.length;
        yield Buffer.from(chunk.buffer, chunk.byteOffset, chunk.length);
      }
    })();
    yield { path, size: header.size, modified: header.mtime?.getTime() ?? 0, mode: header.mode, content };
    for await (const _chunk of content);
    found.set(path, { size, sha256: hash.digest("hex") });
  }
  if (manifest === undefined) throw new BackupFault("it is cut off: its list is missing");
  if (manifest.entries.length !== found.size) throw new BackupFault("entries are missing");
  for (const { path, size, sha256 } of manifest.entries) {
    const own = found.get(path);
    if (own?.size !== size || own.sha256 !== sha256) throw new BackupFault("an entry is damaged");
  }
  return manifest;
}

async function readManifest(body: AsyncIterable<Uint8Array>, size: number): Promise<Manifest> {
  if (size > MAX_MANIFEST_BYTES) throw new BackupFault("its list is too long");
  const chunks: Uint8Array[] = [];
  for await (const chunk of body) chunks.push(chunk);
  const manifest = JSON.parse(Buffer.concat(chunks).toString()) as Manifest;
  if (manifest.format !== 1) throw new BackupFault(`it is of format ${String(manifest.format)}; use a newer version`);
  return manifest;
}
