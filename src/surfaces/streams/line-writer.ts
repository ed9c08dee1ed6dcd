import type { Writable } from "node:stream";
import { jsonPieces } from "./json-pieces.js";

/** Message size in bytes from which a message is written in pieces. */
const LARGE_BYTES = 1_048_576;

/** Writes values as JSON lines, one after the other, respecting backpressure of the output. */
export class LineWriter {
  readonly #output: Writable;
  #last: Promise<void> = Promise.resolve();
  #unwritten = 0;

  constructor(output: Writable) {
    this.#output = output;
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
    const pieces = heldBytes < LARGE_BYTES ? [JSON.stringify(value)] : jsonPieces(value);
    const before = this.#unwritten === 0 ? undefined : this.#last;
    this.#unwritten += 1;
    this.#last = this.#writeAll(pieces, before).finally(() => {
      this.#unwritten -= 1;
    });
    await this.#last;
  }

  async #writeAll(pieces: Iterable<string>, before: Promise<void> | undefined): Promise<void> {
    if (before !== undefined) await before;
    let last: string | undefined;
    for (const piece of pieces) {
      if (last !== undefined) await this.#take(last);
      last = piece;
    }
    await this.#take(`${last}\n`);
  }

  #take(text: string): Promise<void> | undefined {
    const output = this.#output;
    if (output.destroyed || output.write(text)) return undefined;
    return new Promise((resolve) => {
      const done = () => {
        output.off("drain", done).off("close", done);
        resolve();
      };
      output.on("drain", done).on("close", done);
    });
  }
}
