// Warns of owners, grants and public capabilities that have no effect.

import { ABILITY_NAMES, isOf, isOfUse, parseGrant } from "../../authz/grant.js";
import type { Capability } from "../../core/call/capability.js";
import { escapeText } from "../../core/errors/texts.js";
import { otherDidKey } from "../../ucan/token/key-types.js";
import type { VenueConfig } from "../types.js";
import { type Place, placeBelow, quotedPath } from "./check-schema.js";

/** `did:key` of an Ed25519 key, as callers and UCAN issuers have. */
const ED25519_DID = /^did:key:z6Mk[1-9A-HJ-NP-Za-km-z]{44}$/;

/**
 * Warns about rights in a config that have no effect: a mistake, but no reason not to start.
 *
 * @param config checked and complete
 * @returns one line each, with key paths, root names and abilities, but no other values
 */
export function warnOfIdleRights(venue: Place, config: VenueConfig): readonly string[] {
  const idle = [idleOwners, idleGrants, idleTokens, idleIssuers, idlePublicCaps];
  return idle.flatMap((warnings) => [...warnings(venue, config)]);
}

const pathAt = (place: Place, ...keys: readonly (string | number)[]): string => quotedPath(placeBelow(place, ...keys));

function* idleOwners(venue: Place, { did, operator, file }: VenueConfig): Generator<string> {
  for (const [name, { owner }] of Object.entries(file.roots)) {
    // Only Ed25519 `did:key`s can authenticate, apart from the operator (local token) and the venue (its own key).
    if (owner === undefined || owner === did || owner === operator || ED25519_DID.test(owner)) continue;
    yield `${pathAt(venue, "file", "roots", name, "owner")} is ${otherDidKey(owner) ?? "not the did:key of an Ed25519 key"}: nobody can prove to be it`;
  }
}

function* idleGrants(venue: Place, config: VenueConfig): Generator<string> {
  for (const [index, { did, with: resource, can }] of config.auth.grants.entries()) {
    yield* idleCapability(pathAt(venue, "auth", "grants", index), { with: resource, can }, config);
    if (canBeProved(did, config)) continue;
    const place = pathAt(venue, "auth", "grants", index, "did");
    const is = otherDidKey(did) ?? "neither the did:key of an Ed25519 key nor the DID of a token";
    yield `${place} is ${is}: nobody can prove to be it`;
  }
}

function* idleTokens(venue: Place, config: VenueConfig): Generator<string> {
  for (const [index, { caps }] of config.auth.tokens.entries()) {
    for (const [at, capability] of caps.entries()) {
      yield* idleCapability(pathAt(venue, "auth", "tokens", index, "caps", at), capability, config);
    }
  }
}

function* idleIssuers(venue: Place, config: VenueConfig): Generator<string> {
  for (const [index, { map }] of config.auth.issuers.entries()) {
    for (const [entry, { caps }] of map.entries()) {
      for (const [at, capability] of caps.entries()) {
        yield* idleCapability(pathAt(venue, "auth", "issuers", index, "map", entry, "caps", at), capability, config);
      }
    }
  }
}

/** Warns of a capability whose root or ability does not exist. */
function* idleCapability(path: string, capability: Capability, { file }: VenueConfig): Generator<string> {
  const grant = parseGrant(capability);
  if (grant === undefined) return;
  const [root] = grant.segments;
  if (isOf("file", grant) && root !== undefined && !Object.hasOwn(file.roots, root)) {
    yield `${path} names root '${escapeText(root)}', which does not exist`;
  }
  if (!isOfUse(grant)) yield `${path} gives nothing: no operation needs '${capability.can}'. Use ${ABILITY_NAMES}`;
}

function canBeProved(did: string, config: VenueConfig): boolean {
  if (ED25519_DID.test(did) || did === config.did || did === config.operator) return true;
  return config.auth.tokens.some((token) => {
    if (token.did !== undefined) return token.did === did;
    // Without `did` the venue's DID is derived from its key, which is not known yet.
    const own = `:token:${token.name}`;
    return config.did === undefined ? did.endsWith(own) : did === `${config.did}${own}`;
  });
}

function* idlePublicCaps(venue: Place, config: VenueConfig): Generator<string> {
  const { auth, file } = config;
  const { enabled, caps = [] } = auth.public;
  if (enabled === false || caps.length === 0) return;
  const roots = Object.entries(file.roots);
  if (roots.every(([, { owner }]) => owner !== undefined)) {
    yield `${pathAt(venue, "auth", "public", "caps")} reach no root: public access ends at an owner, and every root has one`;
    return;
  }
  for (const [index, capability] of caps.entries()) {
    const place = pathAt(venue, "auth", "public", "caps", index);
    yield* idleCapability(place, capability, config);
    const [name, root] = roots.find(([each]) => each === parseGrant(capability)?.segments[0]) ?? [];
    if (root?.owner === undefined) continue;
    yield `${place} gives nothing: root '${name}' has an owner, and public access ends there`;
  }
}
