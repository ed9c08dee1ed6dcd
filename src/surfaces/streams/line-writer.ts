import type { Writable } from "node:stream";
import { jsonPieces } from "./json-pieces.js";

/** Bytes held for a message from which it is written in pieces. */
const LARGE_BYTES = 1_048_576;

/** Writes values as lines of JSON, one after the other, no faster than they are read. */
export class LineWriter {
  readonly #output: Writable;
  #last: Promise<void> = Promise.resolve();
  #unwritten = 0;

  constructor(output: Writable) {
    this.#output = output;
  }

  /** Whether what was written has not been read yet. */
  get isBehind(): boolean {
    return this.#unwritten > 0 || this.#output.writableNeedDrain;
  }

  /** @param heldBytes that the value takes @returns once it is taken @throws what makes it impossible to write */
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
