// Opens the files of an audit for reading, each with its index, which is kept in the state directory.

import { type FileHandle, mkdir, open, readdir, readFile, unlink } from "node:fs/promises";
import { join } from "node:path";
import { replaceWhole } from "../database/durable-files.js";
import { BlockIndex } from "./block-index.js";
import { hashOfLine } from "./chain.js";
import { listLogFiles } from "./verify.js";

const CHUNK_BYTES = 262_144;
/** New blocks after which the index is written again: 256 KiB of records. */
const SAVE_BLOCKS = 4;
/** Bytes of the first line by which a file is known, whatever its name. */
const KEY_BYTES = 4096;
const NEWLINE = 0x0a;
/** Rotations that may come between opening the first file and the last. */
const OPEN_TRIES = 3;

/** An open file of an audit. */
export interface OpenedFile {
  readonly handle: FileHandle;
  /** Bytes of whole lines when it was opened. */
  readonly size: number;
  /** Names it by its first line, however it is renamed. */
  readonly key: string;
}

/** Opens the kept files, newest first. The caller closes them. @throws the system's error */
export async function openKept(path: string): Promise<readonly OpenedFile[]> {
  for (let tries = 1; ; tries++) {
    const opened: OpenedFile[] = [];
    try {
      for (const name of (await listLogFiles(path)).toReversed()) opened.push(await openOne(name));
    } catch (error) {
      await closeAll(opened);
      // Renamed in between.
      if (Object(error).code === "ENOENT" && tries < OPEN_TRIES) continue;
      throw error;
    }
    const isOnce = new Set(opened.map(({ key }) => key)).size === opened.length;
    if (isOnce || tries >= OPEN_TRIES) return opened;
    await closeAll(opened);
  }
}

export async function closeAll(files: readonly OpenedFile[]): Promise<void> {
  await Promise.all(files.map(({ handle }) => handle.close().catch(() => {})));
}

async function openOne(path: string): Promise<OpenedFile> {
  const handle = await open(path, "r");
  try {
    const { size } = await handle.stat();
    const head = await readRange(handle, 0, Math.min(size, KEY_BYTES));
    const end = head.indexOf(NEWLINE);
    return { handle, size, key: hashOfLine(end === -1 ? head : head.subarray(0, end)).slice(0, 32) };
  } catch (error) {
    await handle.close();
    throw error;
  }
}

/** Reads bytes of a file; fewer where it ends. */
export async function readRange(handle: FileHandle, start: number, end: number): Promise<Buffer> {
  const bytes = Buffer.allocUnsafe(end - start);
  let length = 0;
  while (length < bytes.length) {
    const { bytesRead } = await handle.read(bytes, length, bytes.length - length, start + length);
    if (bytesRead === 0) break;
    length += bytesRead;
  }
  return bytes.subarray(0, length);
}

/** Indexes of the files of one audit, in memory and in a folder. */
export class AuditIndexes {
  readonly #folder: string | undefined;
  readonly #known = new Map<string, { readonly index: BlockIndex; saved: number }>();
  #working: Promise<void> = Promise.resolve();

  /** @param folder where they are kept; absent: in memory only */
  constructor(folder: string | undefined) {
    this.#folder = folder;
  }

  /** The index of a file, brought up to its size. @param isStopped asked between chunks */
  async of(file: OpenedFile, isStopped: () => boolean): Promise<BlockIndex> {
    const known = this.#known.get(file.key) ?? { index: (await this.#load(file)) ?? new BlockIndex(), saved: 0 };
    if (!this.#known.has(file.key)) known.saved = known.index.blocks;
    this.#known.set(file.key, known);
    // One at a time: lines are added once, in their order.
    const done = this.#working.then(() => catchUp(known.index, file, isStopped));
    this.#working = done.catch(() => {});
    await done;
    if (known.index.blocks - known.saved >= SAVE_BLOCKS) {
      known.saved = known.index.blocks;
      await this.#save(file.key, known.index);
    }
    return known.index;
  }

  /** Forgets files that are not kept any more. */
  async retain(files: readonly OpenedFile[]): Promise<void> {
    const keys = new Set(files.map(({ key }) => key));
    for (const key of this.#known.keys()) if (!keys.has(key)) this.#known.delete(key);
    if (this.#folder === undefined) return;
    const folder = this.#folder;
    const names = await readdir(folder).catch(() => []);
    const gone = names.filter((name) => /^[0-9a-f]{32}\.index$/.test(name) && !keys.has(name.slice(0, 32)));
    await Promise.all(gone.map((name) => unlink(join(folder, name)).catch(() => {})));
  }

  async #load({ key, size }: OpenedFile): Promise<BlockIndex | undefined> {
    if (this.#folder === undefined) return undefined;
    const bytes = await readFile(join(this.#folder, `${key}.index`)).catch(() => undefined);
    return bytes === undefined ? undefined : BlockIndex.decode(bytes, size);
  }

  /** A failure costs time at the next start and nothing else. */
  async #save(key: string, index: BlockIndex): Promise<void> {
    if (this.#folder === undefined) return;
    try {
      await mkdir(this.#folder, { recursive: true, mode: 0o700 });
      await replaceWhole(join(this.#folder, `${key}.index`), index.encode(), { durable: false });
    } catch {}
  }
}

/** Adds the whole lines that the index does not have yet. */
async function catchUp(index: BlockIndex, { handle, size }: OpenedFile, isStopped: () => boolean): Promise<void> {
  let rest: Buffer = Buffer.alloc(0);
  let position = index.offset;
  while (position < size && !isStopped()) {
    const chunk = await readRange(handle, position, Math.min(size, position + CHUNK_BYTES));
    if (chunk.length === 0) return;
    position += chunk.length;
    const data = rest.length === 0 ? chunk : Buffer.concat([rest, chunk]);
    let from = 0;
    for (let end = data.indexOf(NEWLINE); end !== -1; end = data.indexOf(NEWLINE, from)) {
      index.add(data.subarray(from, end));
      from = end + 1;
    }
    rest = data.subarray(from);
  }
}
