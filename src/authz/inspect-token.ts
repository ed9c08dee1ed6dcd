import type { Capability } from "../core/call/capability.js";
import type { TokenFault } from "../ucan/token/fault.js";
import type { ChainFault, UcanToken, UcanVerifier } from "../ucan/verify/proof.js";
import type { DenialReason } from "./denial.js";
import { covers, type Grant, parseGrant } from "./grant.js";
import type { LinkReport, TokenQuestion, TokenReport } from "./token-report.js";

/** By what a token is judged. */
export interface InspectionRules {
  readonly verifier: UcanVerifier<Grant>;
  /** DID of whoever owns a root; without a root the operator's. `undefined`: there is no such root. */
  ownerOf(root: string | undefined): string | undefined;
  /** Owners of roots of their own: a grant on every root, by one of them, is one on theirs. */
  readonly owners?: readonly string[];
  /** The one DID of whoever has several. Absent: nobody has. */
  readonly canonicalDid?: ((did: string) => string) | undefined;
}

/** Nobody: with this at the root a token gives what it gives in a root that is not there, which is nothing. */
const NOBODY = "";

/**
 * Works out what a token is worth here, whoever sends it. Each entry of its list is judged by the owner of its own root,
 * entries for every root by whoever owns any; what is asked for, by the owner of its root. Of a root that somebody else owns
 * it says the same as of one that is not there.
 */
export function inspectToken(question: TokenQuestion, rules: InspectionRules): TokenReport {
  const [token] = rules.verifier.read([question.token]);
  if (token === undefined) return { valid: false, reasons: ["malformed"], grants: [], chain: [], expires: null };
  const canonical = rules.canonicalDid ?? ((did) => did);
  const worth = token.fault === undefined ? worthOf(token, question, rules) : { grants: [], reasons: [token.fault] };
  const isFor = question.aud === undefined || isSame(question.aud, token.decoded?.audience, canonical);
  const reasons = new Set<DenialReason>([...worth.reasons, ...(isFor ? [] : (["wrong_audience"] as const))]);
  return {
    valid: isFor && (question.with === undefined ? worth.grants.length > 0 : "answer" in worth),
    reasons: [...reasons],
    grants: worth.grants.map(({ written }) => written),
    chain: [...linksOf({ token, depth: 0, canonical, seen: new Set() })],
    expires: token.decoded?.expiresAt ?? null,
  };
}

interface Worth {
  /** What it gives, at most as many as its own list has. */
  readonly grants: readonly Grant[];
  readonly reasons: readonly DenialReason[];
  /** The grant that covers what was asked for. */
  readonly answer?: Grant;
}

function worthOf(token: UcanToken<Grant>, question: TokenQuestion, rules: InspectionRules): Worth {
  const found = listWorth(token, rules);
  if (question.with === undefined) return found;
  const asked = parseGrant({ with: question.with, can: question.can });
  if (asked === undefined) return { grants: found.grants, reasons: ["not_covered"] };
  const { grants, faults } = giftIn(asked.segments[0], token, rules);
  const answer = grants.find((grant) => covers(grant, asked));
  if (answer !== undefined) return { grants: unique([...found.grants, answer]), reasons: [], answer };
  const isClaimed = token.own.some((grant) => covers(grant, asked));
  return { grants: found.grants, reasons: isClaimed ? faults : ["not_covered"] };
}

/** Goes through its own list, root by root. */
function listWorth(token: UcanToken<Grant>, rules: InspectionRules): Worth {
  const held: Grant[] = [];
  const reasons: DenialReason[] = [];
  for (const root of new Set(token.own.map(({ segments }) => segments[0]))) {
    const { grants, faults } = giftIn(root, token, rules);
    const claimed = token.own.filter(({ segments }) => segments[0] === root);
    const given = claimed.filter((own) => grants.some((grant) => covers(grant, own)));
    held.push(...given);
    if (given.length < claimed.length) reasons.push(...faults);
  }
  const fault = token.own.length === 0 ? (token.check() ?? "not_covered") : undefined;
  return { grants: unique(held), reasons: fault === undefined ? reasons : [fault] };
}

