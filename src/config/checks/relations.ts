// Checks that the schema cannot express: relations between keys, and texts that have a parser of their own.

import type { Capability } from "../../core/call/capability.js";
import { isLinux } from "../../core/system.js";
import { isLoopbackListener, isSafeUrl } from "../loopback.js";
import type { Draft, DraftVenue } from "../types.js";
import { normaliseBaseUrl, normaliseHost, normaliseOrigin } from "../web-url.js";
import { type Place, placeBelow, quotedPath, report } from "./check-schema.js";

/** Whether a capability grants anything when parsed for authorisation. */
export type IsGrant = (capability: unknown) => boolean;

/** Maximum bytes of a Unix socket path (`sun_path` without the terminating zero). */
const maxSocketBytes = (): number => (isLinux() ? 107 : 103);

/**
 * Checks what the schema cannot: relations between keys, and texts that need a parser. Skips missing parts, which have
 * been reported already.
 */
export function checkRelations(venue: Place, draft: DraftVenue, isGrant: IsGrant | undefined): void {
  checkSocket(placeBelow(venue, "listen", "socket"), draft);
  checkBaseUrl(placeBelow(venue, "baseUrl"), draft);
  for (const [index, name] of (draft.hosts ?? []).entries()) {
    if (name === undefined || normaliseHost(name) !== undefined) continue;
    report(placeBelow(venue, "hosts", index), "must be a host that can exist");
  }
  checkIdentity(venue, draft);
  checkCaps(placeBelow(venue, "auth", "public", "caps"), draft.auth?.public?.caps, isGrant);
  checkOwners(placeBelow(venue, "file", "roots"), draft);
  checkTokens(venue, draft, isGrant);
  checkGrants(placeBelow(venue, "auth", "grants"), draft, isGrant);
  checkIssuers(placeBelow(venue, "auth", "issuers"), draft, isGrant);
  checkOrigins(placeBelow(venue, "corsOrigins"), venue, draft);
  checkStorage(placeBelow(venue, "storage"), draft);
  checkDrives(venue, draft);
  checkState(venue, draft);
}

/** Whether a key without default is present; if its value is `undefined`, it was invalid and has been reported. */
const isGiven = <T extends object>(part: T, key: keyof T): boolean => Object.hasOwn(part, key);

function checkSocket(place: Place, { listen }: DraftVenue): void {
  if (listen?.socket === undefined || Buffer.byteLength(listen.socket) <= maxSocketBytes()) return;
  report(place, `is too long for a socket: at most ${maxSocketBytes()} bytes as an absolute path`);
}

function checkBaseUrl(place: Place, { baseUrl }: DraftVenue): void {
  if (baseUrl === undefined || normaliseBaseUrl(baseUrl) !== undefined) return;
  report(place, "must be a URL with a host that can exist");
}

function checkIdentity(venue: Place, draft: DraftVenue): void {
  const { did, operator } = draft;
  if (did?.startsWith("did:key:") === true && !isGiven(draft, "seed") && !isGiven(draft, "seedFile")) {
    const [given, inFile] = [placeBelow(venue, "seed"), placeBelow(venue, "seedFile")].map(quotedPath);
    report(placeBelow(venue, "did"), `is a did:key, so its key must be known: set ${given} or ${inFile}`);
  }
  checkNotPublic(placeBelow(venue, "operator"), operator, draft);
}

/** A `did:key` followed by `:public`: the public caller of a venue whose DID is derived from its key. */
const PUBLIC_OF_KEY = /^did:key:[^:]+:public$/;

/** Refuses the DID of the public caller, since its rights would apply to everybody. */
function checkNotPublic(place: Place, given: string | undefined, { did }: DraftVenue): void {
  if (given === undefined) return;
  const isPublic = PUBLIC_OF_KEY.test(given) || (did !== undefined && given === `${did}:public`);
  if (isPublic) report(place, "must not be the DID of callers without credentials");
}

type Capabilities = Draft<readonly Capability[]> | undefined;

/** Reports the capabilities that grant nothing. */
export function checkCaps(place: Place, caps: Capabilities, isGrant: IsGrant | undefined): void {
  if (isGrant === undefined) return;
  for (const [index, capability] of (caps ?? []).entries()) {
    const { with: resource, can } = capability ?? {};
    // Missing or invalid members have been reported already.
    if (resource === undefined || can === undefined || isGrant({ with: resource, can })) continue;
    const expected = `expected 'with' to be a resource such as "file://docs/" and 'can' an ability such as "crud/read"`;
    report(placeBelow(place, index), `grants nothing: ${expected}`);
  }
}

function checkGrants(place: Place, draft: DraftVenue, isGrant: IsGrant | undefined): void {
  const grants = draft.auth?.grants;
  for (const [index, grant] of (grants ?? []).entries())
    checkNotPublic(placeBelow(place, index, "did"), grant?.did, draft);
  checkCaps(place, grants, isGrant);
}

function checkOwners(roots: Place, draft: DraftVenue): void {
  for (const { name, owner } of ownersOf(draft)) checkNotPublic(placeBelow(roots, name, "owner"), owner, draft);
}

function* ownersOf({ file }: DraftVenue): Generator<{ readonly name: string; readonly owner: string }> {
  for (const [name, root] of Object.entries(file?.roots ?? {})) {
    if (typeof root === "object" && root.owner !== undefined) yield { name, owner: root.owner };
  }
}

