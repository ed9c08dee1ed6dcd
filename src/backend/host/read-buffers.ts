// Reuses large read buffers.

import type { ReadBytes } from "../../core/ports/backend.js";
import type { Stamp } from "../../core/ports/open-file.js";

/** Minimum size in bytes worth keeping; smaller buffers come cheaply from the allocator. */
const MIN_BYTES = 65_536;
/** Maximum spare buffers, and maximum bytes of each. */
const MAX_SPARE = 2;
const MAX_BYTES = 16 * 1024 * 1024;

/**
 * A pool of large read buffers. Without it, each large read leaves one to the garbage collector, and tens of megabytes
 * of them pile up before it runs.
 */
export class ReadBuffers {
  readonly #spare: Buffer[] = [];

  /** A buffer of exactly this size, with arbitrary content. */
  take(bytes: number): Buffer {
    if (bytes < MIN_BYTES) return Buffer.allocUnsafe(bytes);
    // Sorted by size, largest first: the last that fits wastes least.
    const index = this.#spare.findLastIndex((buffer) => buffer.length >= bytes);
    if (index < 0) return Buffer.allocUnsafe(bytes);
    const [buffer] = this.#spare.splice(index, 1);
    return buffer === undefined ? Buffer.allocUnsafe(bytes) : buffer.subarray(0, bytes);
  }

  /** Returns a buffer from {@link take}, once it is no longer used. */
  give(buffer: Buffer): void {
    if (buffer.length < MIN_BYTES || buffer.buffer.byteLength > MAX_BYTES) return;
    // A buffer of this size owns its memory; the one handed out may be a slice of it.
    const whole = Buffer.from(buffer.buffer);
    this.#spare.push(whole);
    this.#spare.sort((a, b) => b.length - a.length);
    this.#spare.length = Math.min(this.#spare.length, MAX_SPARE);
  }
}

/** Bytes in a pooled buffer, which returns to the pool on release. */
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
