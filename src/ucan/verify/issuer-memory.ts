/** Who signed the chains of tokens that were found right. */
export interface IssuerMemory {
  /** The token's signature is right, and so are those of the tokens below it by `issuers`. */
  add(id: string, issuers: Iterable<string>): void;
  of(id: string): ReadonlySet<string> | undefined;
}

const MAX_TOKENS = 10_000;

/**
 * Remembers issuers by the id of a token, for those used last. A chain has few of them, and they follow from what was
 * signed, so that nobody can add to another's.
 */
export function createIssuerMemory(maxTokens = MAX_TOKENS): IssuerMemory {
  const known = new Map<string, Set<string>>();
  return {
    add(id, issuers) {
      const all = known.get(id) ?? new Set();
      for (const issuer of issuers) all.add(issuer);
      // Moved to the end, so that the first is the one used longest ago.
      known.delete(id);
      known.set(id, all);
      const [oldest] = known.keys();
      if (known.size > maxTokens && oldest !== undefined) known.delete(oldest);
    },
    of: (id) => known.get(id),
  };
}
