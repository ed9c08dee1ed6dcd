// The UCAN verifier: reads and judges the tokens of requests under fixed rules.

import { readForm } from "../token/form.js";
import type { TimeRules } from "../token/time.js";
import { createChainCache } from "./chain-cache.js";
import type { JudgingRules, Witness } from "./judge-chain.js";
import type { GrantSemantics, Revocations, UcanVerifier } from "./proof.js";
import type { PublicKeys } from "./public-keys.js";
import { readRequest } from "./read-chain.js";

/** Rules of a verifier. Fixed for its lifetime, since it caches what it has read. */
export interface UcanRules<G> extends TimeRules {
  readonly semantics: GrantSemantics<G>;
  readonly keys: PublicKeys;
  readonly revocations: Revocations;
  /** Maps the DIDs of a subject with several to its canonical one; returns other DIDs unchanged. */
  canonicalDid(did: string): string;
  /** Maximum remaining lifetime of a delegation, in seconds. */
  readonly maxLifetimeSeconds: number;
  /** Whether `exp: null` is accepted. */
  readonly allowNoExpiry: boolean;
  /** Whether to accept tokens without a version, as from old Java venues. */
  readonly acceptUnversionedCovia: boolean;
}

/**
 * Creates a verifier of UCANs and their chains: synchronous, without network access, resolving only `did:key`, with at
 * most 32 signature verifications per request.
 *
 * @example createUcanVerifier(rules).read([token])[0]?.verdict(owner).grants;
 */
export function createUcanVerifier<G>(rules: UcanRules<G>): UcanVerifier<G> {
  const cache = createChainCache((text) => readForm(text, rules), rules.clock);
  const memory = createIssuerMemory();
  const witness: Witness<G> = {
    signed(form) {
      cache.confirm(form);
      memory.add(form.id, [rules.canonicalDid(form.decoded.issuer)]);
    },
    linked: (form, proof) => memory.add(form.id, memory.of(proof.id) ?? []),
  };
  return {
    read: (tokens) => readRequest(tokens, { read: cache.read, rules: fixClock(rules), witness }),
    issuersOf: memory.of,
  };
}

/** Fixes the clock for a request, so that a token and its proofs are checked at the same time. */
function fixClock<G>(rules: JudgingRules<G>): JudgingRules<G> {
  const { clock } = rules;
  const nowMs = clock.nowMs();
  return { ...rules, clock: { nowMs: () => nowMs, monotonicMs: () => clock.monotonicMs() } };
}

/** Issuers in the chains of verified tokens. */
interface IssuerMemory {
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
