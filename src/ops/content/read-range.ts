// Reads ranges of lines, and ranges of bytes as whole characters, from files of any size.

import type { CallScope } from "../../core/call/scope.js";
import { type Io, wait } from "../../core/io.js";
import type { OpenFile } from "../../core/ports/open-file.js";
import type { ReadOutput } from "../../schema/types.js";
import { describeFile, describesBytes, mostBase64 } from "../rendering/describe-file.js";
import { type Cut, cutLines, cutTail } from "./cut-to-budget.js";
import { codecOf, type TextCodec, UTF8 } from "./encoding.js";
import { holdAnswer, isOpenEnded, type Piece, pieceOutput, type Reading, rangeOf } from "./reading.js";
import {
  characterEnd,
  characterLength,
  characterStart,
  countFeeds,
  endsCodePoint,
  lastLineEnd,
  lineEnd,
} from "./text.js";

/** Bytes fetched beyond a range of text, so that its end can move to a character boundary. */
const MARGIN = 4;
/** Bytes fetched before a range in encodings that are not self-synchronising, to find character boundaries. */
const WIDE_MARGIN = 256;
const MARK_BYTES = 2;
const EVERY_LINE = Number.POSITIVE_INFINITY;

/** Reads a range of lines. */
export const readLines = (reading: Reading): Io<ReadOutput> =>
  withFile(reading, (source, codec) =>
    reading.request.tail === undefined
      ? findLines(reading, source, codec)
      : findTail(reading, source, { codec, tail: reading.request.tail }),
  );

function* findLines(reading: Reading, source: LineSource, codec: TextCodec | undefined): Io<Found> {
  const { request } = reading;
  const { line = 1 } = request;
  const { offset, totalLines } = yield* seekLine(source, line);
  const startLine = totalLines === undefined ? line : undefined;
  const maxLines = request.limit ?? request.head ?? reading.mostLines;
  const most = { lines: maxLines, bytes: reading.mostCut + MARGIN };
  const { bytes, isLast } = yield* readWindow(source, offset, most);
  const numberedFrom = request.lineNumbers === true ? startLine : undefined;
  const room = { codec: source.codec, maxBytes: reading.mostCut, maxLines, isLast, numberedFrom };
  const { end, lines, by, isTorn } = cutLines(bytes, room);
  const size = Math.max(source.file.size, bytes.length === 0 ? 0 : offset + bytes.length);
  const isShort = by === "bytes" || (isOpenEnded(request) && offset + end < size);
  return {
    ...{ codec, lines, isTorn, offset, startLine, totalLines },
    bytes: bytes.subarray(0, end),
    head: offset === 0 ? bytes : undefined,
    size,
    reason: isShort ? by : undefined,
  };
}

/** Finds the last lines; where they do not fit, their end. */
function* findTail(
  { request: { lineNumbers = false }, mostCut: maxBytes }: Reading,
  source: LineSource,
  { codec, tail }: { codec: TextCodec | undefined; tail: number },
): Io<Found> {
  const { size } = source.file;
  const first = yield* seekTail(source, tail);
  const end = Math.max(0, size - maxBytes);
  const from = Math.max(first, end - marginBefore(end, source.codec));
  const { bytes } = yield* readWindow(source, from, { lines: EVERY_LINE, bytes: size - from });
  const lineOfWindow = lineNumbers || from === 0 ? 1 + (yield* countLines(source, from)) : undefined;
  const lastLine = (lineOfWindow ?? 1) + countFeeds(bytes, source.codec);
  const room = { codec: source.codec, maxBytes, maxLines: EVERY_LINE, isLast: true };
  const { start, lines, by } = cutTail(bytes, room, lineNumbers ? String(lastLine).length + 1 : 0);
  const omitted = from + start - first;
  return {
    ...{ codec, lines, offset: from + start, bytes: bytes.subarray(start) },
    ...{ head: from + start === 0 ? bytes : undefined, size: Math.max(size, from + bytes.length), reason: by },
    startLine: lineOfWindow && lineOfWindow + countFeeds(bytes.subarray(0, start), source.codec),
    ...(omitted > 0 && { omitted }),
  };
}

