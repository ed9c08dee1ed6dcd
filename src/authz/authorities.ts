// Derives the authority of each caller from the configured rules, the owners of roots, and the tokens of a request.

import type { AccessRights } from "../core/call/caller.js";
import { readUcans } from "../core/call/ucans.js";
import type { SurfaceContext } from "../core/ports/adapter.js";
import type { UcanToken, UcanVerifier } from "../ucan/verify/proof.js";
import { Authority, type AuthorityFacts, driveOwnerGrants, ownerGrants } from "./authority.js";
import type { CapabilityRules } from "./capability-rules.js";
import { type CapsReading, withRootsOnDrives } from "./caps-list.js";
import type { DenialReason } from "./denial.js";
import { everyDriveOf, type Grant, isOf, parseGrant } from "./grant.js";

/** The fields of a root that rights depend on. */
interface OwnedRoot {
  readonly name: string;
  readonly owner?: string | undefined;
  /** Present: the root is a drive, and each caller has its own. */
  readonly drive?: string | undefined;
  readonly subpath?: readonly string[] | undefined;
}

export type Authorities = ReturnType<typeof createAuthorities>;

/** Authorities of callers, for one set of rules and roots. Precomputes everything that does not depend on the caller. */
export function createAuthorities(
  rules: CapabilityRules & { readonly verifier: UcanVerifier<Grant> },
  roots: readonly OwnedRoot[],
) {
  const { canonicalDid: canonical = (did) => did, verifier } = rules;
  const publicGrants = grantsOf(rules.publicCaps ?? []);
  const givenTo = new Map<string, Grant[]>();
  const give = (did: string, grants: readonly Grant[]): void => {
    givenTo.set(canonical(did), [...(givenTo.get(canonical(did)) ?? []), ...grants]);
  };
  for (const { name, owner } of roots) if (owner !== undefined) give(owner, ownerGrants(name));
  for (const { did, ...capability } of rules.grants ?? []) give(did, grantsOf([capability]));
  const venueDid = canonicalIfGiven(rules.venueDid, canonical);
  const operator = canonicalIfGiven(rules.operator, canonical);
  const onDrives = roots.flatMap(({ name, drive, subpath }) => (drive === undefined ? [] : [{ name, drive, subpath }]));
  const drives = new Set(onDrives.map(({ name }) => name));
  const anonymousDids = [rules.venueDid, venueDid].map((did) => `${did}:public`);
  /** Canonical DID of the owner of the drives that a caller uses: itself. `undefined`: no DID, or anonymous. */
  const driveOwner = ({ callerDID, authentication, access }: SurfaceContext): string | undefined => {
    if (access !== undefined) return canonical(access.maker);
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
    // An anonymous caller has not proved that it is the audience: holding the delegation proves nothing.
    return isFor === did && !isAnonymous;
  };
  /** Owners of the roots as one caller sees them: a drive root is its own; without an identity, nobody's. */
  const ownersFor = (context: SurfaceContext): ReadonlyMap<string, string> => {
    if (drives.size === 0) return shared.owners;
    const owner = driveOwner(context) ?? NOBODY;
    return new Map([...shared.owners, ...[...drives].map((name) => [name, owner] as const)]);
  };
  const ownDrives = (context: SurfaceContext): readonly Grant[] =>
    drives.size === 0 || driveOwner(context) === undefined ? NONE : [...drives].flatMap(ownerGrants);
  const broughtBy = (context: SurfaceContext) => {
    const { fault, texts } = textsOf(context);
    const tokens = texts.length === 0 ? NONE : verifier.read(texts);
    const self = selfOf(tokens.filter(({ text }) => context.identityTokens?.includes(text)));
    return { fault, tokens, self, bearsProofs: tokens.some(({ carriesCapabilities }) => carriesCapabilities) };
  };
  return {
    /** The venue's own DID. */
    venueDid,
    verifier,
    driveOwner,
    /** How the caps lists of a call are read. */
    capsReading: (context: SurfaceContext): CapsReading => ({
      ...{ giver: driveOwner(context), canonicalDid: canonical, roots: onDrives },
    }),
    /** Canonical DID of a root's owner: its own, else the operator. `undefined` also for drives, which have many. */
    ownerOf: (root: string | undefined): string | undefined => {
      if (root !== undefined && drives.has(root)) return undefined;
      return (root === undefined ? undefined : shared.owners.get(root)) ?? operator;
    },
    /** Name of the caller in records: `operator`, or its canonical DID. */
    actorOf({ callerDID }: SurfaceContext): string {
      const did = canonicalIfGiven(callerDID, canonical);
      return did === undefined || did === operator ? "operator" : did;
    },
    /**
     * The caller's authority in operations on drives by name: everything in its own but approving, within the bounds of its
     * identity tokens. Those of other callers have no names there, so proofs give nothing, and denials name nobody to ask.
     */
    inDrives(given: SurfaceContext): Authority {
      const context: SurfaceContext = given.access === undefined ? given : holderOf(given.access);
      const owner = driveOwner(given) ?? NOBODY;
      const { fault, bearsProofs, self = { grants: [everyDriveOf(owner)], expiresAt: null } } = broughtBy(context);
      return new Authority({
        ...{ fault, bearsProofs, self, driveOwner: owner, given: driveOwnerGrants(owner), added: NONE },
        ...{ isOperator: false, did: undefined, isAnonymous: false, tokens: NONE, bound: NOBODYS },
        ...{ publicGrants: NONE, owners: new Map(), operator: undefined, roots: NONE },
      });
    },
    of(given: SurfaceContext): Authority {
      // The bearer of an access token has the rights of its maker, and no proofs or public grants of its own.
      const { access } = given;
      const context: SurfaceContext = access === undefined ? given : holderOf(access);
      const did = canonicalIfGiven(context.callerDID, canonical);
      const { tokens, self, bearsProofs, ...brought } = broughtBy(context);
      const fault = access === undefined ? brought.fault : textsOf(given).fault;
      const isAnonymous = context.authentication === "public";
      const bound = did === undefined ? NONE : tokens.filter((token) => isBound(token, did, isAnonymous));
      return new Authority({
        // Written out: an object made by a spread is slow (dictionary mode), and this runs at every request.
        owners: ownersFor(context),
        operator: shared.operator,
        publicGrants: access === undefined ? shared.publicGrants : NONE,
        driveOwner: driveOwner(given),
        roots: shared.roots,
        fault,
        isOperator: did === undefined || did === operator,
        // No UCAN could help the bearer of an access token.
        did: access === undefined ? did : undefined,
        isAnonymous,
        self: self && {
          ...self,
          grants: withRootsOnDrives(self.grants, { giver: driveOwner(given), roots: onDrives }),
        },
        given: [...((did === undefined ? undefined : givenTo.get(did)) ?? NONE), ...ownDrives(context)],
        added: context.tokenCaps === undefined ? NONE : grantsOf(context.tokenCaps),
        tokens,
        bound: bound.length === 0 ? NOBODYS : new Set(bound),
        bearsProofs,
      });
    },
  };
}

