// A read: its mode, its range, its effective limits, and the answer for what was read.

import { attachContent, ContentBytes } from "../../core/content-bytes.js";
import { invalidInput, notText } from "../../core/errors/texts.js";
import { NeedsMemory } from "../../core/memory.js";
import type { Stamp } from "../../core/ports/open-file.js";
import type { Call, FileCall } from "../../core/ports/operation.js";
import type { ReadInput, ReadOutput } from "../../schema/types.js";
import { numbered } from "./cut-to-budget.js";
import { checkEncoding, type TextCodec, UTF8 } from "./encoding.js";
import { etagFor } from "./file-etag.js";
import { mimeOf } from "./mime.js";
import { isText, textIn } from "./text.js";

/** The input of a read, without the path. */
export type ReadRequest = Omit<ReadInput, "root" | "path">;

export type Mode = "auto" | "text" | "bytes" | "json" | "extract";
type RangeKind = "lines" | "head" | "tail" | "bytes";

/** Input fields of each kind of range; only one kind may be given. */
const RANGES: Readonly<Record<RangeKind, readonly (keyof ReadRequest)[]>> = {
  lines: ["line", "limit"],
  head: ["head"],
  tail: ["tail"],
  bytes: ["offset", "length"],
};
const KINDS = ["lines", "head", "tail", "bytes"] as const satisfies readonly RangeKind[];

/** One read of one file, with its limits. Sizes are in bytes. */
export interface Reading {
  readonly request: ReadRequest;
  readonly call: FileCall;
  readonly mode: Mode;
  /** The encoding of the file, if given by the call or the root. */
  readonly encoding: string | undefined;
  /** The most that any `maxBytes` gives. */
  readonly ceiling: number;
  /** Maximum size of content that is returned whole or not at all; JSON has {@link mostCut}. */
  readonly mostWhole: number;
  /** Maximum size of content that may be cut. */
  readonly mostCut: number;
  /** Maximum number of lines of content that may be cut. */
  readonly mostLines: number;
  /** The answer may carry the content as bytes. */
  readonly takesBytes: boolean;
}

export function readingOf(request: ReadRequest, call: FileCall): Reading {
  const { budget, limits, root } = call;
  const ceiling = Math.min(budget?.maxBytes ?? limits.maxReadBytes, limits.maxReadBytes);
  const { maxBytes = ceiling, mode } = request;
  const mostWhole = Math.min(maxBytes, ceiling);
  const byDefault = request.maxBytes === undefined ? budget : undefined;
  const isRange = rangeOf(request) !== undefined;
  return {
    request,
    call,
    ceiling,
    mostWhole,
    mode: mode === undefined || mode === "" ? "auto" : mode,
    encoding: request.encoding ?? root.encoding,
    mostCut: Math.min(byDefault?.defaultBytes ?? mostWhole, mostWhole),
    // A range is a window of the file, numbered lines are made here: neither is worth it.
    takesBytes: call.takesBytes && !isRange && request.lineNumbers !== true,
    mostLines: (isRange ? undefined : byDefault?.defaultLines) ?? Number.POSITIVE_INFINITY,
  };
}

/** The kind of range; `undefined`: the whole file. Runs at every read, so it allocates nothing. */
export function rangeOf({ line, limit, head, tail, offset, length }: ReadRequest): RangeKind | undefined {
  if (line !== undefined || limit !== undefined) return "lines";
  if (head !== undefined) return "head";
  if (tail !== undefined) return "tail";
  return offset !== undefined || length !== undefined ? "bytes" : undefined;
}

/** Whether the end of the file alone ends what is read. */
export function isOpenEnded(request: ReadRequest): boolean {
  const range = rangeOf(request);
  if (range === "lines") return request.limit === undefined;
  return range === undefined || (range === "bytes" && request.length === undefined);
}

/** Checks what the schema cannot express. @throws INVALID_INPUT */
export function checkRequest(request: ReadRequest): void {
  const { mode, encoding } = request;
  const range = rangeOf(request);
  if (range !== undefined) checkOneRange(request);
  if ((mode === "json" || mode === "extract") && range !== undefined) {
    throw invalidInput("'mode' must be one of: auto, text, bytes when a range is given", "/mode", "auto, text, bytes");
  }
  for (const field of ["pages", "maxChars"] as const) {
    if (mode !== "extract" && request[field] !== undefined) {
      throw invalidInput(`'${field}' is for mode: extract`, `/${field}`, `no ${field}`);
    }
  }
  if (mode !== undefined && mode !== "auto" && mode !== "text" && mode !== "" && request.lineNumbers === true) {
    throw invalidInput("'mode' must be one of: auto, text with lineNumbers", "/mode", "auto, text");
  }
  if (encoding === undefined) return;
  if (mode === "bytes") throw invalidInput("'encoding' is not for mode: bytes", "/encoding", "no encoding");
  checkEncoding(encoding);
}

function checkOneRange(request: ReadRequest): void {
  const [, second] = KINDS.filter((kind) => RANGES[kind].some((field) => request[field] !== undefined));
  if (second === undefined) return;
  const field = RANGES[second].find((one) => request[one] !== undefined);
  const expected = "one of line+limit, head, tail, offset+length";
  throw invalidInput(`Only ${expected} may be given`, `/${field}`, expected);
}

/** Memory per byte of a file, by how it is sent. */
const WEIGHTS = {
  /** The byte alone. */
  bytes: 1,
  /** As text or base64: the byte, and a string of up to two bytes per character. */
  text: 3,
  /** As a JSON value: values are much larger than their text. */
  values: 10,
  /** To be edited: bytes and text, before and after. */
  edit: 6,
} as const;

/** Reserves memory for an answer before it is built. @param bytes size of the file content in it @throws NeedsMemory */
export function holdAnswer({ memory }: Call, bytes: number, as: keyof typeof WEIGHTS = "text"): void {
  if (memory === undefined) return;
  const needed = bytes * WEIGHTS[as];
  if (!memory.tryHold(needed)) throw new NeedsMemory(needed);
}

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
  /** The part read ends inside its last line. */
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
