// Headers of content downloads: caching, ranges, and protection of the venue's origin.

import type { IncomingHttpHeaders } from "node:http";
import type { ByteRange, StoredContent } from "../../../core/ports/asset.js";
import { COMMON_HEADERS } from "../plumbing/answer.js";

/** Types that may be displayed inline: browsers execute nothing in them. */
const INLINE_TYPES = new Set(["text/plain", "image/png", "image/jpeg", "image/gif", "image/webp"]);
const TOKEN = "[\\w!#$%&'*+.^`|~-]{1,127}";
const MEDIA_TYPE = new RegExp(
  `^${TOKEN}/${TOKEN}(?:[ \\t]{0,8};[ \\t]{0,8}${TOKEN}=(?:${TOKEN}|"[^"\\\\\\x00-\\x1f\\x7f-\\uffff]{0,127}")){0,8}$`,
);
const MAX_NAME_CHARS = 200;

/**
 * Caching headers of asset content: immutable, since an id always names the same bytes, but private. Content that one page
 * fetched as data must not be taken from the cache for a script, which the venue would refuse.
 *
 * @param vary the `Vary` of the reply so far
 */
export function cachingHeaders(content: StoredContent, vary: unknown): Record<string, string> {
  const judged = "Sec-Fetch-Dest, Sec-Fetch-Site";
  return {
    ...COMMON_HEADERS,
    vary: vary === undefined ? judged : `${vary}, ${judged}`,
    etag: contentEtag(content),
    "cache-control": "private, max-age=31536000, immutable",
  };
}

/** Type and name of content, as sent to a browser. */
interface NamedContent {
  readonly contentType?: string | undefined;
  readonly fileName?: string | undefined;
}

/** Headers that describe content, and keep a browser from executing it in the venue's origin. */
export function contentHeaders(content: NamedContent, inline: boolean): Record<string, string> {
  const type = mediaType(content.contentType);
  const shown = inline && INLINE_TYPES.has(type.replace(/[ \t]*;.*$/, "").toLowerCase());
  return {
    "content-type": type,
    "content-disposition": disposition(shown ? "inline" : "attachment", content.fileName),
    "content-security-policy": "sandbox; default-src 'none'",
    "accept-ranges": "bytes",
  };
}

/**
 * The requested range (RFC 9110 §14). Anything but a single byte range is ignored, and so is a range whose `If-Range`
 * does not match.
 *
 * @param isMeant whether `If-Range` names this content
 * @returns `undefined`: the whole content; `"unsatisfiable"`: the range lies outside the content
 */
export function rangeOf(
  headers: IncomingHttpHeaders,
  { size }: { readonly size: number },
  isMeant: (version: string) => boolean,
): ByteRange | "unsatisfiable" | undefined {
  const version = headers["if-range"];
  if (version !== undefined && !isMeant(String(version))) return undefined;
  const [, first, last] = /^bytes=[ \t]*(\d*)-(\d*)[ \t]*$/i.exec(headers.range ?? "") ?? [];
  if (first === undefined || last === undefined || first + last === "") return undefined;
  if (first === "") {
    const length = Math.min(Number(last), size);
    return length === 0 ? "unsatisfiable" : { start: size - length, end: size };
  }
  const start = Number(first);
  if (last !== "" && Number(last) < start) return undefined;
  return start >= size ? "unsatisfiable" : { start, end: last === "" ? size : Math.min(Number(last) + 1, size) };
}

/** The etag of an asset's content. */
export const contentEtag = ({ sha256 }: StoredContent): string => `"${sha256}"`;

/** The type comes from whoever registered the asset, so it becomes a header only if it is a valid media type. */
function mediaType(text: string | undefined): string {
  return text !== undefined && MEDIA_TYPE.test(text) ? text : "application/octet-stream";
}

/** Content-Disposition with the name in ASCII for old clients, and exactly (RFC 6266, RFC 8187). */
function disposition(kind: string, fileName: string | undefined): string {
  const name = safeName(fileName ?? "");
  if (name === "") return kind;
  const ascii = name.replace(/[^ -~]|["\\%]/gu, "_");
  const exact = encodeURIComponent(name).replace(
    /['()*]/g,
    (char) => `%${char.charCodeAt(0).toString(16).toUpperCase()}`,
  );
  return `${kind}; filename="${ascii}"${ascii === name ? "" : `; filename*=UTF-8''${exact}`}`;
}

/** The file name without slashes, and without control and bidi characters that would disguise it. */
function safeName(fileName: string): string {
  const plain = fileName.toWellFormed().replace(/[\p{Cc}\p{Bidi_Control}\p{Zl}\p{Zp}/\\]/gu, "_");
  return [...plain].slice(0, MAX_NAME_CHARS).join("");
}
