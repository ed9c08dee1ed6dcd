import { decodeBase64url } from "../token/base64url.js";

const ID_BYTES = 32;
const DID = /^did:[a-z0-9]+:[A-Za-z0-9._:%-]+$/;

/** Whether a text is a valid entry: a token id (43 characters of base64url) or a DID without path or fragment. */
export const isRevocable = (entry: string): boolean => DID.test(entry) || decodeBase64url(entry)?.length === ID_BYTES;

/**
 * Parses a revocation list: one token id or DID per line; `#` starts a comment, also after an entry. One malformed line
 * invalidates the list, since it may be a typo, and then a revoked token or DID would stay valid.
 *
 * @returns its entries in order, or the number of the first malformed line (1-based)
 */
export function parseRevocations(
  text: string,
): { readonly entries: readonly string[] } | { readonly malformedLine: number } {
  const lines = text.split("\n").map((line) => line.replace(/#.*$/s, "").trim());
  const malformed = lines.findIndex((line) => line !== "" && !isRevocable(line));
  return malformed < 0 ? { entries: lines.filter((line) => line !== "") } : { malformedLine: malformed + 1 };
}
