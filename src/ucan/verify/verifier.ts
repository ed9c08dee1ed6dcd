// The UCAN verifier: reads and judges the tokens of requests under fixed rules.

import type { Clock } from "../../core/clock.js";
import { putLatest } from "../../core/put-latest.js";
import { MAX_TOKEN_BYTES } from "../token/decode.js";
import { readForm, type TokenForm, type UnreadableToken } from "../token/form.js";
import type { JudgingRules, Witness } from "./judge-chain.js";
import type { UcanVerifier } from "./proof.js";
import type { PublicKeys } from "./public-keys.js";
import { readRequest } from "./read-chain.js";

/** Rules of a verifier. Fixed for its lifetime, since it caches what it has read. */
export interface UcanRules<G> extends JudgingRules<G> {
  readonly keys: PublicKeys;
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
      putLatest(known, id, all, maxTokens);
    },
    of: (id) => known.get(id),
  };
}

// Caches decoded tokens between requests, within bounds.

type Read<G> = TokenForm<G> | UnreadableToken;

/** Cache of decoded tokens with their inline proofs. */
export interface ChainCache<G> {
  /** @returns the decoded token, cached or newly read */
  read(text: string): Read<G>;
  /** Marks a token whose signature was verified, so that it is kept longer. */
  confirm(form: TokenForm<G>): void;
}

/** Bounds of a cache. */
interface Bounds {
  readonly entries: number;
  /** Total characters of all texts. The decoded form of a text takes up to twelve times as many bytes. */
  readonly characters: number;
  readonly ageMs: number;
}

const CONFIRMED: Bounds = { entries: 2000, characters: 4 * 1024 * 1024, ageMs: 60_000 };
const UNCONFIRMED: Bounds = { entries: 500, characters: 1024 * 1024, ageMs: 10_000 };

/**
 * Caches only what depends on the text of a token alone, so that a hit can never outlive a revocation or an expiry:
 * time, revocation, lifetime, owner and accompanying proofs are checked at every request. This is stricter than caching
 * grants by text, owner and the request's other tokens, and the text suffices as key. Unreadable tokens, and those
 * whose signature is not verified yet, go to a separate small, short-lived cache, so they cannot evict verified ones.
 */
export function createChainCache<G>(read: (text: string) => Read<G>, clock: Clock): ChainCache<G> {
  const confirmed = createRoom<TokenForm<G>>(CONFIRMED, clock);
  const unconfirmed = createRoom<Read<G>>(UNCONFIRMED, clock);
  return {
    read(text) {
      if (text.length > MAX_TOKEN_BYTES) return read(text);
      const known = confirmed.get(text) ?? unconfirmed.get(text);
      if (known !== undefined) return known;
      const form = read(text);
      unconfirmed.set(text, form);
      return form;
    },
    confirm(form) {
      if (unconfirmed.get(form.text) !== form) return;
      unconfirmed.delete(form.text);
      confirmed.set(form.text, form);
    },
  };
}

/** A bounded map keyed by token text; evicts the oldest entries. */
function createRoom<T>({ entries, characters, ageMs }: Bounds, clock: Clock) {
  const kept = new Map<string, { readonly value: T; readonly untilMs: number }>();
  let total = 0;
  const remove = (text: string): void => {
    if (kept.delete(text)) total -= text.length;
  };
  const makeRoom = (): void => {
    // Insertion order is expiry order, since all entries have the same lifetime.
    for (const [text, { untilMs }] of kept) {
      if (kept.size <= entries && total <= characters && untilMs > clock.monotonicMs()) return;
      remove(text);
    }
  };
  return {
    get(text: string): T | undefined {
      const found = kept.get(text);
      return found !== undefined && found.untilMs > clock.monotonicMs() ? found.value : undefined;
    },
    set(text: string, value: T): void {
      remove(text);
      kept.set(text, { value, untilMs: clock.monotonicMs() + ageMs });
      total += text.length;
      makeRoom();
    },
    delete: remove,
  };
}
