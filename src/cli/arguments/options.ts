// Errors of command lines, and a check that an argument is not a secret.

/** An invalid command line (exit status 64). */
export class UsageError extends Error {
  override readonly name = "UsageError";
}

/** A JWT: three parts in base64url, the first begins with `{"`; or an access token. */
const TOKEN = /\beyJ[A-Za-z0-9_-]*\.[A-Za-z0-9_-]+\.[A-Za-z0-9_-]|\bvft_[A-Za-z0-9_-]{43}/;
const SEED = /^(?:env:)?(?:0x)?[0-9a-fA-F]{64}$/;

/** Whether a word is a token or a seed instead of a reference to one; it must not appear in an error message either. */
export const looksSecret = (word: string): boolean => TOKEN.test(word) || SEED.test(word.trim());

/** @param what name of the option or argument */
export const secretRefusal = (what: string): string =>
  `${what} seems to be a token or a key itself, which others on this machine could see in the list of processes. ` +
  "Put it into a file or an environment variable, and name that: FILE or env:NAME";

/** Checks that an argument is safe to show. @throws UsageError if it is a token or a seed */
export function checkArgument(word: string): string {
  if (looksSecret(word)) throw new UsageError(secretRefusal("An argument"));
  return word;
}
