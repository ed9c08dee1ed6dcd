// Entity tags: how a version of a file is named in headers, and how conditions name it (RFC 9110 §8.8.3, §13).

import type { IncomingHttpHeaders } from "node:http";
import { hashText, isStampTag, type Sha256 } from "../../../core/etag.js";

/** Content as conditions name it: by its ETag, its hash, or the tag of its stamp. */
export interface TaggedContent {
  readonly etag: string | undefined;
  readonly sha256: Sha256 | undefined;
  readonly tag?: string | undefined;
}

/** When a file was changed last, and whether that is long enough ago for its time to name one version. */
interface Dated {
  /** Milliseconds since the epoch. */
  readonly modified: number;
  readonly isSettled: boolean;
}

/** Strong and weak entity tags of a list. */
export const tagsIn = (header: string): string[] => header.match(/(?:W\/)?"[^"]*"/g) ?? [];

/** The hash that a strong ETag stands for: `"sha256:<hex>"`, or in base64url as WebDAV gave it. `undefined`: none. */
export function hashIn(tag: string): string | undefined {
  const [, short, hash] = /^"(?:sha256-([\w-]{43})|(sha256:[0-9a-f]{64}))"$/.exec(tag) ?? [];
  return short === undefined ? hash : hashText(Buffer.from(short, "base64url").toString("hex"));
}

/**
 * The ETag of a file over WebDAV: the tag of its stamp, else its hash, where they are known. The hash is in base64url, since
 * clients keep ETags in small buffers (decision 61).
 */
export function davTag({
  tag,
  sha256,
}: { readonly [part in "tag" | "sha256"]?: string | undefined }): string | undefined {
  return tag === undefined ? sha256 && `"sha256-${Buffer.from(sha256, "hex").toString("base64url")}"` : `"${tag}"`;
}

/** The tag of a stamp in a strong ETag. */
export function stampIn(tag: string): string | undefined {
  const opaque = tag.slice(1, -1);
  return tag.startsWith('"') && isStampTag(opaque) ? opaque : undefined;
}

/** Whether a strong ETag, in either form, names this content. */
export const isTagOf = (text: string, { etag, sha256, tag }: TaggedContent): boolean =>
  text === etag ||
  (sha256 !== undefined && hashIn(text) === hashText(sha256)) ||
  (tag !== undefined && stampIn(text) === tag);

/** Whether a condition names content by its hash, so that it must be known. */
export const namesHash = (headers: IncomingHttpHeaders): boolean =>
  ["if-match", "if-none-match", "if-range"].some((name) =>
    tagsIn(String(headers[name] ?? "")).some((tag) => hashIn(tag.replace(/^W\//, "")) !== undefined),
  );

/** Whether `If-None-Match` matches the content (RFC 9110 §13.1.2). */
export function isKnown(headers: IncomingHttpHeaders, content: TaggedContent): boolean {
  const tags = headers["if-none-match"];
  if (tags === undefined) return false;
  if (tags.trim() === "*") return true;
  return tags.split(",").some((tag) => isTagOf(tag.trim().replace(/^W\//, ""), content));
}

/** Outcome of the conditions of a reading request (RFC 9110 §13.2.2); `undefined`: it is served. */
export function judge(
  headers: IncomingHttpHeaders,
  content: TaggedContent,
  { modified }: Pick<Dated, "modified">,
): 304 | 412 | undefined {
  const { "if-match": match, "if-unmodified-since": unmodified, "if-modified-since": since } = headers;
  const isOlder = (date: string): boolean => wholeSeconds(modified) <= Date.parse(date);
  if (match !== undefined) {
    if (match.trim() !== "*" && !tagsIn(match).some((tag) => isTagOf(tag, content))) return 412;
  } else if (unmodified !== undefined && Date.parse(unmodified) < wholeSeconds(modified)) return 412;
  if (headers["if-none-match"] !== undefined) return isKnown(headers, content) ? 304 : undefined;
  return since !== undefined && isOlder(since) ? 304 : undefined;
}

/** Whether `If-Range` names the content, by a strong ETag or by its very time (RFC 9110 §13.1.5). */
export function isInRange(version: string, content: TaggedContent, { modified, isSettled }: Dated): boolean {
  if (/^\s*(?:W\/)?"/.test(version)) return isTagOf(version.trim(), content);
  return isSettled && Date.parse(version) === wholeSeconds(modified);
}

const wholeSeconds = (ms: number): number => Math.floor(ms / 1000) * 1000;
