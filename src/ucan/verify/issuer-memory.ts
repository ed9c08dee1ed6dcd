/** Issuers in the chains of verified tokens. */
export interface IssuerMemory {
  /** Records a verified token, and the issuers of verified tokens below it. */
  add(id: string, issuers: Iterable<string>): void;
  of(id: string): ReadonlySet<string> | undefined;
}

const MAX_TOKENS = 10_000;

/**
 * LRU map from token id to issuers. A chain has few issuers, and they are determined by what was signed, so nobody can
 * add to the issuers of another's token.
 */
export function createIssuerMemory(maxTokens = MAX_TOKENS): IssuerMemory {
  const known = new Map<string, Set<string>>();
  return {
    add(id, issuers) {
      const all = known.get(id) ?? new Set();
      for (const issuer of issuers) all.add(issuer);
      // Re-inserted at the end, so that the first entry is the least recently used.
      known.delete(id);
      known.set(id, all);
      const [oldest] = known.keys();
      if (known.size > maxTokens && oldest !== undefined) known.delete(oldest);
    },
    of: (id) => known.get(id),
  };
}
