// ETags of WebDAV: the SHA-256 of the content, in base64url. Clients keep them in small buffers (decision 61).

import { hashText, type Sha256 } from "../../../core/etag.js";

/** The ETag of a content, with its quotes. */
export const entityTag = (sha256: Sha256): string => `"sha256-${Buffer.from(sha256, "hex").toString("base64url")}"`;

/** The ETag of a hash in the form of operations: `sha256:` and 64 hex digits. */
export const entityTagOf = (hash: string): string => entityTag(hash.slice("sha256:".length));

/** The hash that a strong ETag stands for, also in the form of the other endpoints. `undefined`: it is of no content. */
export function hashIn(tag: string): string | undefined {
  const [, short, hash] = /^"(?:sha256-([\w-]{43})|(sha256:[0-9a-f]{64}))"$/.exec(tag) ?? [];
  return short === undefined ? hash : hashText(Buffer.from(short, "base64url").toString("hex"));
}
