import type { SurfaceContext } from "../core/adapter.js";
import { faultOfUcans } from "../core/ucans.js";
import type { UcanToken, UcanVerifier } from "../ucan/proof.js";
import { type Authority, type AuthorityFacts, CallerAuthority } from "./authority.js";
import type { CapabilityRules } from "./capability-rules.js";
import type { DenialReason } from "./denial.js";
import { type Grant, parseGrant } from "./grant.js";

/** The part of a root that its rights depend on. */
interface OwnedRoot {
  readonly name: string;
  readonly owner?: string;
}

/** Finds the rights of callers, by one set of rules and roots. */
export interface Authorities {
  of(context: SurfaceContext): Authority;
  /** DID of whoever owns a root: its own owner, else the operator. Canonical. */
  ownerOf(root: string | undefined): string | undefined;
  /** The venue's own DID. */
  readonly venueDid: string | undefined;
  readonly verifier: UcanVerifier<Grant>;
}

/** Prepares what does not depend on the caller. */
export function createAuthorities(
  rules: CapabilityRules & { readonly verifier: UcanVerifier<Grant> },
  roots: readonly OwnedRoot[],
): Authorities {
  const { canonicalDid: canonical = (did) => did, verifier } = rules;
  const publicGrants = grantsOf(rules.publicCaps ?? []);
  const givenTo = new Map<string, Grant[]>();
  for (const { did, ...capability } of rules.grants ?? []) {
    const grants = givenTo.get(canonical(did)) ?? [];
    givenTo.set(canonical(did), [...grants, ...grantsOf([capability])]);
  }
  const venueDid = canonicalOrAbsent(rules.venueDid, canonical);
  const operator = canonicalOrAbsent(rules.operator, canonical);
  const owned = roots.flatMap(({ name, owner }) => (owner === undefined ? [] : [[name, canonical(owner)] as const]));
  const shared = { owners: new Map(owned), operator, publicGrants, roots: roots.map(({ name }) => name) };
  const isBound = (token: UcanToken<Grant>, did: string, isAnonymous: boolean): boolean => {
    const { issuer, audience } = token.decoded ?? {};
    if (issuer === undefined || audience === undefined) return false;
    const isFor = canonical(audience);
    if (isFor === venueDid && canonical(issuer) === did) return true;
    // A delegation makes nobody its audience: that takes something else.
    return isFor === did && !isAnonymous;
  };
  return {
    venueDid,
    verifier,
    ownerOf: (root) => (root === undefined ? undefined : shared.owners.get(root)) ?? operator,
    of(context) {
      const did = canonicalOrAbsent(context.callerDID, canonical);
      const identityTokens = context.identityTokens ?? [];
      const fault = faultOf(context, identityTokens);
      const texts = fault === undefined ? [...new Set([...identityTokens, ...textsOf(context.ucans)])] : [];
      const tokens = texts.length === 0 ? [] : verifier.read(texts);
      const isAnonymous = context.authentication === "public";
      const bound = did === undefined ? [] : tokens.filter((token) => isBound(token, did, isAnonymous));
      return new CallerAuthority({
        ...shared,
        fault,
        isOperator: did === undefined || did === operator,
        did,
        isAnonymous,
        self: selfOf(tokens.filter(({ text }) => identityTokens.includes(text))),
        given: (did === undefined ? undefined : givenTo.get(did)) ?? [],
        added: context.tokenCaps === undefined ? [] : grantsOf(context.tokenCaps),
        tokens,
        bound: new Set(bound),
        bearsProofs: tokens.some(({ carriesCapabilities }) => carriesCapabilities),
      });
    },
  };
}

const canonicalOrAbsent = (did: string | undefined, canonical: (did: string) => string): string | undefined =>
  did === undefined ? undefined : canonical(did);

const grantsOf = (capabilities: readonly unknown[]): readonly Grant[] =>
  capabilities.map(parseGrant).filter((grant) => grant !== undefined);

function faultOf(context: SurfaceContext, identityTokens: readonly string[]): DenialReason | undefined {
  if (context.ambiguousCaller === true) return "ambiguous_caller";
  const ucans = context.ucans ?? [];
  return faultOfUcans(Array.isArray(ucans) ? [...new Set([...identityTokens, ...ucans])] : ucans);
}

/** Known to be texts where there is no fault. */
const textsOf = (ucans: unknown): readonly string[] => (Array.isArray(ucans) ? ucans : []);

/** How far tokens that say who somebody is bound what that somebody may do alone. */
function selfOf(tokens: readonly UcanToken<Grant>[]): AuthorityFacts["self"] {
  const bounding = tokens.filter(({ carriesCapabilities }) => carriesCapabilities);
  if (bounding.length === 0) return undefined;
  const ends = bounding.map(({ decoded }) => decoded?.expiresAt).filter((end) => typeof end === "number");
  return {
    grants: bounding.flatMap(({ own }) => own),
    expiresAt: ends.length === 0 ? null : Math.min(...ends),
  };
}
