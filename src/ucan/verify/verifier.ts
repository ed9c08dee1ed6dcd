import { readForm } from "../token/form.js";
import type { TimeRules } from "../token/time.js";
import { createChainCache } from "./chain-cache.js";
import { createIssuerMemory } from "./issuer-memory.js";
import type { JudgingRules, Witness } from "./judge-chain.js";
import type { GrantSemantics, Revocations, UcanVerifier } from "./proof.js";
import type { PublicKeys } from "./public-keys.js";
import { readRequest } from "./read-chain.js";

/** By what tokens are judged. Other rules need another verifier, since it remembers what it has read. */
export interface UcanRules<G> extends TimeRules {
  readonly semantics: GrantSemantics<G>;
  readonly keys: PublicKeys;
  readonly revocations: Revocations;
  /** The one DID of whoever has several; every other DID as it is. */
  canonicalDid(did: string): string;
  /** Seconds from now to the latest end of a delegation. */
  readonly maxLifetimeSeconds: number;
  /** Whether `exp: null` is taken. */
  readonly allowNoExpiry: boolean;
  /** Whether tokens of old Java venues, which state no version, are taken. */
  readonly acceptUnversionedCovia: boolean;
}

/**
 * Makes what judges UCANs and their chains: synchronous, without network access, with no DID resolution beyond `did:key`,
 * and at most 32 signature checks for a request.
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
    read: (tokens) => readRequest(tokens, { read: cache.read, rules: atOneTime(rules), witness }),
    issuersOf: memory.of,
  };
}

/** All tokens of a request are judged by the same time, so that none is over while its proof is not. */
function atOneTime<G>(rules: JudgingRules<G>): JudgingRules<G> {
  const { clock } = rules;
  const nowMs = clock.nowMs();
  return { ...rules, clock: { nowMs: () => nowMs, monotonicMs: () => clock.monotonicMs() } };
}
