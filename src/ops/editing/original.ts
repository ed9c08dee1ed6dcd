// The text of a file that is edited, with what is needed to write it back in the same form.

import { notEncodable, notTextToEdit } from "../../core/errors/edit-texts.js";
import { FileAdapterError } from "../../core/errors/errors.js";
import { conflict, contentTooLarge, tooLargeToRead } from "../../core/errors/texts.js";
import { etagOf, expectedOf, isExpected, type Sha256 } from "../../core/etag.js";
import type { ReadRange } from "../../core/ports/backend.js";
import type { Stamp } from "../../core/ports/open-file.js";
import type { FileCall } from "../../core/ports/operation.js";
import { decodeText, encodeText, type TextForm } from "../content/encoding.js";
import { placeKey, sha256Of } from "../content/file-etag.js";
import { applyReplacements, lengthAfter } from "./apply.js";
import type { Replacement } from "./match.js";

export const BOM = "\ufeff";
/** Stands for the expected etag in errors, for callers that may not read. */
export const WHAT_IT_FOUND = "unchanged";

/** Precondition and encoding of an edit. */
export interface OriginalRequest {
  readonly ifMatch?: string;
  readonly encoding?: string;
}

/** A file's text as the edits match it: with its byte order mark, so that a copy of the first line matches. */
export interface Original {
  readonly text: string;
  readonly form: TextForm;
  readonly sha256: Sha256;
  readonly size: number;
  readonly stamp: Stamp | undefined;
}

/** An original with its bytes, which are lent until `release`. */
export interface HeldOriginal extends Original {
  readonly bytes: Buffer;
  release(): void;
}

/** @throws CONFLICT, NOT_FOUND, TOO_LARGE, NOT_TEXT */
export async function readOriginal(input: OriginalRequest, call: FileCall): Promise<Original> {
  const { text, form, sha256, size, stamp, release } = await holdOriginal(input, call);
  release();
  return { text, form, sha256, size, stamp };
}

/** Like {@link readOriginal}; the caller releases it. @throws CONFLICT, NOT_FOUND, TOO_LARGE, NOT_TEXT */
export async function holdOriginal(input: OriginalRequest, call: FileCall): Promise<HeldOriginal> {
  const { access, root, path, limits } = call;
  const limit = limits.maxReadBytes;
  const tooLarge = (size: number) => tooLargeToRead(access.place, size, limit, "Replace it whole with file_write");
  const plan = (size: number): ReadRange => {
    if (size > limit) throw tooLarge(size);
    return { offset: 0, length: limit + 1 };
  };
  const expected = expectedOf(input);
  const found = await missingAsConflict(async () => root.backend.read(path, plan, access), input, call);
  const release = () => found.release?.();
  let isHeld = false;
  try {
    const { bytes, stamp } = found;
    if (bytes.length > limit) throw tooLarge(bytes.length);
    const sha256 = call.versions.recent.hashOf(placeKey(call), bytes) ?? sha256Of(bytes);
    call.versions.put(root.name, stamp, sha256);
    if (expected !== undefined && !isExpected(expected, sha256)) throw staleConflict(input, call, etagOf(sha256));
    const named = input.encoding ?? root.encoding;
    const decoded = decodeText(bytes, named);
    if (decoded === undefined) throw notTextToEdit(access.place, named);
    const { text, encoding, bom } = decoded;
    isHeld = true;
    const form = { encoding, bom };
    return { text: bom ? BOM + text : text, form, sha256, size: bytes.length, stamp, bytes, release };
  } finally {
    if (!isHeld) release();
  }
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

/** @throws TOO_LARGE before a text of that size is built */
export function textAfter(original: Original, plan: readonly Replacement[], call: FileCall): string {
  checkedLength(original, plan, call);
  return applyReplacements(original.text, plan);
}

/** Length of the new text in characters. Every encoding takes at least one byte for each. @throws TOO_LARGE */
export function checkedLength({ text, size }: Original, plan: readonly Replacement[], call: FileCall): number {
  const limit = Math.max(call.limits.maxWriteBytes, size);
  const length = lengthAfter(text, plan);
  if (length > limit) throw contentTooLarge(call.access.place, length, limit);
  return length;
}

/** @throws TOO_LARGE, NOT_TEXT */
export function bytesOf(text: string, { form, size }: Original, call: FileCall): Buffer {
  const { place } = call.access;
  const bytes = encodeText(text.slice(form.bom ? BOM.length : 0), form);
  if (bytes === undefined) throw notEncodable(place, form.encoding);
  const limit = Math.max(call.limits.maxWriteBytes, size);
  if (bytes.length > limit) throw contentTooLarge(place, bytes.length, limit);
  return bytes;
}
