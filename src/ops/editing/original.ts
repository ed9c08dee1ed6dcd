// The text of a file that is edited, with what is needed to write it back in the same form.

import type { CallScope } from "../../core/call/scope.js";
import { adapterError, FileAdapterError } from "../../core/errors/errors.js";
import { at, conflict, contentTooLarge } from "../../core/errors/texts.js";
import { etagOf, expectedOf, isExpected, type Sha256 } from "../../core/etag.js";
import type { ReadRange } from "../../core/ports/backend.js";
import type { Stamp } from "../../core/ports/open-file.js";
import type { FileCall } from "../../core/ports/operation.js";
import { brokenText, isPerhapsOther } from "../content/broken-text.js";
import { BOM, codecOf, encodeText, notEncodable, otherEncoding, type TextForm, UTF8 } from "../content/encoding.js";
import { hashWhole, placeKey } from "../content/file-etag.js";
import { holdAnswer } from "../content/reading.js";
import { mayBeText } from "../content/text.js";
import { applyReplacements, lengthAfter, type Replacement } from "./match.js";

const ASCII = /^[\0-\x7f]*$/;
/** Stands for the expected etag in errors, for callers that may not read. */
export const WHAT_IT_FOUND = "unchanged";

const LATIN1_KEEPS = ": latin1 takes every byte as a character and keeps all others";
/** Most bytes of a file that is edited, whatever the limit of reads: it is in memory as a whole. */
const MOST = 67_108_864;

/** Precondition and encoding of an edit. */
export interface OriginalRequest {
  readonly ifMatch?: string | undefined;
  readonly encoding?: string | undefined;
}

/** A file's text as the edits match it: with its byte order mark, so that a copy of the first line matches. */
export interface Original {
  readonly text: string;
  readonly form: TextForm;
  readonly sha256: Sha256;
  readonly size: number;
  readonly stamp: Stamp | undefined;
}

/** A text, and how it is written. */
type Texted = Pick<Original, "text" | "form">;

/** An original with its bytes. */
export interface HeldOriginal extends Original {
  readonly bytes: Buffer;
}

/** Reads a file within the limit of reads; several may be held at once. @throws CONFLICT, NOT_FOUND, TOO_LARGE, NOT_TEXT */
export async function readOriginal(input: OriginalRequest, call: FileCall): Promise<Original> {
  const { text, form, sha256, size, stamp } = await holdOriginal(input, call, call.limits.maxReadBytes);
  return { text, form, sha256, size, stamp };
}

/** Like {@link readOriginal}, with its bytes. @throws CONFLICT, NOT_FOUND, TOO_LARGE, NOT_TEXT, NeedsMemory */
export async function holdOriginal(
  input: OriginalRequest,
  call: FileCall,
  limit = Math.max(MOST, call.limits.maxReadBytes),
): Promise<HeldOriginal> {
  const { access, root, path } = call;
  const requireWithin = (size: number): void => {
    if (size <= limit) return;
    const told = `File is too large to edit: ${size} bytes, limit ${limit}`;
    throw adapterError("TOO_LARGE", `${told}. Read its parts (offset, length), and add to it with file:append`, {
      ...at(access.place),
      ...{ size, limit, next: { tool: "file:append" } },
    });
  };
  const plan = (size: number): ReadRange => {
    requireWithin(size);
    holdAnswer(call, size, "edit");
    return { offset: 0, length: Math.min(limit, Math.max(size, call.limits.maxReadBytes)) + 1 };
  };
  const expected = expectedOf(input);
  const found = await missingAsConflict(async () => root.backend.read(path, plan, access), input, call);
  const { bytes, stamp } = found;
  requireWithin(bytes.length);
  const sha256 = call.versions.recent.hashOf(placeKey(call), bytes) ?? (await hashWhole(bytes, access.scope));
  call.versions.put(root.name, stamp, sha256);
  if (expected !== undefined && !isExpected(expected, sha256)) throw staleConflict(input, call, etagOf(sha256));
  const named = input.encoding ?? root.encoding;
  const decoded = await decodeFile(bytes, named, access.scope);
  if (decoded === undefined) throw otherEncoding(access.place, LATIN1_KEEPS, named);
  return { ...decoded, sha256, size: bytes.length, stamp, bytes };
}

