// The UCAN verifier: reads and judges the tokens of requests under fixed rules.

import type { Clock } from "../../core/clock.js";
import { putLatest } from "../../core/put-latest.js";
import { MAX_TOKEN_BYTES } from "../token/decode.js";
import type { TokenFault } from "../token/fault.js";
import { type FormOfProof, readForm, type TokenForm, type UnreadableToken } from "../token/form.js";
import { JudgedToken, type JudgingRules, type Witness } from "./judge-chain.js";
import type { UcanToken, UcanVerifier } from "./proof.js";
import type { PublicKeys } from "./public-keys.js";

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

// Reads the tokens of a request with their proofs, within limits on number, size and depth.

/** Maximum tokens of a request, and bytes of all of them. */
const MAX_TOKENS_OF_REQUEST = 8;
const MAX_TOTAL_BYTES = 32_768;
/** Maximum length of a chain, including the first token. */
const MAX_DEPTH = 5;
/** Maximum distinct tokens in the chains of one token, including itself, and in all chains of a request. */
const MAX_NODES = 16;
const MAX_NODES_OF_REQUEST = 32;

type Read<G> = TokenForm<G> | UnreadableToken;

interface ReadingParts<G> {
  /** Reads one token, or returns it from the cache. */
  read(text: string): Read<G>;
  readonly rules: JudgingRules<G>;
  readonly witness: Witness<G>;
}

/**
 * Links the tokens of one request: resolves proofs by CID among them, and enforces limits before any cryptography. A
 * token whose chain exceeds a limit is refused as a whole, and does not count towards the limits of the request.
 */
function readRequest<G>(tokens: readonly string[], parts: ReadingParts<G>): readonly UcanToken<G>[] {
  if (isTooMuch(tokens))
    return tokens.map((text) => refusedToken(text, { fault: "too_large", carriesCapabilities: true }));
  const forms = tokens.map(parts.read);
  const bind = createBinder(forms, parts);
  const counted = new Set<JudgedToken<G>>();
  return forms.map((form, index) => {
    if ("fault" in form) return refusedToken(tokens[index] ?? "", form);
    const token = bind(form);
    const fault = countNodes(token, counted);
    return fault === undefined ? token : refusedToken(form.text, { ...form, fault });
  });
}

function isTooMuch(tokens: readonly string[]): boolean {
  if (tokens.length > MAX_TOKENS_OF_REQUEST) return true;
  return tokens.reduce((sum, text) => sum + Buffer.byteLength(text), 0) > MAX_TOTAL_BYTES;
}

const refusedToken = <G>(text: string, why: UnreadableToken & { readonly id?: string }): UcanToken<G> => ({
  text,
  fault: why.fault,
  ...(why.id === undefined ? {} : { id: why.id }),
  carriesCapabilities: why.carriesCapabilities,
  own: [],
  entries: [],
  proofs: [],
  check: () => why.fault,
  verdict: () => ({ grants: [], faults: [{ reason: why.fault, ...(why.id === undefined ? {} : { id: why.id }) }] }),
});

/** Creates one token per text, even if it is a proof of several, so that none is verified twice. */
function createBinder<G>(forms: readonly Read<G>[], { rules, witness }: ReadingParts<G>) {
  const bound = new Map<string, JudgedToken<G>>();
  const bind = (form: TokenForm<G>): JudgedToken<G> => {
    const known = bound.get(form.text);
    if (known !== undefined) return known;
    // Terminates, since a text cannot contain its own hash.
    const token = new JudgedToken({ form, proofs: form.proofs.map(resolve), rules, witness });
    bound.set(form.text, token);
    return token;
  };
  const resolve = (proof: FormOfProof<G>): JudgedToken<G> | TokenFault => {
    if (typeof proof === "string") return proof;
    if (!("byCid" in proof)) return bind(proof);
    const form = forms.find((candidate) => "cid" in candidate && candidate.cid() === proof.byCid);
    return form === undefined || "fault" in form ? "proof_not_found" : bind(form);
  };
  return bind;
}

/**
 * Walks a chain breadth-first, so that shared proofs are visited once.
 *
 * @param counted tokens the request has used so far; extended unless there is a fault
 */
function countNodes<G>(top: JudgedToken<G>, counted: Set<JudgedToken<G>>): TokenFault | undefined {
  const nodes = new Set([top]);
  let level = nodes;
  for (let depth = 1; level.size > 0; depth++) {
    if (depth > MAX_DEPTH) return "too_deep";
    const below = new Set<JudgedToken<G>>();
    for (const { proofs } of level) for (const proof of proofs) if (typeof proof !== "string") below.add(proof);
    for (const node of below) nodes.add(node);
    if (nodes.size > MAX_NODES) return "too_many_proofs";
    level = below;
  }
  const added = [...nodes].filter((node) => !counted.has(node));
  if (counted.size + added.length > MAX_NODES_OF_REQUEST) return "too_many_proofs";
  for (const node of added) counted.add(node);
  return undefined;
}

const MAX_TOKENS = 10_000;

/**
 * LRU map from ids of verified tokens to the issuers in their chains. A chain has few issuers, and they are determined by what was signed, so nobody can
 * add to the issuers of another's token.
 */
export function createIssuerMemory(maxTokens = MAX_TOKENS) {
  const known = new Map<string, Set<string>>();
  return {
    /** Records a verified token, and the issuers of verified tokens below it. */
    add(id: string, issuers: Iterable<string>): void {
      const all = known.get(id) ?? new Set();
      for (const issuer of issuers) all.add(issuer);
      putLatest(known, id, all, maxTokens);
    },
    of: (id: string): ReadonlySet<string> | undefined => known.get(id),
  };
}

// Caches decoded tokens between requests, within bounds.

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
export function createChainCache<G>(read: (text: string) => Read<G>, clock: Clock) {
  const confirmed = createRoom<TokenForm<G>>(CONFIRMED, clock);
  const unconfirmed = createRoom<Read<G>>(UNCONFIRMED, clock);
  return {
    /** @returns the decoded token, cached or newly read */
    read(text: string): Read<G> {
      if (text.length > MAX_TOKEN_BYTES) return read(text);
      const known = confirmed.get(text) ?? unconfirmed.get(text);
      if (known !== undefined) return known;
      const form = read(text);
      unconfirmed.set(text, form);
      return form;
    },
    /** Marks a token whose signature was verified, so that it is kept longer. */
    confirm(form: TokenForm<G>): void {
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
