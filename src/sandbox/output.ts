// Buffers of bounded size for the output of commands.

import type { SandboxOutput } from "../core/ports/sandbox.js";

export type StreamName = "stdout" | "stderr";

const FIRST_BYTES = 4096;

/** The retained output of a command. Memory is bounded by a few times the retained bytes. */
export interface OutputBuffer {
  add(stream: StreamName, chunk: Uint8Array): void;
  /** @param isWhole the output is complete, so an incomplete character at its end is kept */
  output(isWhole: boolean): SandboxOutput;
}

export const createOutput = (keep: "head" | "tail", maxBytes: number): OutputBuffer =>
  keep === "head" ? new HeadOutput(maxBytes) : new TailOutput(maxBytes);

/** Keeps the first bytes of both streams together. */
class HeadOutput implements OutputBuffer {
  readonly #bytes: Record<StreamName | "combined", GrowingBytes>;
  #room: number;
  #cutStream: StreamName | undefined;

  constructor(maxBytes: number) {
    this.#room = maxBytes;
    this.#bytes = { stdout: new GrowingBytes(), stderr: new GrowingBytes(), combined: new GrowingBytes() };
  }

  add(stream: StreamName, chunk: Uint8Array): void {
    if (this.#cutStream !== undefined) return;
    const kept = chunk.subarray(0, this.#room);
    this.#room -= kept.length;
    this.#bytes[stream].add(kept);
    this.#bytes.combined.add(kept);
    if (kept.length < chunk.length) this.#cutStream = stream;
  }

  output(isWhole: boolean): SandboxOutput {
    const { stdout, stderr, combined } = this.#bytes;
    const isCut = this.#cutStream !== undefined;
    const shown = (bytes: GrowingBytes): Uint8Array => (isWhole && !isCut ? bytes.bytes : cutEnd(bytes.bytes));
    return {
      ...{ stdout: shown(stdout), stderr: shown(stderr), combined: shown(combined), truncated: isCut },
      ...(this.#cutStream === undefined ? {} : { cutStream: this.#cutStream }),
    };
  }
}

class GrowingBytes {
  #buffer = Buffer.alloc(0);
  #length = 0;

  get bytes(): Uint8Array {
    return Buffer.from(this.#buffer.subarray(0, this.#length));
  }

  add(chunk: Uint8Array): void {
    const needed = this.#length + chunk.length;
    if (needed > this.#buffer.length) {
      const larger = Buffer.allocUnsafe(Math.max(FIRST_BYTES, needed, this.#buffer.length * 2));
      larger.set(this.#buffer.subarray(0, this.#length));
      this.#buffer = larger;
    }
    this.#buffer.set(chunk, this.#length);
    this.#length = needed;
  }
}

/** Keeps the last bytes of each stream, and of both in order of arrival. */
class TailOutput implements OutputBuffer {
  readonly #bytes: Record<StreamName | "combined", LastBytes>;

  constructor(maxBytes: number) {
    const [stdout, stderr, combined] = [new LastBytes(maxBytes), new LastBytes(maxBytes), new LastBytes(maxBytes)];
    this.#bytes = { stdout, stderr, combined };
  }

  add(stream: StreamName, chunk: Uint8Array): void {
    this.#bytes[stream].add(chunk);
    this.#bytes.combined.add(chunk);
  }

  output(isWhole: boolean): SandboxOutput {
    const { stdout, stderr, combined } = this.#bytes;
    const shown = (last: LastBytes): Uint8Array => {
      const bytes = last.dropped ? cutStart(last.bytes) : last.bytes;
      return isWhole ? bytes : cutEnd(bytes);
    };
    return {
      ...{ stdout: shown(stdout), stderr: shown(stderr), combined: shown(combined) },
      truncated: combined.dropped,
    };
  }
}

/** A ring buffer that grows up to its maximum. */
class LastBytes {
  readonly #max: number;
  readonly #grown = new GrowingBytes();
  #ring: Buffer | undefined;
  /** Position of the next byte. */
  #at = 0;
  #seen = 0;

  constructor(max: number) {
    this.#max = max;
  }

  get dropped(): boolean {
    return this.#seen > this.#max;
  }

  get bytes(): Uint8Array {
    if (this.#ring === undefined) return this.#grown.bytes;
    return Buffer.concat([this.#ring.subarray(this.#at), this.#ring.subarray(0, this.#at)]);
  }

  add(chunk: Uint8Array): void {
    this.#seen += chunk.length;
    if (this.#seen <= this.#max) {
      this.#grown.add(chunk);
      return;
    }
    const ring = this.#ring ?? this.#close(this.#seen - chunk.length);
    const kept = chunk.subarray(Math.max(0, chunk.length - this.#max));
    const first = kept.subarray(0, this.#max - this.#at);
    ring.set(first, this.#at);
    ring.set(kept.subarray(first.length), 0);
    if (this.#max > 0) this.#at = (this.#at + kept.length) % this.#max;
  }

  /** Fixes the size; from now on writing wraps around. */
  #close(length: number): Buffer {
    const ring = Buffer.alloc(this.#max);
    ring.set(this.#grown.bytes, 0);
    this.#at = length % Math.max(1, this.#max);
    this.#ring = ring;
    return ring;
  }
}

const isContinuation = (byte: number | undefined): boolean => byte !== undefined && (byte & 0xc0) === 0x80;

/** Length in bytes of a UTF-8 character that starts with this byte; 0: not a start byte. */
function lengthOf(first: number): number {
  if (first < 0x80) return 1;
  if (first < 0xc2) return 0;
  if (first < 0xe0) return 2;
  return first < 0xf0 ? 3 : first < 0xf5 ? 4 : 0;
}

/** Removes an incomplete character at the end. */
function cutEnd(bytes: Uint8Array): Uint8Array {
  for (let back = 1; back <= Math.min(3, bytes.length); back++) {
    const byte = bytes[bytes.length - back] ?? 0;
    if (isContinuation(byte)) continue;
    return lengthOf(byte) > back ? bytes.subarray(0, bytes.length - back) : bytes;
  }
  return bytes;
}

/** Removes the remainder of a character at the start. */
function cutStart(bytes: Uint8Array): Uint8Array {
  let start = 0;
  while (start < 3 && isContinuation(bytes[start])) start++;
  return bytes.subarray(start);
}
