// Keeps on whose authority the venue signed its tokens.

import { putLatest } from "../../../core/put-latest.js";

/** Remembers on whose authority the venue signed a token, by token id: those may revoke it. */
export interface IssuedTokens {
  /** @param names DIDs and token ids the token was signed on the authority of */
  remember(id: string, names: readonly string[]): void;
  /** `undefined`: unknown or dropped. */
  namesOf(id: string): readonly string[] | undefined;
}

const MAX_TOKENS = 10_000;

/** Keeps the most recently signed ones. For older ones, and after a restart, the token itself holds the same names. */
export function createIssuedTokens(maxTokens = MAX_TOKENS): IssuedTokens {
  const known = new Map<string, readonly string[]>();
  return {
    remember: (id, names) => putLatest(known, id, names, maxTokens),
    namesOf: (id) => known.get(id),
  };
}
