import { tooLargeToRead } from "../../core/texts.js";
import type { ReadInput } from "../../schema/types.js";
import { type FilePlace, hashAt, hashOfText, readRange } from "./files.js";
import { cutLines, type LineRange, lineOutOfRange, withoutMark } from "./lines.js";
import { type FileSession, keyOf } from "./session.js";

export interface TextRead {
  readonly content: string;
  /** The buffer that was shown, and the file, have both changed. */
  readonly conflict: boolean;
  /** Hash of the file, where all of it was seen. */
  readonly hash?: string | null;
}

export interface ReadRequest {
  readonly place: FilePlace;
  /** Absent: all of it. */
  readonly range: LineRange | undefined;
  /** Whether the hash of what was read is wanted. */
  readonly hashes: boolean;
  readonly signal: AbortSignal;
}

/** The text of a file as its user sees it: an open buffer, else the disk. Without a byte order mark. @throws FileAdapterError, InvalidParams */
export async function readText(session: FileSession, request: ReadRequest): Promise<TextRead> {
  const buffered = await readBuffer(session, request);
  return buffered ?? readDisk(session, request);
}

async function readBuffer(session: FileSession, { place, range, signal }: ReadRequest): Promise<TextRead | undefined> {
  const { buffers, calls, host } = session;
  const key = keyOf(place);
  if (buffers.get(key) === undefined) return undefined;
  // Also asked for a file that is not there yet: it decides whether the session may read here at all.
  const hash = (await hashAt(calls, place, signal)) ?? null;
  const shown = buffers.shown(key, hash);
  if (shown === undefined) return undefined;
  const text = withoutMark(shown.text);
  const content = range === undefined ? text : cutLines(text, range);
  const size = Buffer.byteLength(content);
  const { maxReadBytes = size } = host;
  if (size > maxReadBytes) throw tooLargeToRead(place, size, maxReadBytes, "");
  return { content, conflict: shown.conflict, hash };
}

async function readDisk(
  { calls, host }: FileSession,
  { place, range, hashes, signal }: ReadRequest,
): Promise<TextRead> {
  const { maxReadBytes } = host;
  const input: ReadInput = {
    ...place,
    ...{ mode: "text", encoding: "utf-8" },
    ...(maxReadBytes === undefined ? {} : { maxBytes: maxReadBytes }),
    ...(range === undefined ? {} : { line: range.line }),
    ...(range?.limit === undefined ? {} : { limit: range.limit }),
  };
  const { content = "", complete, size, totalLines } = await readRange(calls, input, signal);
  // Less than was asked for would look like all of it.
  if (complete === false) throw tooLargeToRead(place, size, maxReadBytes ?? Buffer.byteLength(content), "");
  if (range !== undefined && totalLines !== undefined && range.line > totalLines + 1) throw lineOutOfRange(totalLines);
  const isWhole = range === undefined;
  const text = range === undefined || range.line === 1 ? withoutMark(content) : content;
  return { content: text, conflict: false, ...(hashes && isWhole ? { hash: hashOfText(content) } : {}) };
}
