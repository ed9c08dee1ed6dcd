import type { IncomingHttpHeaders } from "node:http";
import type { ByteRange, StoredContent } from "../../../core/ports/asset.js";

/** Types a browser may show in place: it runs nothing that is in them. */
const INLINE_TYPES = new Set(["text/plain", "image/png", "image/jpeg", "image/gif", "image/webp"]);
const TOKEN = "[\\w!#$%&'*+.^`|~-]{1,127}";
const MEDIA_TYPE = new RegExp(
  `^${TOKEN}/${TOKEN}(?:[ \\t]{0,8};[ \\t]{0,8}${TOKEN}=(?:${TOKEN}|"[^"\\\\\\x00-\\x1f\\x7f-\\uffff]{0,127}")){0,8}$`,
);
const MOST_NAME_CHARS = 200;

/** Headers by which a client may keep content: an id stands for the same bytes for ever, but not for everybody. */
export function cachingHeaders(content: StoredContent): Record<string, string> {
  return {
    etag: etagOf(content),
    "cache-control": "private, max-age=31536000, immutable",
    "x-content-type-options": "nosniff",
  };
}

/** What a browser is told of a file. */
interface NamedContent {
  readonly contentType?: string | undefined;
  readonly fileName?: string | undefined;
}

/** Headers that say what content is, and keep a browser from running it on behalf of the venue's origin. */
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

/** Whether the client has the content already (RFC 9110 §13.1.2). */
export function isKnown(headers: IncomingHttpHeaders, etag: string | undefined): boolean {
  const tags = headers["if-none-match"];
  if (tags === undefined) return false;
  if (tags.trim() === "*") return true;
  return etag !== undefined && tags.split(",").some((tag) => tag.trim().replace(/^W\//, "") === etag);
}

/**
 * The part of the content that is asked for (RFC 9110 §14). Anything but one range of bytes is ignored, as is a range
 * of another version.
 *
 * @returns `undefined`: all of it; `"unsatisfiable"`: nothing of the range is there
 */
export function rangeOf(
  headers: IncomingHttpHeaders,
  content: { readonly size: number; readonly etag: string | undefined },
): ByteRange | "unsatisfiable" | undefined {
  const version = headers["if-range"];
  if (version !== undefined && (content.etag === undefined || version !== content.etag)) return undefined;
  const [, first, last] = /^bytes=[ \t]*(\d*)-(\d*)[ \t]*$/i.exec(headers.range ?? "") ?? [];
  if (first === undefined || last === undefined || first + last === "") return undefined;
  const { size } = content;
  if (first === "") {
    const length = Math.min(Number(last), size);
    return length === 0 ? "unsatisfiable" : { start: size - length, end: size };
  }
  const start = Number(first);
  if (last !== "" && Number(last) < start) return undefined;
  return start >= size ? "unsatisfiable" : { start, end: last === "" ? size : Math.min(Number(last) + 1, size) };
}

/** The entity tag of an asset's content. */
export const etagOf = ({ sha256 }: StoredContent): string => `"${sha256}"`;

/** Whoever registers an asset writes its type, so it goes into a header only when it is one. */
function mediaType(text: string | undefined): string {
  return text !== undefined && MEDIA_TYPE.test(text) ? text : "application/octet-stream";
}

/** Names the file twice: in ASCII for old clients, and exactly (RFC 6266, RFC 8187). */
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

/** A name without a folder, and without what would disguise it. */
function safeName(fileName: string): string {
  const plain = fileName.toWellFormed().replace(/[\p{Cc}\p{Bidi_Control}\p{Zl}\p{Zp}/\\]/gu, "_");
  return [...plain].slice(0, MOST_NAME_CHARS).join("");
}
