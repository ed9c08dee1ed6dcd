// Warns of owners, grants and public capabilities that have no effect.

import { parseGrant } from "../../authz/grant.js";
import { escapeText } from "../../core/errors/texts.js";
import type { VenueConfig } from "../types.js";
import { type Place, placeBelow, quotedPath } from "./check-schema.js";

/** `did:key` of an Ed25519 key, as callers and UCAN issuers have. */
const ED25519_DID = /^did:key:z6Mk[1-9A-HJ-NP-Za-km-z]{44}$/;

/**
 * Warns about rights in a config that have no effect: a mistake, but no reason not to start.
 *
 * @param config checked and complete
 * @returns one line each, with key paths and root names, but no other values
 */
export function warnOfIdleRights(venue: Place, config: VenueConfig): readonly string[] {
  return [...idleOwners(venue, config), ...idleGrants(venue, config), ...idlePublicCaps(venue, config)];
}

const pathAt = (place: Place, ...keys: readonly (string | number)[]): string =>
  quotedPath(keys.reduce(placeBelow, place));

function* idleOwners(venue: Place, { did, operator, file }: VenueConfig): Generator<string> {
  for (const [name, { owner }] of Object.entries(file.roots)) {
    // Only Ed25519 `did:key`s can authenticate, apart from the operator (local token) and the venue (its own key).
    if (owner === undefined || owner === did || owner === operator || ED25519_DID.test(owner)) continue;
    yield `${pathAt(venue, "file", "roots", name, "owner")} is not the did:key of an Ed25519 key: nobody can prove to be it`;
  }
}

function* idleGrants(venue: Place, config: VenueConfig): Generator<string> {
  for (const [index, { did, with: resource, can }] of config.auth.grants.entries()) {
    const root = rootOfCapability({ with: resource, can });
    if (root !== undefined && !Object.hasOwn(config.file.roots, root)) {
      yield `${pathAt(venue, "auth", "grants", index)} names root '${escapeText(root)}', which does not exist`;
    }
    if (canBeProved(did, config)) continue;
    const place = pathAt(venue, "auth", "grants", index, "did");
    yield `${place} is neither the did:key of an Ed25519 key nor the DID of a token: nobody can prove to be it`;
  }
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

function* idlePublicCaps(venue: Place, { auth, file }: VenueConfig): Generator<string> {
  const { enabled, caps = [] } = auth.public;
  if (enabled === false || caps.length === 0) return;
  const roots = Object.entries(file.roots);
  if (roots.every(([, { owner }]) => owner !== undefined)) {
    yield `${pathAt(venue, "auth", "public", "caps")} reach no root: public access ends at an owner, and every root has one`;
    return;
  }
  for (const [index, capability] of caps.entries()) {
    const [name, root] = roots.find(([each]) => each === rootOfCapability(capability)) ?? [];
    if (root?.owner === undefined) continue;
    const place = pathAt(venue, "auth", "public", "caps", index);
    yield `${place} gives nothing: root '${name}' has an owner, and public access ends there`;
  }
}

/** The root of a capability, parsed as for authorisation. */
const rootOfCapability = (capability: unknown): string | undefined => parseGrant(capability)?.segments[0];
