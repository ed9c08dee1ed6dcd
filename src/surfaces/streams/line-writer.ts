import { Socket } from "node:net";
import type { Writable } from "node:stream";
import { type Apart, apart } from "./json-pieces.js";
import { linePieces, PieceBuffers } from "./line-pieces.js";

/** Message size in bytes from which a message is written in pieces. */
const LARGE_BYTES = 1_048_576;

/** Writes values as JSON lines, one after the other, respecting backpressure of the output. */
export class LineWriter {
  readonly #output: Writable;
  #last: Promise<void> = Promise.resolve();
  #unwritten = 0;
  readonly #buffers: PieceBuffers;

  constructor(output: Writable) {
    this.#output = output;
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
    const whole = apart(value, heldBytes >= LARGE_BYTES);
    const isNext = this.#unwritten === 0;
    // Most lines are small, and taken at once.
    const isSmall = isNext && whole.parts.length === 0;
    const taking = isSmall ? this.#take(`${whole.text}\n`) : this.#writeAll(whole, isNext ? undefined : this.#last);
    if (taking === undefined) return;
    this.#unwritten += 1;
    this.#last = taking.finally(() => {
      this.#unwritten -= 1;
    });
    await this.#last;
  }

  async #writeAll(whole: Apart, before: Promise<void> | undefined): Promise<void> {
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
