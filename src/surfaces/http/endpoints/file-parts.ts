// Cuts a body into the parts in which it is added to a file, so that what has come stays when the connection breaks.

import type { BodyRoom, UploadBody } from "../../../core/ports/streams.js";
import { PART_BYTES } from "../../../core/ports/transfer.js";

/** The parts of a body, one after the other: each is to be read to its end. There is always one, if only an empty one. */
export async function* partsOf({ length, chunks }: UploadBody): AsyncGenerator<UploadBody> {
  const source = new ReadAhead(chunks);
  // Fresh memory for each part costs more than what is copied into it.
  const room: BodyRoom = { buffer: Buffer.alloc(0) };
  /** Read, and of a later part. */
  let rest: Uint8Array | undefined;
  const next = async (): Promise<Uint8Array | undefined> => {
    const kept = rest;
    rest = undefined;
    return kept ?? (await source.next());
  };
  async function* part(): AsyncGenerator<Uint8Array> {
    for (let room = PART_BYTES; room > 0; ) {
      const chunk = await next();
      if (chunk === undefined) return;
      const fits = chunk.subarray(0, room);
      if (fits.length < chunk.length) rest = chunk.subarray(room);
      room -= fits.length;
      yield fits;
    }
  }
  try {
    for (let done = 0; ; done += PART_BYTES) {
      const size = length === undefined ? {} : { length: Math.min(PART_BYTES, length - done) };
      yield { ...size, chunks: part(), room };
      rest ??= await next();
      if (rest === undefined) return;
    }
  } finally {
    source.stop();
  }
}

/** Reads on while a part is being added, as far as the next one: the sender does not wait for the disk. */
class ReadAhead {
  readonly #source: AsyncIterator<Uint8Array>;
  readonly #read: Uint8Array[] = [];
  #bytes = 0;
  #isStopped = false;
  /** Absent until the first chunk is asked for: the sender may wait for 100 Continue, which reading sends. */
  #reading: Promise<void> | undefined;
  #error: unknown;
  #hasEnded = false;
  /** Called when something was read, or taken. */
  #onChange: () => void = () => {};

  constructor(chunks: AsyncIterable<Uint8Array>) {
    this.#source = chunks[Symbol.asyncIterator]();
  }

  /** @returns `undefined` at the end @throws as the body does, once all that came before was taken */
  async next(): Promise<Uint8Array | undefined> {
    this.#reading ??= this.#readOn();
    while (this.#read.length === 0 && !this.#hasEnded) await this.#change();
    const chunk = this.#read.shift();
    if (chunk === undefined && this.#error !== undefined) throw this.#error;
    this.#bytes -= chunk?.length ?? 0;
    this.#changed();
    return chunk;
  }

  stop(): void {
    this.#isStopped = true;
    this.#changed();
  }

  async #readOn(): Promise<void> {
    try {
      while (!this.#isStopped) {
        if (this.#bytes >= PART_BYTES) {
          await this.#change();
          continue;
        }
        const step = await this.#source.next();
        if (step.done === true) break;
        this.#read.push(step.value);
        this.#bytes += step.value.length;
        this.#changed();
      }
    } catch (error) {
      this.#error = error;
    }
    this.#hasEnded = true;
    this.#changed();
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
