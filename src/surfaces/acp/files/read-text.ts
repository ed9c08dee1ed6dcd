// Reads text for `fs/read_text_file`, from an open buffer or from the file.

import type { CallTerms } from "../../../core/call/terms.js";
import { tooLargeToRead } from "../../../core/errors/texts.js";
import type { ReadInput } from "../../../schema/types.js";
import { invalidParams } from "../protocol/errors.js";
import { type FileSession, keyOf } from "../protocol/session.js";
import { type FileCalls, type FilePlace, hashAt, invoke } from "./files.js";

/** A range of lines; a line includes its terminating line feed. */
interface LineRange {
  /** 1-based. */
  readonly line: number;
  /** `undefined`: to the end. */
  readonly limit: number | undefined;
}

interface TextRead {
  readonly content: string;
  /** The buffer and the file have both changed. */
  readonly conflict: boolean;
  /** Hash of the file, if all of it was read; `null`: it does not exist. */
  readonly hash: string | null | undefined;
}

interface ReadRequest {
  readonly place: FilePlace;
  /** `undefined`: the whole file. */
  readonly range: LineRange | undefined;
  readonly signal: AbortSignal;
}

/** The unsaved text that is shown in place of a file. `undefined`: the file is. @throws FileAdapterError: it may not be read */
export async function unsavedAt(
  { buffers }: FileSession,
  calls: FileCalls,
  place: FilePlace,
  signal: AbortSignal,
): Promise<{ readonly terms: CallTerms; readonly conflict: boolean; readonly hash: string | null } | undefined> {
  // Without buffers the file key is not needed.
  if (buffers.isEmpty) return undefined;
  const key = await keyOf(calls, place, signal);
  if (buffers.get(key) === undefined) return undefined;
  // Also for a missing file: this call checks that the session may read the path at all.
  const hash = (await hashAt(calls, place, signal)) ?? null;
  const shown = buffers.shown(key, hash);
  return shown && { terms: { unsaved: Buffer.from(shown.text) }, conflict: shown.conflict, hash };
}

/**
 * Text of a file as its user sees it: the open buffer, else the file. A byte order mark is removed.
 * @throws FileAdapterError, Refused
 */
export async function readText(session: FileSession, { range, place, signal }: ReadRequest): Promise<TextRead> {
  const { calls, host } = session;
  const { maxReadBytes } = host;
  const unsaved = await unsavedAt(session, calls, place, signal);
  const context = { ...calls.context(signal), terms: { details: true, ...unsaved?.terms } } as const;
  const read = (given: ReadInput) => invoke(calls.adapter, "file:read", given, context);
  const input = inputFor(place, range, maxReadBytes);
  let output = await read(input);
  // The content was decoded as UTF-16 or as the root's configured encoding; agents get it only if it is valid UTF-8
  // too.
  if (output.encoding !== "utf-8") output = await read({ ...input, encoding: "utf-8" });
  const { content = "", complete, size, totalLines, hash } = output;
  // A truncated result would look complete to the agent.
  if (complete === false) throw tooLargeToRead(place, size, maxReadBytes ?? Buffer.byteLength(content), "");
  if (range !== undefined && totalLines !== undefined && range.line > totalLines + 1) {
    throw invalidParams(`'line' must be between 1 and ${totalLines + 1}`);
  }
  const text = range === undefined || range.line === 1 ? content.replace(/^\ufeff/, "") : content;
  if (unsaved !== undefined) return { content: text, conflict: unsaved.conflict, hash: unsaved.hash };
  return { content: text, conflict: false, hash: range === undefined ? hash : undefined };
}

function inputFor({ root, path }: FilePlace, range: LineRange | undefined, maxBytes: number | undefined): ReadInput {
  return {
    ...{ root, path, mode: "text" },
    ...(maxBytes === undefined ? {} : { maxBytes }),
    ...(range === undefined ? {} : { line: range.line }),
    ...(range?.limit === undefined ? {} : { limit: range.limit }),
  };
}
