// The content of a write, from text, a JSON value, base64 or an asset, within the size limits.

import { createHash } from "node:crypto";
import {
  assetNoContent,
  assetNotFound,
  contentTooLarge,
  escapeText,
  invalidInput,
  ioError,
  notText,
  type Place,
} from "../../core/errors/texts.js";
import type { Awaitable } from "../../core/io.js";
import type { AssetContent } from "../../core/ports/adapter.js";
import type { Body } from "../../core/ports/backend.js";
import type { Call, PathCall } from "../../core/ports/operation.js";
import { parseReference } from "../../path/reference.js";
import { stringifyExact } from "../../schema/exact-json.js";
import type { WriteInput } from "../../schema/types.js";
import { checkEncoding, codecOf, encodeNew, notEncodable, otherEncoding, UTF8 } from "./encoding.js";
import { piecesOf } from "./pieces.js";

/** The four ways to give new content, of which exactly one is allowed, and the encoding of its text. */
export type TextSource = Pick<WriteInput, "content" | "value" | "bytes" | "asset" | "encoding">;

/** Input fields whose values are file content. */
export const CONTENT_FIELDS = ["content", "value", "bytes"] as const;
const SOURCES = [...CONTENT_FIELDS, "asset"] as const;
const OR_BYTES = ", or write bytes (base64)";
const BASE64 = /^[A-Za-z0-9+/]*$/;

/** @throws INVALID_INPUT unless exactly one source is given; `null` is a value */
export function checkOneSource(input: TextSource): void {
  checkEncoding(input.encoding);
  if (input.asset !== undefined) checkReference(input.asset, "/contentRef");
  const given = SOURCES.filter((source) => input[source] !== undefined);
  if (given.length === 1) return;
  const expected = "exactly one of content, value, bytes, asset";
  if (given.length > 1)
    throw invalidInput("Only one of 'content', 'value', 'bytes', or 'asset' may be supplied", "", expected);
  throw invalidInput(
    "Exactly one of 'content' (UTF-8 text), 'value' (JSON), 'bytes' (base64), or 'asset' (reference) is required",
    "",
    expected,
  );
}

/** @throws INVALID_INPUT for a reference that names no place */
export function checkReference(text: string, pointer: string): void {
  const found = parseReference(text);
  if (found === undefined || !("fault" in found)) return;
  throw invalidInput(`The reference '${escapeText(text.slice(0, MAX_SHOWN))}' ${found.fault}`, pointer, "a reference");
}

const MAX_SHOWN = 100;

/** The parts of a call that loading content needs. */
interface ContentCall extends Pick<Call, "limits" | "resolveAsset" | "scope"> {
  /** Named in errors. */
  readonly place: Place;
  /** Encoding in which text is written. Absent: UTF-8. */
  readonly encoding?: string | undefined;
  /** Told of the asset that the content is of. */
  readonly found?: ((asset: AssetContent) => void) | undefined;
}

/**
 * The content of a write, loaded when the backend asks for it. A file that it is a reference to is judged now: ask for the body before
 * anything is looked at. @throws as a place of a read does
 */
export function bodyOf(input: TextSource, call: PathCall, found?: ContentCall["found"]): Body {
  const content = { ...contentCall(input, call), found };
  const file = input.asset === undefined ? undefined : fileNamed(input.asset, call);
  return { load: () => (file === undefined ? loadContent(input, content) : loadFile(file, content)) };
}

/** The file that a reference names. @returns `undefined`: it names an asset */
export function fileNamed(text: string, call: Pick<PathCall, "at">): PathCall | undefined {
  const found = parseReference(text);
  if (found === undefined || "fault" in found) return undefined;
  return call.at({ root: found.root, path: found.path, abilities: ["crud/read"], changes: false, isReference: true });
}

/** A content of which nothing is asked for is not opened: nobody would close it. */
async function* loadFile({ root, path, access }: PathCall, { place, limits }: ContentCall): AsyncGenerator<Uint8Array> {
  const file = await root.backend.open(path, access);
  try {
    let left = file.size;
    if (left > limits.maxContentSize) throw contentTooLarge(place, left, limits.maxContentSize);
    for await (const bytes of piecesOf(file)) {
      left -= bytes.length;
      yield bytes;
    }
    if (left > 0) throw ioError(access.place, "TRUNCATED");
  } finally {
    file.close();
  }
}

function contentCall({ encoding }: TextSource, call: PathCall): ContentCall {
  const { limits, resolveAsset, scope, access } = call;
  return { limits, resolveAsset, scope, place: access.place, encoding: encoding ?? encodingOf(call) };
}

/** Encoding in which text is written where the call names none. */
export const encodingOf = ({ root, terms }: PathCall): string | undefined =>
  terms?.isUtf8 === true ? undefined : root.encoding;