function checkTokens(venue: Place, draft: DraftVenue, isGrant: IsGrant | undefined): void {
  const place = placeBelow(venue, "auth", "tokens");
  const firstOf = new Map<string, Place>();
  for (const [index, token] of (draft.auth?.tokens ?? []).entries()) {
    if (token === undefined) continue;
    const name = placeBelow(place, index, "name");
    const first = token.name === undefined ? undefined : firstOf.get(token.name);
    if (first !== undefined) place.check.problems.push(`${quotedPath(first)} and ${quotedPath(name)} are the same`);
    else if (token.name !== undefined) firstOf.set(token.name, name);
    checkBearer(placeBelow(place, index, "did"), token.did, { venue, draft });
    checkCaps(placeBelow(place, index, "caps"), token.caps, isGrant);
  }
}

function checkIssuers(place: Place, draft: DraftVenue, isGrant: IsGrant | undefined): void {
  const known = new Set<string>();
  for (const [index, one] of (draft.auth?.issuers ?? []).entries()) {
    for (const key of ["issuer", "jwks"] as const) {
      const url = one?.[key];
      if (url === undefined || isSafeUrl(url)) continue;
      report(placeBelow(place, index, key), "must be a URL by https://, or by http:// on this machine");
    }
    const { issuer, map = [] } = one ?? {};
    if (issuer !== undefined && known.has(issuer)) report(placeBelow(place, index, "issuer"), "is named twice");
    if (issuer !== undefined) known.add(issuer);
    for (const [at, entry] of map.entries())
      checkCaps(placeBelow(place, index, "map", at, "caps"), entry?.caps, isGrant);
  }
}

/** A static token can be copied, so its DID must not be the operator, an owner, or the public caller. */
function checkBearer(
  place: Place,
  bearer: string | undefined,
  { venue, draft }: { readonly venue: Place; readonly draft: DraftVenue },
): void {
  if (bearer === undefined) return;
  checkNotPublic(place, bearer, draft);
  // Without both, the operator has the DID of the venue's key, which is unknown here.
  if (bearer === (draft.operator ?? draft.did)) report(place, "must not be the operator of the venue");
  for (const { name, owner } of ownersOf(draft)) {
    if (owner === bearer)
      report(place, `must not be that of ${quotedPath(placeBelow(venue, "file", "roots", name, "owner"))}`);
  }
}

function checkOrigins(place: Place, venue: Place, draft: DraftVenue): void {
  const { corsOrigins } = draft;
  if (corsOrigins === "*") {
    if (!servesStrangersByDefault(draft)) return;
    const caps = quotedPath(placeBelow(venue, "auth", "public", "caps"));
    report(place, `must not be "*" where callers without credentials are served, unless ${caps} says what they may do`);
    return;
  }
  for (const [index, origin] of (corsOrigins ?? []).entries()) {
    if (origin === undefined || normaliseOrigin(origin) !== undefined) continue;
    report(placeBelow(place, index), "must be an origin with a host that can exist");
  }
}

/** Whether callers without credentials are served with default capabilities, none being configured. */
function servesStrangersByDefault(draft: DraftVenue): boolean {
  const { hostname, trustProxy, listen, baseUrl, hosts, auth } = draft;
  if (auth?.public === undefined || isGiven(auth.public, "caps")) return false;
  if (isGiven(auth.public, "enabled")) return auth.public.enabled === true;
  // If any of these is invalid, the listener is unknown; and off loopback the venue requires an explicit setting.
  if (hostname === undefined || trustProxy === undefined) return false;
  const url = baseUrl === undefined ? undefined : normaliseBaseUrl(baseUrl);
  if (isGiven(draft, "baseUrl") && url === undefined) return false;
  const names = hosts?.filter((name) => name !== undefined);
  return isLoopbackListener({ hostname, trustProxy, listen, baseUrl: url, hosts: names });
}

function checkStorage(place: Place, { storage }: DraftVenue): void {
  if (storage?.content === undefined) return;
  const needs = { path: "file", s3: "s3" } as const;
  for (const key of ["path", "s3"] as const) {
    const content = needs[key];
    const at = placeBelow(place, key);
    if (storage.content !== content && storage[key] !== undefined)
      report(at, `is only allowed with content "${content}"`);
    if (storage.content === content && !isGiven(storage, key)) report(at, `is missing: content "${content}" needs it`);
  }
}

/** Drive keys are encrypted with the venue's key; with a new one at each start, drives would become inaccessible. */
function checkDrives(venue: Place, draft: DraftVenue): void {
  const { store } = draft.drives ?? {};
  if (typeof store !== "object") return;
  const [path, s3] = ["path", "s3"].map((key) => Object.hasOwn(store, key));
  if (path === s3)
    report(
      placeBelow(venue, "drives", "store"),
      `must have ${path ? "only one of" : "either"} path ${path ? "and" : "or"} s3`,
    );
  if (path === s3) return;
  if (isGiven(draft, "seed") || isGiven(draft, "seedFile")) return;
  const [seed, file] = [placeBelow(venue, "seed"), placeBelow(venue, "seedFile")].map(quotedPath);
  report(
    placeBelow(venue, "drives", "store"),
    `outlasts the key of the venue: set ${seed} or ${file}, or make it "memory"`,
  );
}

/** Without a state directory, refuses features that need one. */
function checkState(venue: Place, { stateDir, auth, drives, storage }: DraftVenue): void {
  if (stateDir !== false) return;
  const store = drives?.store;
  const needs = [
    ...(auth?.localToken === true ? [placeBelow(venue, "auth", "localToken")] : []),
    ...(typeof store === "object" && Object.hasOwn(store, "s3") ? [placeBelow(venue, "drives", "store", "s3")] : []),
    ...(storage?.content === "s3" ? [placeBelow(venue, "storage", "s3")] : []),
  ];
  for (const place of needs)
    report(place, `needs a state directory, but ${quotedPath(placeBelow(venue, "stateDir"))} is false`);
}
