// Cuts a body into the parts in which it is added to a file, so that what has come stays when the connection breaks.

import type { UploadBody } from "../../../core/ports/streams.js";
import { PART_BYTES } from "../../../core/ports/transfer.js";

/**
 * The parts of a body, one after the other: each is to be read to its end, and is over when the next one is asked for. There
 * is always one, if only an empty one.
 */
export async function* partsOf({ length, chunks }: UploadBody): AsyncGenerator<UploadBody> {
  const ahead = new ReadAhead(chunks, Math.min(Math.max(length ?? PART_BYTES, 1), PART_BYTES));
  try {
    for (let done = 0; ; done += PART_BYTES) {
      const size = length === undefined ? {} : { length: Math.min(PART_BYTES, length - done) };
      yield { ...size, chunks: ahead.part(), room: ahead.room };
      if (!(await ahead.next())) return;
    }
  } finally {
    ahead.stop();
  }
}

interface Room {
  readonly buffer: Buffer;
  /** Bytes of the part that are there. */
  filled: number;
}

/**
 * Reads on while a part is being added, as far as the next one: the sender does not wait for the disk. Two buffers are filled
 * in turns: chunks that were kept instead would outlive the young generation, and collecting them cost more than the copy.
 */
class ReadAhead {
  readonly #source: AsyncIterator<Uint8Array>;
  readonly #roomBytes: number;
  readonly #rooms: Room[] = [];
  /** Numbers of the part that is being added, and of the one that comes. */
  #added = 0;
  #coming = 0;
  #isStopped = false;
  /** Absent until the first chunk is asked for: the sender may wait for 100 Continue, which reading sends. */
  #reading: Promise<void> | undefined;
  #error: unknown;
  #hasEnded = false;
  /** Called when something was read, or a part is over. */
  #onChange: () => void = () => {};

  constructor(chunks: AsyncIterable<Uint8Array>, roomBytes: number) {
    this.#source = chunks[Symbol.asyncIterator]();
    this.#roomBytes = roomBytes;
  }

  /** Where the part that is being added lies. */
  get room(): Room {
    return this.#roomOf(this.#added);
  }

  /** The chunks of the part that is being added, as they come. @throws as the body does, once all that came was taken */
  async *part(): AsyncGenerator<Uint8Array> {
    const { room } = this;
    this.#reading ??= this.#readOn();
    for (let taken = 0; taken < this.#roomBytes; ) {
      while (room.filled === taken && !this.#hasEnded) await this.#change();
      if (room.filled === taken) return this.#throwError();
      const chunk = room.buffer.subarray(taken, room.filled);
      taken = room.filled;
      yield chunk;
    }
  }

  /** Goes on to the next part. @returns whether there is one @throws as the body does */
  async next(): Promise<boolean> {
    this.#added += 1;
    this.#changed();
    while (this.#coming < this.#added && !this.#hasEnded) await this.#change();
    if (this.#coming >= this.#added) return true;
    this.#throwError();
    return false;
  }

  stop(): void {
    this.#isStopped = true;
    this.#changed();
  }

  #roomOf(part: number): Room {
    this.#rooms[part % 2] ??= { buffer: Buffer.allocUnsafe(this.#roomBytes), filled: 0 };
    return this.#rooms[part % 2] as Room;
  }

  async #readOn(): Promise<void> {
    try {
      while (!this.#isStopped) {
        const step = await this.#source.next();
        if (step.done === true) break;
        await this.#keep(step.value);
      }
    } catch (error) {
      this.#error = error;
    }
    this.#hasEnded = true;
    this.#changed();
  }

  /** Copies a chunk, and waits where both parts are full. */
  async #keep(chunk: Uint8Array): Promise<void> {
    for (let rest = chunk; rest.length > 0 && !this.#isStopped; ) {
      const room = this.#roomOf(this.#coming);
      const fits = rest.subarray(0, this.#roomBytes - room.filled);
      room.buffer.set(fits, room.filled);
      room.filled += fits.length;
      rest = rest.subarray(fits.length);
      if (fits.length > 0) this.#changed();
      else await this.#begin();
    }
  }

  /** Begins the next part, in the buffer of the one before, which has to be over. */
  async #begin(): Promise<void> {
    while (this.#added < this.#coming && !this.#isStopped) await this.#change();
    this.#coming += 1;
    this.#roomOf(this.#coming).filled = 0;
    this.#changed();
  }

  #throwError(): void {
    if (this.#error !== undefined) throw this.#error;
  }

  #change(): Promise<void> {
    const before = this.#onChange;
    return new Promise((resolve) => {
      this.#onChange = () => {
        before();
        resolve();
      };
    });
  }

  #changed(): void {
    const told = this.#onChange;
    this.#onChange = () => {};
    told();
  }
}
