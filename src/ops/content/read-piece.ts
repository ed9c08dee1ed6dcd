// Builds the answer of a read from the bytes that were found.

import { attachContent, ContentBytes } from "../../core/content-bytes.js";
import { notText } from "../../core/errors/texts.js";
import type { Stamp } from "../../core/ports/open-file.js";
import type { ReadOutput } from "../../schema/types.js";
import { holdAnswer } from "./answer-room.js";
import { numbered } from "./cut-to-budget.js";
import { type TextCodec, UTF8 } from "./encoding.js";
import { etagFor } from "./file-etag.js";
import { mimeOf } from "./mime.js";
import type { Reading } from "./reading.js";
import { isText, textIn } from "./text.js";

const NOTHING = Buffer.alloc(0);
/** Content from this many bytes on is carried as bytes; less is as quickly a string. */
const CARRIED_BYTES = 4096;

/** The bytes of a file that an answer returns. */
export interface Piece {
  readonly bytes: Buffer;
  /** Their offset in the file. */
  readonly offset: number;
  /** Bytes read from the start of the file, if any were: they determine its media type. */
  readonly head?: Buffer | undefined;
  /** Size of the whole file in bytes. */
  readonly size: number;
  readonly stamp: Stamp | undefined;
  /** Absent: it is not text. */
  readonly codec: TextCodec | undefined;
  /** Why it is less than requested. */
  readonly reason?: "limit" | "bytes" | undefined;
  /** Number of its first line, if known. */
  readonly startLine?: number | undefined;
  /** Number of its lines, including an incomplete last one. Absent: a range of bytes was requested. */
  readonly lines?: number;
  /** It ends inside its last line. */
  readonly isTorn?: boolean;
  readonly totalLines?: number | undefined;
  /** Bytes before it that were asked for too. */
  readonly omitted?: number;
}

/** The media type. @param head the first bytes of the file, if they were read, else empty: no others determine it */
export const mimeAt = ({ call }: Reading, head: Buffer, text: () => boolean): string =>
  mimeOf(call.path.segments.at(-1) ?? "", { head, isText: text });

type WholePiece = Pick<Piece, "bytes" | "size" | "stamp" | "codec">;

/** The answer for a whole file. */
export function wholeOutput(reading: Reading, piece: WholePiece): ReadOutput {
  const { bytes, size } = piece;
  const content = contentOf(reading, piece);
  const { encoding } = content;
  // Added one by one: copies into a literal are slow, and this runs at every read.
  const output: ReadOutput = Object.assign(content, {
    size,
    mime: mimeAt(reading, bytes, () => encoding !== "base64" || isText(bytes)),
  });
  const { etag, hash } = etagFor(reading.call, piece.stamp, bytes.length >= size ? bytes : undefined);
  if (etag !== undefined) output.etag = etag;
  if (hash !== undefined) output.hash = hash;
  return output;
}

/** The answer for a range of a file. */
export function pieceOutput(reading: Reading, piece: Piece): ReadOutput {
  const { bytes, offset, size, stamp, reason } = piece;
  const content = contentOf(reading, piece);
  const { encoding } = content;
  const end = offset + bytes.length;
  const eof = end >= size;
  const isWhole = offset === 0 && eof;
  return {
    ...content,
    size,
    mime: mimeAt(reading, piece.head ?? (offset === 0 ? bytes : NOTHING), () => encoding !== "base64" || isText(bytes)),
    ...etagFor(reading.call, stamp, isWhole ? bytes : undefined),
    truncated: !eof,
    complete: reason === undefined,
    ...(reason === undefined ? {} : { reason }),
    ...linesOf(piece, eof),
    ...{ offset, length: bytes.length, eof },
    ...(eof ? {} : { nextOffset: end }),
    ...(piece.omitted === undefined ? {} : { omitted: piece.omitted }),
    ...(totalOf(piece, eof) ?? {}),
    totalBytes: size,
  };
}

function contentOf(
  reading: Reading,
  { bytes, codec, startLine = 1 }: Pick<Piece, "bytes" | "codec" | "startLine">,
): { content?: string; encoding: string } {
  const { mode, call, request } = reading;
  // Mode `text` only promises valid text, and a NUL is valid.
  const rule = { allowNul: mode === "text" };
  const isCarried = reading.takesBytes && bytes.length >= CARRIED_BYTES;
  if (isCarried && codec === UTF8 && mode !== "bytes" && isText(bytes, rule)) {
    return { ...attachContent(new ContentBytes(bytes, "utf-8")), encoding: codec.name };
  }
  const text = mode === "bytes" || codec === undefined ? undefined : textIn(bytes, codec, rule);
  if (text === undefined || codec === undefined) {
    if (mode === "text") throw notText(call.access.place, reading.encoding);
    if (isCarried) return { ...attachContent(new ContentBytes(bytes, "base64")), encoding: "base64" };
    return { content: bytes.toString("base64"), encoding: "base64" };
  }
  // Room was made for the bytes alone.
  if (isCarried) holdAnswer(call, bytes.length);
  return { content: request.lineNumbers === true ? numbered(text, startLine) : text, encoding: codec.name };
}

function linesOf(piece: Piece, eof: boolean): { startLine?: number; endLine?: number; nextLine?: number } {
  const { startLine, lines, isTorn } = piece;
  if (startLine === undefined || lines === undefined) return {};
  const next = startLine + lines;
  return {
    ...(lines > 0 ? { startLine, endLine: next - 1 } : {}),
    ...(eof || isTorn === true ? {} : { nextLine: next }),
  };
}

function totalOf({ startLine, lines, totalLines }: Piece, eof: boolean): { totalLines: number } | undefined {
  if (totalLines !== undefined) return { totalLines };
  return eof && startLine !== undefined && lines !== undefined ? { totalLines: startLine + lines - 1 } : undefined;
}
