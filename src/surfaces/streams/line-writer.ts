// Writes lines to a stream with back-pressure: short ones joined, long ones in pieces.

import { Socket } from "node:net";
import type { Writable } from "node:stream";
import { type SeparatedJson, separateParts } from "./json-pieces.js";
import { linePieces, PieceBuffers } from "./line-pieces.js";

/** Message size in bytes from which a message is written in pieces. */
const LARGE_BYTES = 1_048_576;

/** Longest line that may wait for others, and most that wait together, in characters. */
const SHORT_CHARS = 4096;
const JOINED_CHARS = 16_384;
/** Longest time that a line waits for others, in milliseconds, beyond the turn of the event loop that goes on then. */
const JOINED_MS = 1;

/**
 * Writes values as JSON lines, one after the other, respecting backpressure of the output. While more lines are to be
 * expected, short ones wait a little and go together: a write costs more than making what is written.
 */
export class LineWriter {
  readonly #output: Writable;
  #last: Promise<void> = Promise.resolve();
  #unwritten = 0;
  readonly #buffers: PieceBuffers;
  readonly #expectsMore: () => boolean;
  /** Lines that wait. */
  #joined = "";
  /** Resolves when the lines that wait are written; absent: none wait. */
  #flushing: Promise<void> | undefined;
  #settleJoined: () => void = () => {};

  /** @param expectsMore whether another line may come within a turn of the event loop */
  constructor(output: Writable, expectsMore: () => boolean = () => false) {
    this.#output = output;
    this.#expectsMore = expectsMore;
    // A socket or pipe is done with a buffer once it is written; other streams may pass it on.
    this.#buffers = new PieceBuffers(output instanceof Socket);
  }

  /** Whether written lines have not been consumed yet. */
  get isBehind(): boolean {
    return this.#unwritten > 0 || this.#output.writableNeedDrain;
  }

  /**
   * @param heldBytes memory the value takes; from 1 MiB it is written in pieces
   * @returns once the output has accepted the line
   * @throws the error of serialization
   */
  async write(value: unknown, heldBytes: number): Promise<void> {
    const whole = separateParts(value, heldBytes >= LARGE_BYTES);
    if (this.#unwritten > 0 || whole.parts.length > 0) {
      // In the order of the calls, even if a line waits.
      const flushed = this.flush();
      await this.#count(this.#writeAll(whole, flushed ?? (this.#unwritten > 0 ? this.#last : undefined)));
      return;
    }
    this.#joined += `${whole.text}\n`;
    const { length } = whole.text;
    if (length > SHORT_CHARS || this.#joined.length > JOINED_CHARS || !this.#expectsMore()) {
      // Most lines are taken at once.
      const flushed = this.flush();
      if (flushed !== undefined) await flushed;
      return;
    }
    if (this.#flushing === undefined) this.#beginJoining();
    await this.#flushing;
  }

  /** Writes the lines that wait. @returns `undefined` if the output has taken them */
  flush(): Promise<void> | undefined {
    const lines = this.#joined;
    const settle = this.#settleJoined;
    this.#joined = "";
    this.#flushing = undefined;
    this.#settleJoined = () => {};
    const taking = lines === "" ? undefined : this.#take(lines);
    if (taking === undefined) {
      settle();
      return undefined;
    }
    return this.#count(taking).finally(settle);
  }

  #beginJoining(): void {
    const sinceMs = performance.now();
    this.#flushing = new Promise((resolve) => {
      this.#settleJoined = resolve;
    });
    const mine = this.#flushing;
    const look = (): void => {
      if (this.#flushing !== mine) return;
      const isLate = performance.now() - sinceMs >= JOINED_MS;
      if (isLate || !this.#expectsMore()) void this.flush();
      else setImmediate(look);
    };
    setImmediate(look);
  }

  /** Counts a write as unwritten until it ends. */
  #count(taking: Promise<void>): Promise<void> {
    this.#unwritten += 1;
    this.#last = taking.finally(() => {
      this.#unwritten -= 1;
    });
    return this.#last;
  }

  async #writeAll(whole: SeparatedJson, before: Promise<void> | undefined): Promise<void> {
    if (before !== undefined) await before;
    if (whole.parts.length === 0) return this.#take(`${whole.text}\n`);
    for (const piece of linePieces(whole, this.#buffers)) await this.#take(piece);
  }

  /** Resolves once the output wants more; of a buffer that is used again, once it is written. */
  #take(piece: string | Buffer): Promise<void> | undefined {
    const output = this.#output;
    const isReused = typeof piece !== "string" && this.#buffers.areReused;
    if (output.destroyed || (!isReused && output.write(piece))) return undefined;
    return new Promise((resolve) => {
      const done = () => {
        output.off("drain", done).off("close", done);
        resolve();
      };
      output.on("close", done);
      if (isReused) output.write(piece, done);
      else output.on("drain", done);
    });
  }
}