/** The maker of an access token as a caller. */
const holderOf = ({ maker, tokenCaps }: AccessRights): SurfaceContext => ({
  callerDID: maker,
  ...(tokenCaps === undefined ? {} : { tokenCaps }),
});

const canonicalIfGiven = (did: string | undefined, canonical: (did: string) => string): string | undefined =>
  did === undefined ? undefined : canonical(did);

const grantsOf = (capabilities: readonly unknown[]): readonly Grant[] =>
  capabilities
    .map((capability) => parseGrant(capability))
    .filter((grant) => grant !== undefined)
    .filter(isOfFiles);

/** Drops grants on drives: callers need none for their own drives, and such grants give nothing in roots. */
const isOfFiles = (grant: Grant): boolean => isOf("file", grant);

/** Owner of drive roots for anonymous callers: equals no DID. */
const NOBODY = "\u0000";

/** The tokens of a request; none if the request is refused as a whole (`fault`). */
function textsOf({ ambiguousCaller, ucans, identityTokens = NONE }: SurfaceContext): {
  readonly fault: DenialReason | undefined;
  readonly texts: readonly string[];
} {
  if (ambiguousCaller === true) return { fault: "ambiguous_caller", texts: NONE };
  if (ucans === undefined || ucans === null) return { fault: undefined, texts: identityTokens };
  const texts = readUcans(ucans, identityTokens);
  return "fault" in texts ? { fault: texts.fault, texts: NONE } : { fault: undefined, texts };
}

/** Shared empty values: most requests bring no tokens. */
const NONE: readonly never[] = [];
const NOBODYS: ReadonlySet<never> = new Set();

/** The bounds that identity tokens with a capability list put on the caller's own rights. */
function selfOf(tokens: readonly UcanToken<Grant>[]): AuthorityFacts["self"] {
  const bounding = tokens.filter(({ carriesCapabilities }) => carriesCapabilities);
  if (bounding.length === 0) return undefined;
  const ends = bounding.map(({ decoded }) => decoded?.expiresAt).filter((end) => typeof end === "number");
  return {
    grants: bounding.flatMap(({ own }) => own),
    expiresAt: ends.length === 0 ? null : Math.min(...ends),
  };
}