/**
 * The content of an append. Text goes on in the encoding of a file that begins with a byte order mark, unless the caller may
 * not read the file: the number of bytes added, or a refusal, would tell how the file begins. Such a caller gets the
 * answer for any other file, although the file is no text any more then.
 */
export function addedBodyOf(input: TextSource, call: PathCall): Body {
  const body = bodyOf(input, call);
  if (!givesText(input)) return body;
  const content = contentCall(input, call);
  const { encoding, place } = content;
  const addedTo = (head: Buffer, size: number): Buffer | undefined => {
    if (!call.access.holds("crud/read")) return undefined;
    const codec = codecOf(head, encoding);
    if (encoding === undefined && codec === UTF8 && isHalfOfAscii(head))
      throw otherEncoding(place, ", such as utf-16le");
    if (codec === UTF8) return undefined;
    if (codec === undefined || size % codec.unit !== 0) {
      throw notText(place, codec?.name ?? encoding, "Pass its encoding, or add bytes (base64)");
    }
    const bytes = codec.encode(textOf(input));
    if (bytes === undefined) throw notEncodable(place, codec.name, OR_BYTES);
    return requireSize(bytes, content);
  };
  return { ...body, addedTo };
}

/** A NUL beside a letter or the like: UTF-16 without its mark. */
function isHalfOfAscii([first = 0, second = 0]: Buffer): boolean {
  const other = first === 0 ? second : second === 0 ? first : 0;
  return other >= 0x20 && other < 0x7f;
}

export const givesText = ({ bytes, asset }: TextSource): boolean => bytes === undefined && asset === undefined;

/** Loads content for a file or a drive. @throws INVALID_INPUT, TOO_LARGE, ASSET_NOT_FOUND, ASSET_NO_CONTENT */
export function loadContent(input: TextSource, call: ContentCall): Awaitable<Buffer | AsyncIterable<Uint8Array>> {
  if (input.asset !== undefined) return loadAsset(input.asset, call);
  if (input.bytes !== undefined) return requireSize(decodeBase64(input.bytes), call);
  const { place, encoding } = call;
  const bytes = encodeNew(textOf(input), encoding);
  if (bytes === undefined) throw notEncodable(place, encoding, OR_BYTES);
  return requireSize(bytes, call);
}

function requireSize(bytes: Buffer, { place, limits }: ContentCall): Buffer {
  const limit = limits.maxWriteBytes;
  if (bytes.length > limit) throw contentTooLarge(place, bytes.length, limit);
  return bytes;
}

/** The text of `content` or of `value`. @throws INVALID_INPUT */
export function textOf({ content, value }: TextSource): string {
  if (content === undefined) return stringify(value);
  if (!content.isWellFormed()) throw invalidInput("'content' is not well-formed Unicode", "/content", "Unicode text");
  return content;
}

/** An embedding program may pass what JSON cannot express: functions, cycles, or too deep a nesting. */
function stringify(value: unknown): string {
  try {
    const json: string | undefined = stringifyExact(value);
    if (json !== undefined) return json;
  } catch {}
  throw invalidInput("'value' must be a JSON value", "/value", "a JSON value");
}

/** Strict base64 (RFC 4648, section 4): padding optional but correct, no white space, no non-zero trailing bits. */
function decodeBase64(text: string): Buffer {
  const fault = () => invalidInput("'bytes' is not valid base64", "/bytes", "base64");
  const bare = text.replace(/={1,2}$/, "");
  if (!BASE64.test(bare) || (bare.length !== text.length && text.length % 4 !== 0)) throw fault();
  const bytes = Buffer.from(bare, "base64");
  if (bytes.toString("base64").replace(/=+$/, "") !== bare) throw fault();
  return bytes;
}

async function loadAsset(reference: string, call: ContentCall): Promise<Buffer | AsyncIterable<Uint8Array>> {
  const { place } = call;
  const found = await call.resolveAsset?.(reference, call.scope.signal);
  if (found === undefined) throw assetNotFound(place, reference);
  if (found.content === null) throw assetNoContent(place, reference);
  call.found?.(found);
  return verified(found, found.content, call);
}

/** Passes chunks on within the limit. A wrong hash is an error at the end, before the write is committed. */
async function* verified(
  asset: AssetContent,
  content: NonNullable<AssetContent["content"]>,
  call: ContentCall,
): AsyncGenerator<Uint8Array> {
  const limit = call.limits.maxContentSize;
  const hash = createHash("sha256");
  let size = 0;
  for await (const chunk of content instanceof Uint8Array ? [content] : content) {
    size += chunk.length;
    if (size > limit) throw contentTooLarge(call.place, size, limit);
    hash.update(chunk);
    yield chunk;
  }
  if (asset.sha256 !== undefined && hash.digest("hex") !== asset.sha256.toLowerCase()) {
    throw ioError(call.place, "ASSET_HASH_MISMATCH");
  }
}