/** Reads a range of bytes that may be text. */
export const readTextRange = (reading: Reading): Io<ReadOutput> =>
  withFile(reading, (source, codec) => findText(reading, source, codec));

function* findText(reading: Reading, source: LineSource, codec: TextCodec | undefined): Io<Found> {
  const { offset = 0, length = Number.POSITIVE_INFINITY, lineNumbers } = reading.request;
  const wanted = Math.min(length, reading.mostCut);
  const before = marginBefore(offset, source.codec);
  const most = { lines: EVERY_LINE, bytes: before + wanted + 2 * MARGIN };
  const window = yield* readWindow(source, offset - before, most);
  const size = Math.max(source.file.size, window.bytes.length === 0 ? 0 : offset - before + window.bytes.length);
  const range = codec === undefined ? undefined : wholeCharacters(window, { before, wanted, codec });
  const head = offset === 0 ? window.bytes : undefined;
  const raw = { codec: undefined, head, offset, bytes: window.bytes.subarray(before, before + wanted), size };
  const wasCut = length > wanted && before + wanted < window.bytes.length;
  const reason = wasCut ? "bytes" : undefined;
  if (range === undefined) return { ...raw, reason };
  const start = offset + Math.max(0, range.start - before);
  const slice = window.bytes.subarray(range.start, range.end);
  const startLine = lineNumbers === true ? 1 + (yield* countLines(source, start)) : undefined;
  const maxLines = reading.mostLines;
  if (reason === undefined && startLine === undefined && source.codec === UTF8 && maxLines === EVERY_LINE) {
    return { codec, head, offset: start, bytes: slice, size };
  }
  const room = { codec: source.codec, maxBytes: reading.mostCut, maxLines, isLast: !wasCut };
  const cut: Cut = cutLines(slice, { ...room, numberedFrom: startLine });
  const piece = { codec, head, offset: start, bytes: slice.subarray(0, cut.end), size, startLine };
  return { ...piece, reason: cut.by ?? reason };
}

/** A piece before the stamp of its file is known. */
type Found = Omit<Piece, "stamp">;

/** Opens the file, finds the piece, and closes the file. */
function* withFile(
  reading: Reading,
  find: (source: LineSource, codec: TextCodec | undefined) => Io<Found>,
): Io<ReadOutput> {
  const { call } = reading;
  const file = yield* wait(call.root.backend.open(call.path, call.access));
  try {
    const codec =
      reading.mode === "bytes" ? undefined : codecOf(yield* wait(file.read(0, MARK_BYTES)), reading.encoding);
    const source = { file, codec: codec ?? UTF8, scope: call.access.scope };
    const piece = yield* find(source, codec);
    holdAnswer(call, piece.bytes.length);
    const output = pieceOutput(reading, { stamp: file.stamp, ...piece });
    if (output.encoding !== "base64") return output;
    if (describesBytes(reading) && rangeOf(reading.request) !== "bytes") return yield* describeFile(reading);
    const most = mostBase64(reading);
    if (piece.bytes.length <= most) return output;
    const bytes = piece.bytes.subarray(0, most);
    return pieceOutput(reading, { ...piece, bytes, codec: undefined, stamp: file.stamp, reason: "bytes" });
  } finally {
    file.close();
  }
}

function marginBefore(offset: number, codec: TextCodec): number {
  const margin = Math.min(offset, codec === UTF8 ? MARGIN : WIDE_MARGIN);
  return margin + ((offset - margin) % codec.unit);
}

