/** Who may take back what the venue signed for them, by the id of the token. */
export interface IssuedTokens {
  /** @param names whom and what it was signed on the strength of */
  remember(id: string, names: readonly string[]): void;
  /** `undefined`: not known, or known no more. */
  namesOf(id: string): readonly string[] | undefined;
}

const MAX_TOKENS = 10_000;

/** Keeps those signed last. Of older ones, and after a restart, the token itself tells the same. */
export function createIssuedTokens(maxTokens = MAX_TOKENS): IssuedTokens {
  const known = new Map<string, readonly string[]>();
  return {
    remember(id, names) {
      known.set(id, names);
      const [oldest] = known.keys();
      if (known.size > maxTokens && oldest !== undefined) known.delete(oldest);
    },
    namesOf: (id) => known.get(id),
  };
}
