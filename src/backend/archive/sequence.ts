// Random access to bytes that can only be made one after another, such as unpacked ones.

import { pipeline, Readable, type Transform } from "node:stream";
import { crc32 } from "node:zlib";
import type { CallScope } from "../../core/call/scope.js";
import { type Awaitable, after } from "../../core/io.js";
import type { OpenFile } from "../../core/ports/open-file.js";
import { damaged } from "./fault.js";

/** Random access to a file that is or holds an archive. */
export type Bytes = Pick<OpenFile, "size" | "read">;

const PIECE_BYTES = 65_536;
/** Latest bytes that are held, so that reads may go back by so much; whole contents of this size are verified at the first read. */
const HELD_BYTES = 1_048_576;

/** @throws ArchiveFault if the file ends before */
export async function readExactly(file: Bytes, offset: number, length: number): Promise<Buffer> {
  const bytes = offset + length > file.size ? Buffer.alloc(0) : await file.read(offset, length);
  if (bytes.length < length) throw damaged("it is cut off");
  return bytes;
}

/** Serves many small reads from one larger piece. */
export class PieceReader implements Bytes {
  readonly #file: Bytes;
  #piece: Buffer = Buffer.alloc(0);
  #start = 0;

  constructor(file: Bytes) {
    this.#file = file;
  }

  get size(): number {
    return this.#file.size;
  }

  /** The bytes are valid up to the next read. */
  read(offset: number, length: number): Awaitable<Buffer> {
    const from = offset - this.#start;
    if (from >= 0 && from + length <= this.#piece.length) return this.#piece.subarray(from, from + length);
    return after(this.#file.read(offset, Math.max(length, PIECE_BYTES)), (piece) => {
      this.#piece = piece;
      this.#start = offset;
      return piece.subarray(0, length);
    });
  }
}

/** A part of a file, piece by piece. @throws ArchiveFault if the file ends before */
export async function* piecesOf(file: Bytes, start: number, end: number): AsyncGenerator<Buffer> {
  if (end > file.size) throw damaged("it is cut off");
  for (let at = start; at < end; at += PIECE_BYTES) yield await readExactly(file, at, Math.min(PIECE_BYTES, end - at));
}

/** Unpacks in the thread pool, chunk by chunk as they are taken. @param told of what cannot be unpacked @throws ArchiveFault */
export async function* unpack(
  packed: AsyncIterable<Buffer>,
  unpacker: Transform,
  told: string,
): AsyncGenerator<Buffer> {
  pipeline(Readable.from(packed), unpacker, () => {});
  try {
    for await (const chunk of unpacker) yield chunk as Buffer;
  } catch (error) {
    throw String(Object(error).code).startsWith("Z_") ? damaged(told) : error;
  } finally {
    unpacker.destroy();
  }
}

interface SequenceOptions {
  /** Size as it is declared; Infinity: unknown. */
  readonly size: number;
  /** Makes the bytes from an offset on: from 0, unless the sequence may begin anywhere. */
  from(offset: number): AsyncIterable<Buffer>;
  readonly beginsAnywhere: boolean;
  /** CRC of all bytes. Absent: there is none. */
  readonly crc32?: number | undefined;
  readonly scope: CallScope;
  /** Absent: {@link HELD_BYTES}. */
  readonly held?: number;
}

/** A read behind the bytes held goes on, one before them begins anew. */
export class Sequence {
  readonly #options: SequenceOptions;
  #source: AsyncIterator<Buffer> | undefined;
  #held: Buffer[] = [];
  /** Where the held bytes begin and end. */
  #start = 0;
  #end = 0;
  /** Sum of all bytes up to the end of those held; absent: the first ones were not made. */
  #sum: number | undefined;
  #isOver = false;

  constructor(options: SequenceOptions) {
    this.#options = options;
  }

  /** Fewer bytes only at the end. @throws ArchiveFault if there are more or fewer than declared, or others than they add up to */
  async read(offset: number, length: number): Promise<Buffer> {
    const { size, beginsAnywhere } = this.#options;
    const end = Math.min(size, offset + length);
    if (end <= offset && size > 0) return Buffer.alloc(0);
    if (this.#source === undefined || offset < this.#start || (beginsAnywhere && offset > this.#end + PIECE_BYTES)) {
      await this.#begin(beginsAnywhere && size > HELD_BYTES ? offset : 0);
    }
    const goal = size <= HELD_BYTES ? size : end;
    while (this.#end < goal && !this.#isOver) await this.#next(offset);
    if (this.#end >= size) await this.#finish();
    return this.#taken(offset, end);
  }

  close(): void {
    void this.#source?.return?.().catch(() => {});
    this.#source = undefined;
    this.#held = [];
    this.#start = this.#end;
  }

  async #begin(offset: number): Promise<void> {
    this.close();
    this.#source = this.#options.from(offset)[Symbol.asyncIterator]();
    this.#start = offset;
    this.#end = offset;
    this.#sum = offset === 0 ? 0 : undefined;
    this.#isOver = false;
  }

  /** @param needed offset from which on bytes are kept, however long ago they were made */
  async #next(needed: number): Promise<void> {
    const { size, scope, held = HELD_BYTES } = this.#options;
    scope.checkpoint();
    const step = await this.#source?.next();
    if (step === undefined || step.done === true) {
      this.#isOver = true;
      if (Number.isFinite(size) && this.#end < size) throw damaged("an entry is shorter than it says");
      return;
    }
    const bytes = step.value;
    this.#end += bytes.length;
    if (this.#end > size) throw damaged("an entry is longer than it says");
    if (this.#sum !== undefined && this.#options.crc32 !== undefined) this.#sum = crc32(bytes, this.#sum);
    this.#held.push(bytes);
    const oldest = Math.min(needed, this.#end - held);
    for (let [first] = this.#held; first !== undefined && this.#start + first.length <= oldest; [first] = this.#held) {
      this.#start += first.length;
      this.#held.shift();
    }
  }

  /** Nothing may follow the last byte. */
  async #finish(): Promise<void> {
    while (!this.#isOver) await this.#next(this.#end);
    const { crc32: sum } = this.#options;
    if (sum !== undefined && this.#sum !== undefined && this.#sum !== sum)
      throw damaged("the content of an entry is not what was packed");
  }

  #taken(offset: number, end: number): Buffer {
    const parts: Buffer[] = [];
    let at = this.#start;
    for (const part of this.#held) {
      if (at < end && at + part.length > offset) parts.push(part.subarray(Math.max(0, offset - at), end - at));
      at += part.length;
    }
    return parts.length === 1 ? Buffer.from(parts[0] ?? "") : Buffer.concat(parts);
  }
}