/** What a token gives in a root, and why no more. */
interface Gift {
  readonly grants: readonly Grant[];
  readonly faults: readonly DenialReason[];
}

/** Where it gives nothing, the reasons are those of a root that is not there: whose root it is does not show in them. */
function giftIn(root: string | undefined, token: UcanToken<Grant>, { ownerOf, owners = [] }: InspectionRules): Gift {
  const possible = [ownerOf(root) ?? NOBODY, ...(root === undefined ? owners : [])];
  const verdicts = possible.map((owner) => token.verdict(owner));
  const { grants, faults } = verdicts.find((verdict) => verdict.grants.length > 0) ?? { grants: [], faults: [] };
  const here = grants.map(({ grant }) => grant).filter(({ segments }) => (segments[0] ?? root) === root);
  if (here.length > 0) return { grants: here, faults: reasonsOf(faults, "not_covered") };
  return { grants: [], faults: reasonsOf(token.verdict(ownerOf(undefined) ?? NOBODY).faults, "issuer_not_owner") };
}

const reasonsOf = (faults: readonly ChainFault[], otherwise: DenialReason): readonly DenialReason[] =>
  faults.length === 0 ? [otherwise] : faults.map(({ reason }) => reason);

/** Each way of writing once. */
function unique(grants: readonly Grant[]): Grant[] {
  const key = ({ with: resource, can }: Capability) => `${can} ${resource}`;
  return [...new Map(grants.map((grant) => [key(grant.written), grant])).values()];
}

interface Step {
  readonly token: UcanToken<Grant>;
  readonly depth: number;
  /** What the token proves something for. */
  readonly child?: UcanToken<Grant>;
  readonly canonical: (did: string) => string;
  readonly seen: Set<UcanToken<Grant>>;
}

/** Each token once, at the place where a walk from the top finds it first; the limits on a chain bound the walk. */
function* linksOf(step: Step): Generator<LinkReport> {
  const { token, depth, canonical, seen } = step;
  if (seen.has(token)) return;
  seen.add(token);
  yield linkOf(step);
  for (const proof of token.proofs) {
    if (typeof proof === "string") yield { grants: [], depth: depth + 1, reasons: [proof] };
    else yield* linksOf({ token: proof, depth: depth + 1, child: token, canonical, seen });
  }
}

function linkOf({ token, depth, child, canonical }: Step): LinkReport {
  const { issuer, audience, expiresAt, notBefore } = token.decoded ?? {};
  const fault = token.fault ?? token.check();
  const reasons: readonly TokenFault[] = [
    ...(fault === undefined ? [] : [fault]),
    ...(child === undefined ? [] : faultsBetween(token, child, canonical)),
  ];
  return {
    ...(token.id === undefined ? {} : { id: token.id }),
    ...(issuer === undefined ? {} : { issuer }),
    ...(audience === undefined ? {} : { audience }),
    ...(expiresAt === undefined ? {} : { expires: expiresAt }),
    ...(notBefore === undefined ? {} : { notBefore }),
    grants: token.entries.map(({ with: resource, can }) => ({ with: resource, can })),
    depth,
    reasons,
  };
}

/** Why a proof does not serve the token that brings it. */
function faultsBetween(
  proof: UcanToken<Grant>,
  child: UcanToken<Grant>,
  canonical: (did: string) => string,
): TokenFault[] {
  if (proof.decoded === undefined || child.decoded === undefined) return [];
  const isFor = isSame(child.decoded.issuer, proof.decoded.audience, canonical);
  const outlives = endOf(child) > endOf(proof);
  return [...(isFor ? [] : (["broken_chain"] as const)), ...(outlives ? (["outlives_proof"] as const) : [])];
}

const endOf = ({ decoded }: UcanToken<Grant>): number => decoded?.expiresAt ?? Number.POSITIVE_INFINITY;

const isSame = (one: string, other: string | undefined, canonical: (did: string) => string): boolean =>
  other !== undefined && canonical(one) === canonical(other);
