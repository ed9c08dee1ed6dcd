// Finds lines in files of any size, holding one chunk in memory at a time.

import type { CallScope } from "../../core/call/scope.js";
import { type Io, wait } from "../../core/io.js";
import type { OpenFile } from "../../core/ports/open-file.js";
import type { TextCodec } from "./encoding.js";
import { lastLineEnd, lineEnd } from "./text.js";

/** Bytes read at a time; even, so that no UTF-16 code unit is split. */
const CHUNK = 65_536;

/** A file to find lines in. */
export interface LineSource {
  readonly file: OpenFile;
  readonly codec: TextCodec;
  readonly scope: CallScope;
}

/** A range of bytes of a file. */
export interface Window {
  readonly bytes: Buffer;
  /** The file ends here. */
  readonly isLast: boolean;
}

/** Where a line starts. */
export interface LineStart {
  readonly offset: number;
  /** Number of lines of the file, if it ends before the requested line. */
  readonly totalLines?: number;
}

/** Finds the start of a line. @param line 1-based */
export function* seekLine({ file, codec, scope }: LineSource, line: number): Io<LineStart> {
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
export function* countLines({ file, codec, scope }: LineSource, before: number): Io<number> {
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
export function* seekTail({ file, codec, scope }: LineSource, count: number): Io<number> {
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
export function* readWindow(
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

function countFeeds(bytes: Buffer, codec: TextCodec): number {
  let feeds = 0;
  for (let next = lineEnd(bytes, 0, codec); next > 0; next = lineEnd(bytes, next, codec)) feeds++;
  return feeds;
}
