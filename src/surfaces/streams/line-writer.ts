// Writes lines to a stream with back-pressure: short ones joined, long ones in pieces.

import { Socket } from "node:net";
import type { Writable } from "node:stream";
import { ContentBytes } from "../../core/content-bytes.js";
import { jsonBytes, putJson } from "./json-bytes.js";
import { escapePieces, type SeparatedJson, separateParts, textsBetweenMarks } from "./json-pieces.js";

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

// A JSON line with content in bytes, as buffers of bounded size.

/** Most bytes of a line that is written at once. */
const ONE_PIECE_BYTES = 262_144;
/** Size of a piece of longer lines, in bytes. */
const PIECE_BYTES = 65_536;
/** Room for escapes, as a factor: usual texts have one in thirty characters. Where it does not do, there is another piece. */
const ESCAPES = 1.25;
/** Space that a piece keeps for the next escape, in bytes. */
const MARGIN = 8;
/** Most bytes of a UTF-16 code unit in UTF-8. */
const UNIT_BYTES = 3;

/** The buffers of pieces: one, where each piece is gone before the next is made. New ones burden the garbage collector. */
class PieceBuffers {
  readonly areReused: boolean;
  #kept: Buffer = Buffer.alloc(0);

  constructor(areReused: boolean) {
    this.areReused = areReused;
  }

  /** A buffer of at least so many bytes. */
  take(bytes: number): Buffer {
    if (!this.areReused) return Buffer.allocUnsafe(bytes);
    if (this.#kept.length < bytes) this.#kept = Buffer.allocUnsafe(bytes);
    return this.#kept;
  }
}

/** A line in pieces, each made when the one before it has been written. */
function* linePieces(whole: SeparatedJson, buffers: PieceBuffers): Generator<Buffer> {
  const around = textsBetweenMarks(whole);
  const filling = new Filling(likelyBytes(whole), buffers);
  for (const [index, part] of whole.parts.entries()) {
    yield* filling.addText(around[index] ?? "");
    if (part instanceof ContentBytes) yield* filling.addContent(part);
    else for (const text of escapePieces(part)) yield* filling.addText(text);
  }
  yield* filling.addText(`${around.at(-1) ?? ""}\n`);
  yield filling.taken();
}

const likelyBytes = ({ text, parts }: SeparatedJson): number =>
  parts.reduce(
    (sum, one) => sum + (one instanceof ContentBytes ? jsonBytes(one) * ESCAPES : one.length * UNIT_BYTES),
    text.length * UNIT_BYTES + MARGIN,
  );

/** Fills one buffer after the other. */
class Filling {
  readonly #bytes: number;
  readonly #buffers: PieceBuffers;
  #begun: Buffer | undefined;
  #length = 0;

  constructor(likely: number, buffers: PieceBuffers) {
    this.#bytes = likely > ONE_PIECE_BYTES ? PIECE_BYTES : Math.ceil(likely);
    this.#buffers = buffers;
  }

  *addText(text: string): Generator<Buffer> {
    for (let start = 0; start < text.length; ) {
      const piece = this.#piece;
      let end = Math.min(text.length, start + Math.floor((piece.length - this.#length) / UNIT_BYTES));
      // Both halves of a surrogate pair go together.
      if (end < text.length && (text.charCodeAt(end) & 0xfc00) === 0xdc00) end -= 1;
      if (end > start) this.#length += piece.write(text.slice(start, end), this.#length, "utf8");
      else yield this.taken();
      start = Math.max(start, end);
    }
  }

  *addContent(content: ContentBytes): Generator<Buffer> {
    for (let from = 0; from < content.bytes.length; ) {
      if (this.#piece.length - this.#length < MARGIN) yield this.taken();
      const step = putJson(content, { from, into: this.#piece, at: this.#length });
      from += step.taken;
      this.#length += step.put;
    }
  }

  /** The bytes put so far. */
  taken(): Buffer {
    const taken = this.#piece.subarray(0, this.#length);
    this.#begun = undefined;
    this.#length = 0;
    return taken;
  }

  get #piece(): Buffer {
    this.#begun ??= this.#buffers.take(this.#bytes);
    return this.#begun;
  }
}
