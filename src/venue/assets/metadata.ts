// Checks and reads asset metadata; registered metadata is kept byte for byte.

import type { JsonObject } from "../../core/ports/adapter.js";
import { AssetError, type OwnAsset } from "../../core/ports/asset.js";
import { isObject } from "../../core/unknown.js";
import { stringifyExact } from "../../schema/exact-json.js";
import { assetIdOf } from "./id.js";

/** Maximum bytes of metadata as JSON. */
const MAX_METADATA_BYTES = 1_048_576;
/** Maximum nesting, so that no recursive walk of metadata can overflow the stack. */
const MAX_DEPTH = 256;
/** Maximum characters of each text in a list. */
const MAX_SHOWN_CHARS = 1000;

/** Checked metadata. */
export interface ParsedMetadata {
  readonly id: string;
  /** JSON as registered, byte for byte. */
  readonly json: Buffer;
}

/** The `content` object of metadata. */
export interface ContentDescription {
  /** Lower-case hex. */
  readonly sha256: string;
  readonly contentType?: string;
  readonly fileName?: string;
}

/**
 * Checks metadata before registration.
 *
 * @param given its JSON text as sent; default: compact JSON of `metadata`
 * @throws AssetError invalid_metadata, too_large
 */
export function parseMetadata(metadata: JsonObject, given?: string): ParsedMetadata {
  const reason = faultOf(metadata);
  if (reason !== undefined) throw new AssetError("invalid_metadata", { reason });
  const text = given ?? stringifyExact(metadata);
  const size = Buffer.byteLength(text, "utf8");
  if (size > MAX_METADATA_BYTES) throw new AssetError("too_large", { size, limit: MAX_METADATA_BYTES });
  // Not from Buffer's shared pool: a small buffer would keep a whole pool slab alive.
  const json = Buffer.allocUnsafeSlow(size);
  json.write(text, "utf8");
  return { id: assetIdOf(json), json };
}

/** Parses stored metadata, which was checked at registration. */
export function readMetadata(json: Uint8Array): JsonObject {
  const value: unknown = JSON.parse(Buffer.from(json).toString("utf8"));
  return isObject(value) ? value : {};
}

/** Reads the `content` object; `undefined` when it is missing or has no valid `sha256`. */
export function contentOf(metadata: JsonObject): ContentDescription | undefined {
  const content = own(metadata, "content");
  if (!isObject(content)) return undefined;
  const sha256 = /^(?:0[xX])?([0-9a-fA-F]{64})$/.exec(textOf(content, "sha256") ?? "")?.[1]?.toLowerCase();
  if (sha256 === undefined) return undefined;
  return { sha256, ...texts(content, ["contentType", "fileName"]) };
}

/** The entry of an asset in a list. */
export function summaryOf(id: string, metadata: JsonObject): OwnAsset {
  const shown = texts(metadata, ["name", "type", "description"]);
  return { id, ...Object.fromEntries(Object.entries(shown).map(([key, text]) => [key, cut(text)])) };
}

const own = (object: JsonObject, key: string): unknown => (Object.hasOwn(object, key) ? object[key] : undefined);

function textOf(object: JsonObject, key: string): string | undefined {
  const value = own(object, key);
  return typeof value === "string" ? value : undefined;
}

function texts<K extends string>(object: JsonObject, keys: readonly K[]): { readonly [P in K]?: string } {
  const found: { [P in K]?: string } = {};
  for (const key of keys) {
    const text = textOf(object, key);
    if (text !== undefined) found[key] = text;
  }
  return found;
}

function cut(text: string): string {
  if (text.length <= MAX_SHOWN_CHARS) return text;
  const start = text.slice(0, MAX_SHOWN_CHARS).replace(/[\ud800-\udbff]$/, "");
  // Copied: a slice would keep the whole string in memory.
  return `${Buffer.from(start, "utf8").toString("utf8")}…`;
}

/** Why a value is not valid metadata. Iterative: untrusted input may be nested deeply. */
function faultOf(metadata: JsonObject): string | undefined {
  const rest: { value: unknown; depth: number }[] = [{ value: metadata, depth: 1 }];
  for (let next = rest.pop(); next !== undefined; next = rest.pop()) {
    const { value, depth } = next;
    const fault = scalarFault(value);
    if (fault !== undefined) return fault;
    if (typeof value !== "object" || value === null) continue;
    if (depth > MAX_DEPTH) return `nested deeper than ${MAX_DEPTH} levels`;
    for (const key of Array.isArray(value) ? [] : Object.keys(value)) if (!key.isWellFormed()) return NOT_UNICODE;
    for (const child of Object.values(value)) rest.push({ value: child, depth: depth + 1 });
  }
  return undefined;
}

const NOT_UNICODE = "not valid Unicode";

function scalarFault(value: unknown): string | undefined {
  switch (typeof value) {
    case "string":
      return value.isWellFormed() ? undefined : NOT_UNICODE;
    case "number":
      return Number.isFinite(value) ? undefined : "not a JSON number";
    case "object":
    case "bigint":
    case "boolean":
      return undefined;
    default:
      return "not a JSON value";
  }
}
