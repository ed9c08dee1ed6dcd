import { decodeBase64url } from "../token/base64url.js";

const ID_BYTES = 32;
const DID = /^did:[a-z0-9]+:[A-Za-z0-9._:%-]+$/;

/** Whether a text can stand in the list: a token id (43 characters of base64url) or a DID without path or fragment. */
export const isRevocable = (entry: string): boolean => DID.test(entry) || decodeBase64url(entry)?.length === ID_BYTES;

/**
 * Reads a revocation list: one token id or DID a line, `#` begins a comment, also behind an entry. One line that says
 * nothing we know spoils the whole list: it may be a slip of the pen, and then somebody is believed who should not be.
 *
 * @returns its entries in order, or the number of the first malformed line, counted from 1
 */
export function parseRevocations(
  text: string,
): { readonly entries: readonly string[] } | { readonly malformedLine: number } {
  const lines = text.split("\n").map((line) => line.replace(/#.*$/s, "").trim());
  const malformed = lines.findIndex((line) => line !== "" && !isRevocable(line));
  return malformed < 0 ? { entries: lines.filter((line) => line !== "") } : { malformedLine: malformed + 1 };
}
