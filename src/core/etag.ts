import { invalidInput } from "./errors/texts.js";

/** SHA-256 of a file's bytes, 64 lowercase hex digits. */
export type Sha256 = string;

/** What must be there for a change to go on: some content, by its etag or hash as the caller gave it, or nothing. */
export type Expected = { readonly content: string } | "nothing";

/** The two ways to say it in the input of a changing operation. */
export interface PreconditionInput {
  readonly ifMatch?: string;
  readonly ifNoneMatch?: string;
}

const HASH = "sha256:";
const ETAG = /^[a-z2-7]{8}$/;
const WHOLE_HASH = /^sha256:[0-9a-f]{64}$/;
const BASE32 = "abcdefghijklmnopqrstuvwxyz234567";
const HEX_OF_ETAG = 10;

/** The hash of content as it is written. */
export const hashText = (sha256: Sha256): string => `${HASH}${sha256}`;

/** The first 40 bits of a hash in base32: short enough for every answer, and enough against accidents. */
export function etagOf(sha256: Sha256): string {
  // 40 bits are a whole number without loss, and big integers take longer than all the rest of a small answer.
  let bits = Number.parseInt(sha256.slice(0, HEX_OF_ETAG), 16);
  let etag = "";
  while (etag.length < 8) {
    etag = `${BASE32[bits % 32]}${etag}`;
    bits = Math.floor(bits / 32);
  }
  return etag;
}

/** @param found `undefined`: nothing is there */
export function isExpected(expected: Expected, found: Sha256 | undefined): boolean {
  if (expected === "nothing" || found === undefined) return expected === "nothing" && found === undefined;
  return expected.content.startsWith(HASH) ? expected.content === hashText(found) : expected.content === etagOf(found);
}

/**
 * What an input expects of its target, if anything. @throws INVALID_INPUT
 * @param names of the fields, where they are others: `ifMatchTo`
 */
export function expectedOf(
  { ifMatch, ifNoneMatch }: PreconditionInput,
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
  if (!ETAG.test(ifMatch) && !WHOLE_HASH.test(ifMatch)) {
    throw invalidInput(
      `'${names.match}' must be an etag (8 characters) or "sha256:" and 64 hex digits`,
      `/${names.match}`,
      "etag or hash",
    );
  }
  return { content: ifMatch };
}
