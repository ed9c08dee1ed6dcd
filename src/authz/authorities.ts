import type { SurfaceContext } from "../core/adapter.js";
import { faultOfUcans } from "../core/ucans.js";
import type { UcanToken, UcanVerifier } from "../ucan/proof.js";
import { type Authority, type AuthorityFacts, CallerAuthority, everythingIn } from "./authority.js";
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
  const give = (did: string, grants: readonly Grant[]): void => {
    givenTo.set(canonical(did), [...(givenTo.get(canonical(did)) ?? []), ...grants]);
  };
  for (const { name, owner } of roots) if (owner !== undefined) give(owner, [everythingIn(name)]);
  for (const { did, ...capability } of rules.grants ?? []) give(did, grantsOf([capability]));
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
      const fault = faultOf(context);
      const texts = fault === undefined ? textsOf(context) : NONE;
      const tokens = texts.length === 0 ? NONE : verifier.read(texts);
      const isAnonymous = context.authentication === "public";
      const bound = did === undefined ? NONE : tokens.filter((token) => isBound(token, did, isAnonymous));
      return new CallerAuthority({
        // Written out: a spread makes an object of the slow kind, at every request.
        owners: shared.owners,
        operator: shared.operator,
        publicGrants: shared.publicGrants,
        roots: shared.roots,
        fault,
        isOperator: did === undefined || did === operator,
        did,
        isAnonymous,
        self: selfOf(tokens.filter(({ text }) => context.identityTokens?.includes(text))),
        given: (did === undefined ? undefined : givenTo.get(did)) ?? NONE,
        added: context.tokenCaps === undefined ? NONE : grantsOf(context.tokenCaps),
        tokens,
        bound: bound.length === 0 ? NOBODYS : new Set(bound),
        bearsProofs: tokens.some(({ carriesCapabilities }) => carriesCapabilities),
      });
    },
  };
}

const canonicalOrAbsent = (did: string | undefined, canonical: (did: string) => string): string | undefined =>
  did === undefined ? undefined : canonical(did);

const grantsOf = (capabilities: readonly unknown[]): readonly Grant[] =>
  capabilities.map(parseGrant).filter((grant) => grant !== undefined);

function faultOf({ ambiguousCaller, ucans, identityTokens }: SurfaceContext): DenialReason | undefined {
  if (ambiguousCaller === true) return "ambiguous_caller";
  if (ucans === undefined || ucans === null) return undefined;
  return faultOfUcans(Array.isArray(ucans) ? [...new Set([...(identityTokens ?? NONE), ...ucans])] : ucans);
}

/** The tokens of a request, known to be texts where there is no fault. */
function textsOf({ ucans, identityTokens = NONE }: SurfaceContext): readonly string[] {
  return Array.isArray(ucans) ? [...new Set([...identityTokens, ...ucans])] : identityTokens;
}

/** Most requests bring nothing. */
const NONE: readonly never[] = [];
const NOBODYS: ReadonlySet<never> = new Set();

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
