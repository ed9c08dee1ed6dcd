import { readUcans } from "../core/call/ucans.js";
import type { SurfaceContext } from "../core/ports/adapter.js";
import type { UcanToken, UcanVerifier } from "../ucan/verify/proof.js";
import { type Authority, type AuthorityFacts, CallerAuthority, everythingIn } from "./authority.js";
import type { CapabilityRules } from "./capability-rules.js";
import type { DenialReason } from "./denial.js";
import { DriveAuthority } from "./drive-authority.js";
import { type Grant, isOf, parseGrant } from "./grant.js";

/** The part of a root that its rights depend on. */
interface OwnedRoot {
  readonly name: string;
  readonly owner?: string;
  /** Present: it is a drive, and each caller has its own. */
  readonly drive?: string;
}

/** Finds the rights of callers, by one set of rules and roots. */
export interface Authorities {
  of(context: SurfaceContext): Authority;
  /** The same for the drives of the caller. */
  inDrives(context: SurfaceContext): Authority;
  /** Whose drives a caller uses: its own DID, canonical. `undefined`: nobody has proved to be somebody. */
  driveOwner(context: SurfaceContext): string | undefined;
  /** DID of whoever owns a root: its own owner, else the operator. Canonical. `undefined` also for drives: each has many. */
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
  const drives = new Set(roots.flatMap(({ name, drive }) => (drive === undefined ? [] : [name])));
  const anonymousDids = [rules.venueDid, venueDid].map((did) => `${did}:public`);
  const driveOwner = ({ callerDID, authentication }: SurfaceContext): string | undefined => {
    if (callerDID === undefined || callerDID === "" || authentication === "public") return undefined;
    return anonymousDids.includes(callerDID) ? undefined : canonical(callerDID);
  };
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
  /** Of a drive each caller owns its own; of nobody's drive nobody is the owner. */
  const ownersFor = (context: SurfaceContext): ReadonlyMap<string, string> => {
    if (drives.size === 0) return shared.owners;
    const owner = driveOwner(context) ?? NOBODY;
    return new Map([...shared.owners, ...[...drives].map((name) => [name, owner] as const)]);
  };
  const ownDrives = (context: SurfaceContext): readonly Grant[] =>
    drives.size === 0 || driveOwner(context) === undefined ? NONE : [...drives].map(everythingIn);
  const broughtBy = (context: SurfaceContext) => {
    const { fault, texts } = textsOf(context);
    const tokens = texts.length === 0 ? NONE : verifier.read(texts);
    const self = selfOf(tokens.filter(({ text }) => context.identityTokens?.includes(text)));
    return { fault, tokens, self, bearsProofs: tokens.some(({ carriesCapabilities }) => carriesCapabilities) };
  };
  return {
    venueDid,
    verifier,
    driveOwner,
    ownerOf: (root) => {
      if (root !== undefined && drives.has(root)) return undefined;
      return (root === undefined ? undefined : shared.owners.get(root)) ?? operator;
    },
    inDrives(context) {
      const { self, ...brought } = broughtBy(context);
      return new DriveAuthority({ ...brought, self: self?.grants.filter((grant) => isOf("dlfs", grant)) });
    },
    of(context) {
      const did = canonicalOrAbsent(context.callerDID, canonical);
      const { fault, tokens, self, bearsProofs } = broughtBy(context);
      const isAnonymous = context.authentication === "public";
      const bound = did === undefined ? NONE : tokens.filter((token) => isBound(token, did, isAnonymous));
      return new CallerAuthority({
        // Written out: a spread makes an object of the slow kind, at every request.
        owners: ownersFor(context),
        operator: shared.operator,
        publicGrants: shared.publicGrants,
        roots: shared.roots,
        fault,
        isOperator: did === undefined || did === operator,
        did,
        isAnonymous,
        self: self === undefined ? undefined : { ...self, grants: self.grants.filter(isOfFiles) },
        given: [...((did === undefined ? undefined : givenTo.get(did)) ?? NONE), ...ownDrives(context)],
        added: context.tokenCaps === undefined ? NONE : grantsOf(context.tokenCaps),
        tokens,
        bound: bound.length === 0 ? NOBODYS : new Set(bound),
        bearsProofs,
      });
    },
  };
}

const canonicalOrAbsent = (did: string | undefined, canonical: (did: string) => string): string | undefined =>
  did === undefined ? undefined : canonical(did);

const grantsOf = (capabilities: readonly unknown[]): readonly Grant[] =>
  capabilities
    .map(parseGrant)
    .filter((grant) => grant !== undefined)
    .filter(isOfFiles);

/** The callers' own drives need no grant, and a list that names them is about nothing else. */
const isOfFiles = (grant: Grant): boolean => isOf("file", grant);

/** Owner of drives that no call can reach; no DID is like it. */
const NOBODY = "\u0000";

/** The tokens of a request, none where the request is refused as a whole. */
function textsOf({ ambiguousCaller, ucans, identityTokens = NONE }: SurfaceContext): {
  readonly fault: DenialReason | undefined;
  readonly texts: readonly string[];
} {
  if (ambiguousCaller === true) return { fault: "ambiguous_caller", texts: NONE };
  if (ucans === undefined || ucans === null) return { fault: undefined, texts: identityTokens };
  const texts = readUcans(ucans, identityTokens);
  return "fault" in texts ? { fault: texts.fault, texts: NONE } : { fault: undefined, texts };
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
