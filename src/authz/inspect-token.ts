// Reports what a UCAN grants at this venue and why not more, without revealing which roots exist or who owns them.

import type { Capability } from "../core/call/capability.js";
import { escapeText } from "../core/errors/texts.js";
import { isObject } from "../core/unknown.js";
import type { WrittenEntry } from "../ucan/token/capability-entries.js";
import type { TokenFault } from "../ucan/token/fault.js";
import type { ChainFault, UcanToken, UcanVerifier } from "../ucan/verify/proof.js";
import type { DenialReason } from "./denial.js";
import { driveKey, driveOfKey } from "./drive-key.js";
import { covers, type Grant, parseGrant } from "./grant.js";
import type { ConstrainedGrant, LinkReport, TokenQuestion, TokenReport } from "./token-report.js";

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
  const chain = [...linksOf({ token, depth: 0, canonical, seen: new Set() })];
  const reasons = new Set<DenialReason>([...worth.reasons, ...(isFor ? [] : (["wrong_audience"] as const))]);
  return {
    valid: isFor && (question.with === undefined ? worth.grants.length > 0 : "answer" in worth),
    reasons: [...reasons],
    grants: [...worth.grants.map(({ written }) => written), ...token.entries.flatMap(constrained)],
    chain,
    expires: endOf(chain),
  };
}

/** The earliest end in a chain. */
function endOf(chain: readonly LinkReport[]): number | null {
  const ends = chain.map(({ expires }) => expires).filter((end) => typeof end === "number");
  return ends.length === 0 ? null : Math.min(...ends);
}

/** Conditions of entries that other venues evaluate. */
const KNOWN_CAVEATS = ["gate", "url"];

/** An entry with caveats: it grants nothing here, and says which of them is why. */
function constrained({ nb, ...entry }: WrittenEntry): readonly ConstrainedGrant[] {
  if (nb === undefined) return [];
  const keys = isObject(nb) ? Object.keys(nb) : [];
  const key = keys.find((one) => !KNOWN_CAVEATS.includes(one)) ?? keys[0];
  const what = key === undefined ? "'nb'" : `'nb.${escapeText(key.slice(0, MAX_KEY_CHARS))}'`;
  const text = `It grants nothing here: ${what} is a condition that this venue does not evaluate`;
  return [{ ...entry, nb, applies: false, reason: "constrained", text }];
}

const MAX_KEY_CHARS = 64;

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
  const reading = { giver: token.decoded?.issuer, canonicalDid: rules.canonicalDid };
  const requested = parseGrant({ with: question.with, can: question.can }, reading);
  if (requested === undefined) return { grants: found.grants, reasons: ["not_covered"] };
  const { grants, faults } = grantsInRoot(topOf(requested), token, rules);
  const answer = grants.find((grant) => covers(grant, requested));
  if (answer !== undefined) return { grants: unique([...found.grants, answer]), reasons: [], answer };
  const isClaimed = token.own.some((grant) => covers(grant, requested));
  return { grants: found.grants, reasons: isClaimed ? faults : ["not_covered"] };
}

/** Verifies the token's own list, root by root. */
function listGrants(token: UcanToken<Grant>, rules: InspectionRules): TokenGrants {
  const held: Grant[] = [];
  const reasons: DenialReason[] = [];
  for (const root of new Set(token.own.map(topOf))) {
    const { grants, faults } = grantsInRoot(root, token, rules);
    const claimed = token.own.filter((own) => topOf(own) === root);
    const given = claimed.filter((own) => grants.some((grant) => covers(grant, own)));
    held.push(...given);
    if (given.length < claimed.length) reasons.push(...faults);
  }
  const fault = token.own.length === 0 ? (token.check() ?? "not_covered") : undefined;
  return { grants: unique(held), reasons: fault === undefined ? reasons : [fault] };
}

/** The root that a grant is in, or the drives of an owner. */
const topOf = ({ owner, segments: [root] }: Grant): string | undefined =>
  owner === undefined ? root : driveKey(owner, "");

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
  const driveOwner = root === undefined ? undefined : driveOfKey(root)?.owner;
  const possible = [driveOwner ?? ownerOf(root) ?? NOBODY, ...(root === undefined ? owners : [])];
  const verdicts = possible.map((owner) => token.verdict(owner));
  const { grants, faults } = verdicts.find((verdict) => verdict.grants.length > 0) ?? { grants: [], faults: [] };
  const here = grants.map(({ grant }) => grant).filter((grant) => (topOf(grant) ?? root) === root);
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
  return isSame(child.decoded.issuer, proof.decoded.audience, canonical) ? [] : ["broken_chain"];
}

const isSame = (one: string, other: string | undefined, canonical: (did: string) => string): boolean =>
  other !== undefined && canonical(one) === canonical(other);
