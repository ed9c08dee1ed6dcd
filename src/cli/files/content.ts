// The commands `cat`, `read`, `head` and `tail`.

import { setTimeout as sleep } from "node:timers/promises";
import { conflict } from "../../core/errors/texts.js";
import { type FilePlace, numberOf, placesOf, placeText } from "../arguments/files.js";
import { UsageError } from "../arguments/options.js";
import { warnIncomplete } from "./search.js";
import { type FileSession, forEachItem, printJson } from "./session.js";

/** Bytes per read. */
const CHUNK = 1_048_576;
const TAIL_CHUNK = 65_536;
const DEFAULT_LINES = 10;
/** Time between two looks at a file that is followed, in milliseconds. */
const FOLLOW_MS = 500;
const NEWLINE = 0x0a;
/** Characters of a document, as many as one call gives. */
const MOST_CHARS = 1_000_000;

/**
 * Streams the content of a file, one read per chunk.
 * @throws CONFLICT at the end, if the chunks may be of different versions
 */
export async function* contentOf(place: FilePlace, session: FileSession): AsyncGenerator<Buffer> {
  const length = Math.min(CHUNK, session.maxReadBytes);
  const before = await session.invoke("file:stat", place);
  let offset = 0;
  for (;;) {
    const piece = await pieceOf(place, { offset, length }, session);
    if (piece.bytes.length > 0) yield piece.bytes;
    offset += piece.bytes.length;
    if (piece.isLast) break;
  }
  if (offset <= length) return;
  const { size, modified } = await session.invoke("file:stat", place);
  if (size !== offset || modified !== before.modified) {
    throw conflict(place, { verb: "read", expected: "unchanged" });
  }
}

async function pieceOf(place: FilePlace, range: { offset: number; length: number }, session: FileSession) {
  const { content = "", eof = true } = await session.invoke("file:read", { ...place, ...range, mode: "bytes" });
  const bytes = Buffer.from(content, "base64");
  return { bytes, isLast: eof || bytes.length === 0 };
}

/** `cat` */
export async function cat(session: FileSession<"cat">): Promise<number> {
  const { number: isNumbered } = session.values;
  const numbered = createLineNumbering();
  return forEachItem(placesOf(session), session, async (place) => {
    if (session.json) return printJson(session, await session.invoke("file:read", place));
    for await (const bytes of contentOf(place, session)) await session.out(isNumbered ? numbered(bytes) : bytes);
  });
}

/** `read`: as `cat`, or the text of documents. */
export async function read(session: FileSession<"read">): Promise<number> {
  const { pages, extract } = session.values;
  const maxChars = numberOf("max-chars", session.values["max-chars"]) ?? MOST_CHARS;
  return forEachItem(placesOf(session), session, async (place) => {
    if (!extract) {
      for await (const bytes of contentOf(place, session)) await session.out(bytes);
      return;
    }
    const found = await session.invoke("file:read", { ...place, mode: "extract", maxChars, pages });
    if (session.json) return printJson(session, found);
    await session.out(`${found.text}\n`);
    if (found.truncated) warnIncomplete(session, place, { reason: "limit", hint: found.hint ?? found.meta?.note });
  });
}

/** Numbers lines, continuing across chunks. */
function createLineNumbering(): (bytes: Buffer) => Buffer {
  let line = 0;
  let isAtStart = true;
  return (bytes) => {
    const parts: Buffer[] = [];
    for (let from = 0; from < bytes.length; ) {
      const newline = bytes.indexOf(NEWLINE, from);
      const to = newline < 0 ? bytes.length : newline + 1;
      if (isAtStart) parts.push(Buffer.from(`${String(++line).padStart(6)}\t`));
      parts.push(bytes.subarray(from, to));
      isAtStart = newline >= 0;
      from = to;
    }
    return Buffer.concat(parts);
  };
}