async function missingAsConflict<T>(read: () => Promise<T>, input: OriginalRequest, call: FileCall): Promise<T> {
  try {
    return await read();
  } catch (error) {
    const isMissing = error instanceof FileAdapterError && error.code === "NOT_FOUND";
    throw isMissing && input.ifMatch !== undefined ? staleConflict(input, call, null) : error;
  }
}

/** CONFLICT: the content does not meet the precondition. @param current its etag; `null`: the file does not exist */
const staleConflict = ({ ifMatch = WHAT_IT_FOUND }: OriginalRequest, { access }: FileCall, current: string | null) =>
  conflict(access.place, {
    verb: access.verb,
    expected: ifMatch,
    ...(access.holds("crud/read") ? { current } : {}),
  });

/** @throws TOO_LARGE before a text of that size is built, NOT_TEXT */
export function textAfter(original: Texted, plan: readonly Replacement[], call: FileCall): string {
  checkAdded(original, plan, call);
  return applyReplacements(original.text, plan);
}

/**
 * Checks new texts before they are encoded. Every encoding takes at least one byte for each character.
 * @throws TOO_LARGE; NOT_TEXT where the encoding they would need is unknown
 */
export function checkAdded({ text, form }: Texted, plan: readonly Replacement[], call: FileCall): void {
  const added = plan.reduce((sum, one) => sum + one.text.length, 0);
  checkGrowth({ added, grows: lengthAfter(text, plan) > text.length }, call);
  if (form.isBroken === true && !plan.every((one) => ASCII.test(one.text)) && isPerhapsOther(text)) {
    throw otherEncoding(call.access.place);
  }
}

/** A file that grows gets no more than one write may add. @throws TOO_LARGE */
export function checkGrowth({ added, grows }: { added: number; grows: boolean }, { limits, access }: FileCall): void {
  const limit = limits.maxWriteBytes;
  if (grows && added > limit) throw contentTooLarge(access.place, added, limit);
}

/** @throws TOO_LARGE, NOT_TEXT */
export function bytesOf(text: string, { form, size }: Pick<Original, "form" | "size">, call: FileCall): Buffer {
  const { place } = call.access;
  const bytes = encodeText(text.slice(form.bom ? BOM.length : 0), form);
  if (bytes === undefined) throw notEncodable(place, form.encoding);
  const limit = size + call.limits.maxWriteBytes;
  if (bytes.length > limit) throw contentTooLarge(place, bytes.length, limit);
  return bytes;
}

/** Bytes decoded at once. */
const PIECE = 524_288;
const LINE_FEED = 0x0a;

/**
 * As `decodeText`, with the byte order mark. Where no encoding is named, a text in which some bytes are no UTF-8 is one too.
 * @returns `undefined`: the bytes are no text in that encoding
 */
async function decodeFile(bytes: Buffer, encoding: string | undefined, scope: CallScope): Promise<Texted | undefined> {
  const codec = codecOf(bytes, encoding);
  if (codec === undefined) return undefined;
  const isUnicode = codec === UTF8 || codec.unit === 2;
  // Decoding by the runtime takes less time at once than in pieces.
  let text = isUnicode ? codec.decode(bytes) : await decodePieces(bytes, (piece) => codec.decode(piece), scope);
  const isBroken = text === undefined && encoding === undefined && codec === UTF8 && mayBeText(bytes);
  if (isBroken) text = await decodePieces(bytes, (piece) => UTF8.decode(piece) ?? brokenText(piece), scope);
  if (text === undefined) return undefined;
  const form = { encoding: codec.name, bom: text.startsWith(BOM), ...(isBroken ? { isBroken } : {}) };
  return { text, form };
}

/** Pieces end behind a line: the meaning of a byte may depend on earlier bytes of its line. */
async function decodePieces(
  bytes: Buffer,
  decode: (piece: Buffer) => string | undefined,
  scope: CallScope,
): Promise<string | undefined> {
  const parts: string[] = [];
  for (let at = 0; at < bytes.length; ) {
    const end = bytes.length - at <= PIECE ? bytes.length : bytes.indexOf(LINE_FEED, at + PIECE) + 1 || bytes.length;
    const text = decode(bytes.subarray(at, end));
    if (text === undefined) return undefined;
    parts.push(text);
    at = end;
    await scope.pause();
  }
  return parts.join("");
}
