// Etags and preconditions: how content is named in answers, and how `ifMatch` and `ifNoneMatch` are checked.

import { invalidInput } from "./errors/texts.js";

/** SHA-256 of a file's bytes, 64 lowercase hex digits. */
export type Sha256 = string;

/**
 * A precondition on the target: its content, by etag or hash as the caller gave it, or that nothing exists. `stamp`: of
 * the content where it was read; a file that still has it need not be read again. `bytes`: the content itself, where it
 * is at hand, since comparing takes a fraction of the time of hashing. `content` may be a stamp tag, which `tagOf` makes.
 */
export type Expected =
  | {
      readonly content: string;
      readonly stamp?: string | undefined;
      readonly bytes?: Buffer | undefined;
      readonly tagOf?: TagOf | undefined;
    }
  | "nothing";

/**
 * Writes the version stamp of a file as a tag: a digest under a key of the venue, since stamps hold device and inode numbers.
 * The tag names the content of a file that is too large to be hashed, or that no caller wants hashed.
 */
export type TagOf = (stamp: string) => string;

/** Precondition fields in the input of a changing operation. */
export interface PreconditionInput {
  readonly ifMatch?: string | undefined;
  readonly ifNoneMatch?: string | undefined;
}

const HASH = "sha256:";
const ETAG = /^[a-z2-7]{8}$/;
const STAMP_TAG = /^stamp-[\w-]{32}$/;
const WHOLE_HASH = /^sha256:[0-9a-f]{64}$/;
const BASE32 = "abcdefghijklmnopqrstuvwxyz234567";
const HEX_OF_ETAG = 10;

/** A hash in the text form of inputs and answers: `sha256:` and 64 hex digits. */
export const hashText = (sha256: Sha256): string => `${HASH}${sha256}`;

/**
 * The etag: the first 40 bits of a hash in lowercase base32 (alphabet of RFC 4648, section 6), 8 characters. Short
 * enough for every answer; protects against accidental, not deliberate, collisions.
 */
export function etagOf(sha256: Sha256): string {
  // 40 bits fit a double exactly; BigInt arithmetic would dominate the cost of a small answer.
  let bits = Number.parseInt(sha256.slice(0, HEX_OF_ETAG), 16);
  let etag = "";
  while (etag.length < 8) {
    etag = `${BASE32[bits % 32]}${etag}`;
    bits = Math.floor(bits / 32);
  }
  return etag;
}

export const isStampTag = (content: string): boolean => STAMP_TAG.test(content);

/** Whether a precondition names a stamp, so that no content has to be read. */
export const namesStamp = (expected: Expected | undefined): boolean =>
  expected !== undefined && expected !== "nothing" && isStampTag(expected.content);

/** Whether a file with this stamp is the one that a precondition names by a tag. */
export const hasStamp = (expected: Expected, stamp: string | undefined): boolean =>
  expected !== "nothing" && stamp !== undefined && expected.tagOf?.(stamp) === expected.content;

/** Whether the target meets the precondition. @param found hash of its content; `undefined`: it does not exist */
export function isExpected(expected: Expected, found: Sha256 | undefined): boolean {
  if (expected === "nothing" || found === undefined) return expected === "nothing" && found === undefined;
  return expected.content.startsWith(HASH) ? expected.content === hashText(found) : expected.content === etagOf(found);
}

/**
 * The precondition in an input, if it has one. @throws INVALID_INPUT
 * @param tagOf by which a stamp is compared; without it none is met
 * @param names of the fields, where they differ: `ifMatchTo`
 */
export function expectedOf(
  { ifMatch, ifNoneMatch }: PreconditionInput,
  tagOf?: TagOf,
  names: { readonly match: string; readonly none: string } = { match: "ifMatch", none: "ifNoneMatch" },
): Expected | undefined {
  if (ifMatch !== undefined && ifNoneMatch !== undefined) {
    throw invalidInput(
      `Only one of '${names.match}' and '${names.none}' may be given`,
      `/${names.none}`,
      `one of ${names.match}, ${names.none}`,
    );
  }
  if (ifNoneMatch !== undefined) {
    if (ifNoneMatch !== "*") throw invalidInput(`'${names.none}' must be "*"`, `/${names.none}`, '"*"');
    return "nothing";
  }
  if (ifMatch === undefined) return undefined;
  if (isStampTag(ifMatch)) return { content: ifMatch, tagOf };
  if (!ETAG.test(ifMatch) && !WHOLE_HASH.test(ifMatch)) {
    throw invalidInput(
      `'${names.match}' must be an etag (8 characters) or "sha256:" and 64 hex digits`,
      `/${names.match}`,
      "etag or hash",
    );
  }
  return { content: ifMatch };
}
