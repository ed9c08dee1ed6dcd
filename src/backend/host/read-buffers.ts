import type { ReadBytes } from "../../core/ports/backend.js";
import type { Stamp } from "../../core/ports/open-file.js";

/** Smaller ones are not worth keeping: the allocator has them at hand. */
const LEAST_BYTES = 65_536;
/** What is kept at most, in number and in size of each. */
const MOST_SPARE = 2;
const MOST_BYTES = 16 * 1024 * 1024;

/**
 * Large buffers that have been read into, to be read into again. Without this each large read leaves one to the garbage
 * collector, which lets tens of megabytes of them pile up before it looks.
 */
export class ReadBuffers {
  readonly #spare: Buffer[] = [];

  /** A buffer of exactly so many bytes, with anything in it. */
  take(bytes: number): Buffer {
    // The largest stand first: the last that is large enough wastes least.
    const index = this.#spare.findLastIndex((buffer) => buffer.length >= bytes);
    if (bytes < LEAST_BYTES || index < 0) return Buffer.allocUnsafe(bytes);
    const [buffer] = this.#spare.splice(index, 1);
    return buffer === undefined ? Buffer.allocUnsafe(bytes) : buffer.subarray(0, bytes);
  }

  /** Gives back what {@link take} gave, once nobody looks at it any more. */
  give(buffer: Buffer): void {
    if (buffer.length < LEAST_BYTES || buffer.buffer.byteLength > MOST_BYTES) return;
    // Of this size it has its memory to itself; what was taken may have been a part of it.
    const whole = Buffer.from(buffer.buffer);
    this.#spare.push(whole);
    this.#spare.sort((a, b) => b.length - a.length);
    this.#spare.length = Math.min(this.#spare.length, MOST_SPARE);
  }
}

/** Bytes in a buffer that is read into again once they have been used. */
export class ReadResult implements ReadBytes {
  readonly bytes: Buffer;
  readonly size: number;
  readonly stamp?: Stamp;
  readonly #buffers: ReadBuffers;

  constructor(bytes: Buffer, { size, stamp }: { size: number; stamp: Stamp | undefined }, buffers: ReadBuffers) {
    this.bytes = bytes;
    this.size = size;
    if (stamp !== undefined) this.stamp = stamp;
    this.#buffers = buffers;
  }

  release(): void {
    this.#buffers.give(this.bytes);
  }
}
