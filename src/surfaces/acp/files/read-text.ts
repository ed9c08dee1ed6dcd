// Reads text for `fs/read_text_file`, from an open buffer or from the file.

import { tooLargeToRead } from "../../../core/errors/texts.js";
import type { ReadInput } from "../../../schema/types.js";
import { type FileSession, keyOf } from "../protocol/session.js";
import { type FilePlace, hashAt, hashOfText, readRange } from "./files.js";
import { cutLines, type LineRange, lineOutOfRange, withoutMark } from "./lines.js";

export interface TextRead {
  readonly content: string;
  /** The buffer and the file have both changed. */
  readonly conflict: boolean;
  /** Hash of the file, if all of it was read. */
  readonly hash?: string | null;
}

export interface ReadRequest {
  readonly place: FilePlace;
  /** Absent: the whole file. */
  readonly range: LineRange | undefined;
  /** Whether to compute the hash of what was read. */
  readonly hashes: boolean;
  readonly signal: AbortSignal;
}

/**
 * Text of a file as its user sees it: the open buffer, else the file. A byte order mark is removed.
 * @throws FileAdapterError, InvalidParams
 */
export async function readText(session: FileSession, request: ReadRequest): Promise<TextRead> {
  const { buffers, calls } = session;
  // Fast path: without buffers the file key is not needed.
  if (buffers.isEmpty) return readDisk(session, request);
  const key = await keyOf(calls, request.place, request.signal);
  return buffers.get(key) === undefined ? readDisk(session, request) : readBuffer(session, request, key);
}

async function readBuffer(session: FileSession, request: ReadRequest, key: string): Promise<TextRead> {
  const { buffers, calls, host } = session;
  const { place, range, signal } = request;
  // Also runs for a missing file: this call checks that the session may read the path at all.
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
  // The content was decoded as UTF-16 or as the root's configured encoding; agents get it only if it is valid UTF-8
  // too.
  if (output.encoding !== "utf-8") output = await readRange(calls, { ...input, encoding: "utf-8" }, signal);
  const { content = "", complete, size, totalLines } = output;
  // A truncated result would look complete to the agent.
  if (complete === false) throw tooLargeToRead(place, size, maxReadBytes ?? Buffer.byteLength(content), "");
  if (range !== undefined && totalLines !== undefined && range.line > totalLines + 1) throw lineOutOfRange(totalLines);
  const text = range === undefined || range.line === 1 ? withoutMark(content) : content;
  return hashes && range === undefined
    ? { content: text, conflict: false, hash: hashOfText(content) }
    : { content: text, conflict: false };
}

/** Fields are written out: most reads take the first branch, and a spread is slower. */
function inputFor({ root, path }: FilePlace, range: LineRange | undefined, maxBytes: number | undefined): ReadInput {
  if (range === undefined && maxBytes === undefined) return { root, path, mode: "text" };
  return {
    ...{ root, path, mode: "text" },
    ...(maxBytes === undefined ? {} : { maxBytes }),
    ...(range === undefined ? {} : { line: range.line }),
    ...(range?.limit === undefined ? {} : { limit: range.limit }),
  };
}
