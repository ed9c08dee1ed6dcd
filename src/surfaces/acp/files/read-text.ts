import { tooLargeToRead } from "../../../core/errors/texts.js";
import type { ReadInput } from "../../../schema/types.js";
import { type FileSession, keyOf } from "../protocol/session.js";
import { type FilePlace, hashAt, hashOfText, readRange } from "./files.js";
import { cutLines, type LineRange, lineOutOfRange, withoutMark } from "./lines.js";

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
  const { buffers, calls } = session;
  // Nearly always: which file it is need not be known then.
  if (buffers.isEmpty) return readDisk(session, request);
  const key = await keyOf(calls, request.place, request.signal);
  return buffers.get(key) === undefined ? readDisk(session, request) : readBuffer(session, request, key);
}

async function readBuffer(session: FileSession, request: ReadRequest, key: string): Promise<TextRead> {
  const { buffers, calls, host } = session;
  const { place, range, signal } = request;
  // Also asked for a file that is not there yet: it decides whether the session may read here at all.
  const hash = (await hashAt(calls, place, signal)) ?? null;
  const shown = buffers.shown(key, hash);
  if (shown === undefined) return readDisk(session, request);
  const text = withoutMark(shown.text);
  const content = range === undefined ? text : cutLines(text, range);
  const size = Buffer.byteLength(content);
  const { maxReadBytes = size } = host;
  if (size > maxReadBytes) throw tooLargeToRead(place, size, maxReadBytes, "");
  return { content, conflict: shown.conflict, hash };
}

async function readDisk({ calls, host }: FileSession, request: ReadRequest): Promise<TextRead> {
  const { range, place, hashes, signal } = request;
  const { maxReadBytes } = host;
  const input = inputFor(place, range, maxReadBytes);
  let output = await readRange(calls, input, signal);
  // UTF-16, or what the option of the root names: it is text only if it is UTF-8 as well.
  if (output.encoding !== "utf-8") output = await readRange(calls, { ...input, encoding: "utf-8" }, signal);
  const { content = "", complete, size, totalLines } = output;
  // Less than was asked for would look like all of it.
  if (complete === false) throw tooLargeToRead(place, size, maxReadBytes ?? Buffer.byteLength(content), "");
  if (range !== undefined && totalLines !== undefined && range.line > totalLines + 1) throw lineOutOfRange(totalLines);
  const text = range === undefined || range.line === 1 ? withoutMark(content) : content;
  return hashes && range === undefined
    ? { content: text, conflict: false, hash: hashOfText(content) }
    : { content: text, conflict: false };
}

/** Written out, since most reads are of the first kind: a spread makes an object of the slow kind. */
function inputFor({ root, path }: FilePlace, range: LineRange | undefined, maxBytes: number | undefined): ReadInput {
  if (range === undefined && maxBytes === undefined) return { root, path, mode: "text" };
  return {
    ...{ root, path, mode: "text" },
    ...(maxBytes === undefined ? {} : { maxBytes }),
    ...(range === undefined ? {} : { line: range.line }),
    ...(range?.limit === undefined ? {} : { limit: range.limit }),
  };
}