/** Shrinks a range to whole characters. One without any becomes the next character, so that reading on advances. */
function wholeCharacters(
  { bytes }: Window,
  { before, wanted, codec }: { before: number; wanted: number; codec: TextCodec },
): { start: number; end: number } | undefined {
  const start = Math.min(bytes.length, characterStart(bytes, Math.min(before, bytes.length), codec));
  if (codec === UTF8 && start > before && !endsCodePoint(bytes, start)) return undefined;
  const end = characterEnd(bytes, start, { at: Math.min(before + wanted, bytes.length), codec });
  const isEmpty = wanted > 0 && end <= start;
  return { start, end: isEmpty ? Math.min(bytes.length, start + characterLength(bytes, start, codec)) : end };
}

// Finds lines in files of any size, holding one chunk in memory at a time.

/** Bytes read at a time; even, so that no UTF-16 code unit is split. */
const CHUNK = 65_536;

/** A file to find lines in. */
interface LineSource {
  readonly file: OpenFile;
  readonly codec: TextCodec;
  readonly scope: CallScope;
}

/** A range of bytes of a file. */
interface Window {
  readonly bytes: Buffer;
  /** The file ends here. */
  readonly isLast: boolean;
}

/** Where a line starts. */
interface LineStart {
  readonly offset: number;
  /** Number of lines of the file, if it ends before the requested line. */
  readonly totalLines?: number;
}

/** Finds the start of a line. @param line 1-based */
function* seekLine({ file, codec, scope }: LineSource, line: number): Io<LineStart> {
  let offset = 0;
  let passed = 0;
  let isTerminated = true;
  while (passed < line - 1) {
    const bytes = yield* wait(file.read(offset, CHUNK));
    let end = 0;
    for (let next = lineEnd(bytes, 0, codec); next > 0; next = lineEnd(bytes, end, codec)) {
      end = next;
      if (++passed === line - 1) break;
    }
    if (passed === line - 1) return { offset: offset + end };
    if (bytes.length > 0) isTerminated = end === bytes.length;
    offset += bytes.length;
    if (bytes.length < CHUNK) return { offset, totalLines: passed + (isTerminated ? 0 : 1) };
    yield* scope.breathe();
  }
  return { offset };
}

/** Counts the line feeds before an offset. */
function* countLines({ file, codec, scope }: LineSource, before: number): Io<number> {
  let lines = 0;
  for (let offset = 0; offset < before; ) {
    const bytes = yield* wait(file.read(offset, Math.min(CHUNK, before - offset)));
    if (bytes.length === 0) break;
    lines += countFeeds(bytes, codec);
    offset += bytes.length;
    yield* scope.breathe();
  }
  return lines;
}

/** Finds the start of the last `count` lines, searching backwards. */
function* seekTail({ file, codec, scope }: LineSource, count: number): Io<number> {
  const { size } = file;
  if (count === 0) return size;
  let missing = count;
  for (let end = size; end > 0; ) {
    const start = Math.max(0, end - (end % CHUNK || CHUNK));
    const bytes = yield* wait(file.read(start, end - start));
    for (let before = bytes.length; before > 0; ) {
      const found = lastLineEnd(bytes, before, codec);
      if (found === 0) break;
      // No line starts after the terminator of the last line.
      if (start + found < size && --missing === 0) return start + found;
      before = found - codec.unit;
    }
    end = start;
    yield* scope.breathe();
  }
  return 0;
}

/** Reads from an offset until there are at least so many lines or bytes, or the file ends. */
function* readWindow(
  { file, codec, scope }: LineSource,
  from: number,
  most: { readonly lines: number; readonly bytes: number },
): Io<Window> {
  const parts: Buffer[] = [];
  let length = 0;
  let lines = 0;
  let isLast = false;
  while (!isLast && length < most.bytes && lines < most.lines) {
    const wanted = Math.min(CHUNK, most.bytes - length);
    const bytes = yield* wait(file.read(from + length, wanted));
    isLast = bytes.length < wanted;
    parts.push(bytes);
    length += bytes.length;
    if (Number.isFinite(most.lines)) lines += countFeeds(bytes, codec);
    yield* scope.breathe();
  }
  return { bytes: parts.length === 1 && parts[0] !== undefined ? parts[0] : Buffer.concat(parts, length), isLast };
}
