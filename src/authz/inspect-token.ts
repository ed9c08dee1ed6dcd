// Reports what a UCAN grants at this venue and why not more, without revealing which roots exist or who owns them.

import type { Capability } from "../core/call/capability.js";
import type { TokenFault } from "../ucan/token/fault.js";
import type { ChainFault, UcanToken, UcanVerifier } from "../ucan/verify/proof.js";
import type { DenialReason } from "./denial.js";
import { covers, type Grant, parseGrant } from "./grant.js";
import type { LinkReport, TokenQuestion, TokenReport } from "./token-report.js";

/** The rules that a token is judged by. */
export interface InspectionRules {
  readonly verifier: UcanVerifier<Grant>;
  /** DID of a root's owner; without a root, the operator's. `undefined`: there is no such root. */
  ownerOf(root: string | undefined): string | undefined;
  /** Owners of roots: a grant on every root, issued by one of them, applies to that owner's roots. */
  readonly owners?: readonly string[];
  /** Maps equivalent DIDs to one canonical DID. Absent: each DID stands for itself. */
  readonly canonicalDid?: ((did: string) => string) | undefined;
}

/** Owner of a nonexistent root: no token is issued by it, so a token grants nothing there. */
const NOBODY = "";

/**
 * Reports what a token grants here, whoever sends it. Each entry of its list is verified against the owner of its own
 * root, entries on every root against every owner, and the question against the owner of its root. A root owned by
 * somebody else gives the same report as one that does not exist.
 */
export function inspectToken(question: TokenQuestion, rules: InspectionRules): TokenReport {
  const [token] = rules.verifier.read([question.token]);
  if (token === undefined) return { valid: false, reasons: ["malformed"], grants: [], chain: [], expires: null };
  const canonical = rules.canonicalDid ?? ((did) => did);
  const worth =
    token.fault === undefined ? inspectGrants(token, question, rules) : { grants: [], reasons: [token.fault] };
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

interface TokenGrants {
  /** The effective grants, at most as many as in the token's own list. */
  readonly grants: readonly Grant[];
  readonly reasons: readonly DenialReason[];
  /** The grant that covers what was asked for. */
  readonly answer?: Grant;
}

function inspectGrants(token: UcanToken<Grant>, question: TokenQuestion, rules: InspectionRules): TokenGrants {
  const found = listGrants(token, rules);
  if (question.with === undefined) return found;
  const requested = parseGrant({ with: question.with, can: question.can });
  if (requested === undefined) return { grants: found.grants, reasons: ["not_covered"] };
  const { grants, faults } = grantsInRoot(requested.segments[0], token, rules);
  const answer = grants.find((grant) => covers(grant, requested));
  if (answer !== undefined) return { grants: unique([...found.grants, answer]), reasons: [], answer };
  const isClaimed = token.own.some((grant) => covers(grant, requested));
  return { grants: found.grants, reasons: isClaimed ? faults : ["not_covered"] };
}

/** Verifies the token's own list, root by root. */
function listGrants(token: UcanToken<Grant>, rules: InspectionRules): TokenGrants {
  const held: Grant[] = [];
  const reasons: DenialReason[] = [];
  for (const root of new Set(token.own.map(({ segments }) => segments[0]))) {
    const { grants, faults } = grantsInRoot(root, token, rules);
    const claimed = token.own.filter(({ segments }) => segments[0] === root);
    const given = claimed.filter((own) => grants.some((grant) => covers(grant, own)));
    held.push(...given);
    if (given.length < claimed.length) reasons.push(...faults);
  }
  const fault = token.own.length === 0 ? (token.check() ?? "not_covered") : undefined;
  return { grants: unique(held), reasons: fault === undefined ? reasons : [fault] };
}

/** Grants of a token in a root, and the reasons for those it lacks. */
interface RootGrants {
  readonly grants: readonly Grant[];
  readonly faults: readonly DenialReason[];
}

/** If it grants nothing, the reasons are those for a nonexistent root: they must not reveal the owner. */
function grantsInRoot(
  root: string | undefined,
  token: UcanToken<Grant>,
  { ownerOf, owners = [] }: InspectionRules,
): RootGrants {
  const possible = [ownerOf(root) ?? NOBODY, ...(root === undefined ? owners : [])];
  const verdicts = possible.map((owner) => token.verdict(owner));
  const { grants, faults } = verdicts.find((verdict) => verdict.grants.length > 0) ?? { grants: [], faults: [] };
  const here = grants.map(({ grant }) => grant).filter(({ segments }) => (segments[0] ?? root) === root);
  if (here.length > 0) return { grants: here, faults: reasonsOf(faults, "not_covered") };
  return { grants: [], faults: reasonsOf(token.verdict(ownerOf(undefined) ?? NOBODY).faults, "issuer_not_owner") };
}

const reasonsOf = (faults: readonly ChainFault[], otherwise: DenialReason): readonly DenialReason[] =>
  faults.length === 0 ? [otherwise] : faults.map(({ reason }) => reason);

/** Drops grants that are written the same. */
function unique(grants: readonly Grant[]): Grant[] {
  const key = ({ with: resource, can }: Capability) => `${can} ${resource}`;
  return [...new Map(grants.map((grant) => [key(grant.written), grant])).values()];
}

interface Step {
  readonly token: UcanToken<Grant>;
  readonly depth: number;
  /** The token that this one is a proof of. */
  readonly child?: UcanToken<Grant>;
  readonly canonical: (did: string) => string;
  readonly seen: Set<UcanToken<Grant>>;
}

/** The links in depth-first order, each token once, where first found. The limits on a chain bound the walk. */
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

/** Why a proof does not support the token that cites it. */
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