/** `head` */
export async function head(session: FileSession<"head">): Promise<number> {
  const lines = numberOf("lines", session.values.lines) ?? DEFAULT_LINES;
  return showWithTitles(session, async (place) => {
    if (session.json) return printJson(session, await session.invoke("file:read", { ...place, head: lines }));
    let left = lines;
    for await (const bytes of left === 0 ? [] : contentOf(place, session)) {
      const end = endOfLine(bytes, left);
      await session.out(bytes.subarray(0, end.at));
      left = end.left;
      if (left === 0) return;
    }
  });
}

/** Offset after the given number of lines, and how many of them the buffer did not contain. */
function endOfLine(bytes: Buffer, lines: number): { at: number; left: number } {
  let at = 0;
  for (let left = lines; left > 0; left--) {
    const newline = bytes.indexOf(NEWLINE, at);
    if (newline < 0) return { at: bytes.length, left };
    at = newline + 1;
  }
  return { at, left: 0 };
}

/** `tail` */
export async function tail(session: FileSession<"tail">): Promise<number> {
  const lines = numberOf("lines", session.values.lines) ?? DEFAULT_LINES;
  const follows = session.values.follow;
  if (follows && (session.json || session.words.length > 1)) {
    throw new UsageError("'tail -f' follows one file, without --json");
  }
  return showWithTitles(session, async (place) => {
    if (session.json) return printJson(session, await session.invoke("file:read", { ...place, tail: lines }));
    const end = await showFrom(place, await startOfTail(place, lines, session), session);
    if (follows) await follow(place, end, session);
  });
}

/** Shows a file from an offset to its end. @returns the offset of the end */
async function showFrom(place: FilePlace, offset: number, session: FileSession): Promise<number> {
  for (let from = offset; ; ) {
    const piece = await pieceOf(place, { offset: from, length: Math.min(CHUNK, session.maxReadBytes) }, session);
    await session.out(piece.bytes);
    from += piece.bytes.length;
    if (piece.isLast) return from;
  }
}

/** Shows what is appended, until the command is stopped. A file that has become shorter is shown anew. */
async function follow(place: FilePlace, end: number, session: FileSession): Promise<void> {
  const { signal, context } = session;
  try {
    for (let from = end; !signal.aborted; ) {
      await sleep(FOLLOW_MS, undefined, { signal });
      const { size = 0 } = await session.invoke("file:stat", place);
      if (size < from) context.stderr.write(`venue-files: ${placeText(place)}: it has become shorter\n`);
      from = await showFrom(place, size < from ? 0 : from, session);
    }
  } catch (error) {
    // Being stopped is how it ends.
    if (!signal.aborted) throw error;
  }
}

/** Offset of the last `lines` lines, searched backwards from the end. */
async function startOfTail(place: FilePlace, lines: number, session: FileSession): Promise<number> {
  const { size } = await session.invoke("file:read", { ...place, offset: 0, length: 0, mode: "bytes" });
  if (lines === 0) return size;
  let left = lines;
  for (let end = size; end > 0; ) {
    const start = Math.max(0, end - Math.min(TAIL_CHUNK, session.maxReadBytes));
    const { bytes } = await pieceOf(place, { offset: start, length: end - start }, session);
    // A newline at the end of the file terminates the last line and does not start another.
    let at = end === size && bytes.at(-1) === NEWLINE ? bytes.length - 1 : bytes.length;
    for (;;) {
      if (left === 0) return start + at + 1;
      const newline = at === 0 ? -1 : bytes.lastIndexOf(NEWLINE, at - 1);
      if (newline < 0) break;
      at = newline;
      left--;
    }
    end = start;
  }
  return 0;
}

/** Prints a title line before each file if there are several. */
function showWithTitles(session: FileSession, show: (place: FilePlace) => Promise<void>): Promise<number> {
  const places = placesOf(session);
  return forEachItem(places, session, async (place) => {
    if (places.length > 1 && !session.json) {
      await session.out(`${place === places[0] ? "" : "\n"}==> ${placeText(place)} <==\n`);
    }
    await show(place);
  });
}
