// Opens the files of an audit for reading, each with its index, which is kept in the state directory.

import { type FileHandle, mkdir, open, readdir, readFile, unlink } from "node:fs/promises";
import { join } from "node:path";
import { replaceWhole } from "../database/durable-files.js";
import { hashOfLine, type JsonLine, parseObject } from "./chain.js";
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

/** Bytes of lines that are summarised together. */
const BLOCK_BYTES = 65_536;
/** Bytes of a Bloom filter; a block has some 150 lines with about five values each: 1 in 200 is read in vain. */
const FILTER_BYTES = 1024;
const FILTER_BITS = FILTER_BYTES * 8;
const HASHES = 3;
/** End, earliest and latest time as doubles, and the filter. */
const ENTRY_BYTES = 24 + FILTER_BYTES;
const MAGIC = Buffer.from("venue-files audit index 1\n");

/** A run of whole lines. */
interface Block {
  readonly start: number;
  end: number;
  earliest: number;
  latest: number;
  readonly filter: Uint8Array;
}

/** Values that a block must have, and the time it must overlap. */
export interface BlockFilter {
  /** Each group must have one of its values. */
  readonly groups: readonly (readonly string[])[];
  /** Milliseconds since the epoch, both inclusive. */
  readonly since: number;
  readonly until: number;
}

/** The values by which a line is found; see {@link keys}. */
function keysOf({ caller, operation, outcome, resource, others = [] }: JsonLine): string[] {
  const found: string[] = [];
  if (caller !== undefined) found.push(keys.caller(caller));
  if (operation !== undefined) found.push(keys.operation(operation));
  if (outcome !== undefined) found.push(keys.outcome(outcome));
  for (const one of resource === undefined ? others : [resource, ...others])
    found.push(...ancestors(one).map(keys.under));
  return found;
}

export const keys = {
  caller: (caller: string): string => `c${caller}`,
  operation: (operation: string): string => `o${operation}`,
  outcome: (outcome: string): string => `x${outcome}`,
  /** A resource, or a folder that it lies in. */
  under: (resource: string): string => `u${resource}`,
} as const;

/** A resource and all that it lies in, without a slash at the end: `file://docs/a` lies in `file://docs`. */
function ancestors(resource: string): string[] {
  const found: string[] = [];
  const first = resource.indexOf("://") + 3;
  for (let end = resource.indexOf("/", first); end !== -1; end = resource.indexOf("/", end + 1)) {
    found.push(resource.slice(0, end));
  }
  if (!resource.endsWith("/")) found.push(resource);
  return found;
}

/** Blocks of one file that may hold records of a caller, operation, outcome or resource. Lines are added as they stand in it. */
class BlockIndex {
  readonly #blocks: Block[] = [];
  #open = newBlock(0);

  /** Bytes that are in complete blocks. */
  get covered(): number {
    return this.#open.start;
  }

  get blocks(): number {
    return this.#blocks.length;
  }

  /** Where lines are to be added next. */
  get offset(): number {
    return this.#open.end;
  }

  /** Adds a line. @param line without its newline */
  add(line: Buffer): void {
    const parsed = parseObject(line.toString("utf8"));
    const open = this.#open;
    if (parsed !== undefined) {
      const { time = 0 } = parsed;
      open.earliest = Math.min(open.earliest, time);
      open.latest = Math.max(open.latest, time);
      for (const key of keysOf(parsed)) {
        for (const bit of bitsOf(key)) open.filter[bit >>> 3] = (open.filter[bit >>> 3] ?? 0) | (1 << (bit & 7));
      }
    }
    open.end += line.length + 1;
    if (open.end - open.start < BLOCK_BYTES) return;
    this.#blocks.push(open);
    this.#open = newBlock(open.end);
  }

  /** Complete blocks that may hold what is asked for, newest first. @param before offset of the end of the search */
  *findBlocks({ groups, since, until }: BlockFilter, before: number): Generator<Pick<Block, "start" | "end">> {
    const bits = groups.map((values) => values.map(bitsOf));
    for (const { start, end, earliest, latest, filter } of this.#blocks.toReversed()) {
      if (start >= before || latest < since || earliest > until) continue;
      const has = (bit: number): boolean => ((filter[bit >>> 3] ?? 0) & (1 << (bit & 7))) !== 0;
      if (bits.every((values) => values.some((one) => one.every(has)))) yield { start, end: Math.min(before, end) };
    }
  }

  encode(): Buffer {
    const entries = this.#blocks.map(({ end, earliest, latest, filter }) => {
      const head = Buffer.alloc(ENTRY_BYTES - FILTER_BYTES);
      for (const [index, number] of [end, earliest, latest].entries()) head.writeDoubleLE(number, index * 8);
      return [head, filter];
    });
    return Buffer.concat([MAGIC, ...entries.flat()]);
  }

  /** @returns `undefined` for bytes that are no index of a file of this size */
  static decode(bytes: Buffer, fileSize: number): BlockIndex | undefined {
    const count = (bytes.length - MAGIC.length) / ENTRY_BYTES;
    if (!Number.isInteger(count) || !bytes.subarray(0, MAGIC.length).equals(MAGIC)) return undefined;
    const index = new BlockIndex();
    for (let at = MAGIC.length; at < bytes.length; at += ENTRY_BYTES) {
      const [end = 0, earliest = 0, latest = 0] = [0, 8, 16].map((offset) => bytes.readDoubleLE(at + offset));
      if (!(end > index.covered && end <= fileSize)) return undefined;
      const filter = bytes.subarray(at + 24, at + ENTRY_BYTES);
      index.#blocks.push({ start: index.covered, end, earliest, latest, filter });
      index.#open = newBlock(end);
    }
    return index;
  }
}

const newBlock = (start: number): Block => ({
  ...{ start, end: start, earliest: Number.POSITIVE_INFINITY, latest: Number.NEGATIVE_INFINITY },
  filter: new Uint8Array(FILTER_BYTES),
});

/** The bits of a value, by double hashing of FNV-1a. */
function bitsOf(key: string): readonly number[] {
  let hash = 0x811c9dc5;
  for (let index = 0; index < key.length; index++) hash = Math.imul(hash ^ key.charCodeAt(index), 0x01000193);
  const step = (Math.imul(hash ^ (hash >>> 15), 0x2c1b3c6d) | 1) >>> 0;
  return Array.from({ length: HASHES }, (_, index) => ((hash >>> 0) + index * step) % FILTER_BITS);
}
