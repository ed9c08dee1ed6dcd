// A JSON line with content in bytes, as buffers of bounded size.

import { ContentBytes } from "../../core/content-bytes.js";
import { jsonBytes, putJson } from "./json-bytes.js";
import { escapePieces, type SeparatedJson, textsBetweenMarks } from "./json-pieces.js";

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
export class PieceBuffers {
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
export function* linePieces(whole: SeparatedJson, buffers: PieceBuffers): Generator<Buffer> {
  const around = textsBetweenMarks(whole);
  const filling = new Filling(likelyBytes(whole), buffers);
  for (const [index, part] of whole.parts.entries()) {
    yield* filling.addText(around[index] ?? "");
    if (part instanceof ContentBytes) {
      yield* filling.addContent(part);
      part.release();
    } else for (const text of escapePieces(part)) yield* filling.addText(text);
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
