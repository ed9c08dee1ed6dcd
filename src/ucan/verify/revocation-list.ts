// The entries of revocation lists: token ids, DIDs, ids that issuers gave to their JWTs, and points in time.

import { decodeBase64url } from "../token/decode.js";

const ID_BYTES = 32;
const DID = /^did:[a-z0-9]+:[A-Za-z0-9._:%-]+$/;

const JTI = /^jti:[!-"$-~]{1,256}$/;

/**
 * Whether a text is a valid entry: a token id (43 characters of base64url), a DID without path or fragment, or the `jti` of a
 * JWT of an outside issuer.
 */
export const isRevocable = (entry: string): boolean =>
  DID.test(entry) || JTI.test(entry) || decodeBase64url(entry)?.length === ID_BYTES;

/** The entry that revokes a JWT of an outside issuer. */
export const revokeJti = (jti: string): string => `jti:${jti}`;

/** `before:<seconds since the epoch>`: whatever was issued up to then, or does not say when, is revoked. */
const BEFORE = /^before:([0-9]{1,15})$/;

/** Whether a text may stand in a list. */
export const isEntry = (entry: string): boolean => isRevocable(entry) || BEFORE.test(entry);

/** The entry that revokes all tokens issued up to a moment. @param seconds since the epoch */
export const revokeBefore = (seconds: number): string => `before:${Math.ceil(seconds)}`;

/** The latest moment of such entries, in seconds since the epoch. */
export function notBeforeOf(entries: Iterable<string>): number | undefined {
  let latest: number | undefined;
  for (const entry of entries) {
    const [, seconds] = BEFORE.exec(entry) ?? [];
    if (seconds !== undefined) latest = Math.max(latest ?? 0, Number(seconds));
  }
  return latest;
}

/**
 * Parses a revocation list: one token id, DID, `jti:` or `before:` entry per line; `#` starts a comment, also after an entry. One malformed line
 * invalidates the list, since it may be a typo, and then a revoked token or DID would stay valid.
 *
 * @returns its entries in order, or the number of the first malformed line (1-based)
 */
export function parseRevocations(
  text: string,
): { readonly entries: readonly string[] } | { readonly malformedLine: number } {
  const lines = text.split("\n").map((line) => line.replace(/#.*$/s, "").trim());
  const malformed = lines.findIndex((line) => line !== "" && !isEntry(line));
  return malformed < 0 ? { entries: lines.filter((line) => line !== "") } : { malformedLine: malformed + 1 };
}
