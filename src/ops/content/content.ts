// The content of a write, from text, a JSON value, base64 or an asset, within the size limits.

import { createHash } from "node:crypto";
import {
  assetNoContent,
  assetNotFound,
  contentTooLarge,
  invalidInput,
  ioError,
  type Place,
} from "../../core/errors/texts.js";
import type { Awaitable } from "../../core/io.js";
import type { AssetContent } from "../../core/ports/adapter.js";
import type { Body } from "../../core/ports/backend.js";
import type { Call, PathCall } from "../../core/ports/operation.js";
import { stringifyExact } from "../../schema/exact-json.js";

/** The four ways to give new content; exactly one is allowed. */
export interface ContentSource {
  content?: string;
  value?: unknown;
  bytes?: string;
  asset?: string;
}

/** Input fields whose values are file content. */
export const CONTENT_FIELDS = ["content", "value", "bytes"] as const;
const SOURCES = [...CONTENT_FIELDS, "asset"] as const;
const BASE64 = /^[A-Za-z0-9+/]*$/;

/** @throws INVALID_INPUT unless exactly one source is given; `null` is a value */
export function checkOneSource(input: ContentSource): void {
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

/** The parts of a call that loading content needs. */
export interface ContentCall extends Pick<Call, "limits" | "resolveAsset" | "cancellation"> {
  /** Named in errors. */
  readonly place: Place;
}

/** The content of a write, loaded when the backend asks for it. */
export function bodyOf(input: ContentSource, { limits, resolveAsset, cancellation, access }: PathCall): Body {
  const { place } = access;
  return { load: () => loadContent(input, { limits, resolveAsset, cancellation, place }) };
}

/** Loads content for a file or a drive. @throws INVALID_INPUT, TOO_LARGE, ASSET_NOT_FOUND, ASSET_NO_CONTENT */
export function loadContent(input: ContentSource, call: ContentCall): Awaitable<Buffer | AsyncIterable<Uint8Array>> {
  if (input.asset !== undefined) return loadAsset(input.asset, call);
  const bytes = decode(input);
  const limit = call.limits.maxWriteBytes;
  if (bytes.length > limit) throw contentTooLarge(call.place, bytes.length, limit);
  return bytes;
}

function decode(input: ContentSource): Buffer {
  if (input.content !== undefined) {
    if (!input.content.isWellFormed())
      throw invalidInput("'content' is not well-formed Unicode", "/content", "Unicode text");
    return Buffer.from(input.content, "utf8");
  }
  if (input.bytes !== undefined) return decodeBase64(input.bytes);
  return Buffer.from(stringify(input.value), "utf8");
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
  const found = await call.resolveAsset?.(reference, call.cancellation?.signal);
  if (found === undefined) throw assetNotFound(place, reference);
  if (found.content === null) throw assetNoContent(place, reference);
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
