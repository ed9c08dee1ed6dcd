// Determines on whose authority the venue signs a token, so that it can be revoked with it.

import type { Grant } from "../../../authz/grant.js";
import { accessIdOf } from "../../../core/call/caller.js";
import { parseUcans } from "../../../core/call/ucans.js";
import type { SurfaceContext } from "../../../core/ports/adapter.js";
import { namesInFacts } from "../../../ucan/token/facts.js";
import type { ChainLink, UcanToken } from "../../../ucan/verify/proof.js";
import { accessDid } from "../../identity/access-entry.js";
import { callerOf, isOperator } from "../caller.js";
import type { OperationParts } from "../operation.js";

/**
 * Names on whose authority the venue signs a token: the caller, the tokens that carry its grants or authenticate it,
 * the issuers of these, and the names recorded in these tokens. Revoking any of them must revoke the new token, however
 * many venue-signed tokens lie between them.
 *
 * @param via the tokens that carry the grants
 * @returns DIDs and token ids, the caller first; empty for the operator acting without tokens
 */
export function basisOf(context: SurfaceContext, via: readonly ChainLink[], venue: OperationParts): readonly string[] {
  const { did, canonicalDid, verifier } = venue.access;
  const { identityTokens = [] } = context;
  const known = new Set(identityTokens);
  const tokens = verifier.read([...new Set([...identityTokens, ...parseUcans(context.ucans ?? [])])]);
  const ids = new Set(via.map(({ id }) => id));
  const names = new Set<string>(sessionsOf(context, venue));
  for (const token of everyTokenIn(tokens)) {
    const { id, text, decoded } = token;
    if (id === undefined || decoded === undefined || !(ids.has(id) || known.has(text))) continue;
    names.add(id);
    if (canonicalDid(decoded.issuer) !== did) names.add(decoded.issuer);
    for (const name of namesInFacts(decoded.payload["fct"])) names.add(name);
  }
  if (names.size === 0 && isOperator(context, venue)) return [];
  return [...new Set([callerOf(context, venue), ...names])];
}

/** DIDs of the session the caller acts through, and of those that was made through. */
function sessionsOf(context: SurfaceContext, { access }: OperationParts): readonly string[] {
  const via = accessIdOf(context);
  if (via === undefined) return [];
  return [via, ...(access.accessTokens?.inForce(via)?.via ?? [])].map((id) => accessDid(access, id));
}

/** The tokens and all their proofs, without duplicates. */
function everyTokenIn(tokens: readonly UcanToken<Grant>[]): ReadonlySet<UcanToken<Grant>> {
  const found = new Set<UcanToken<Grant>>();
  const visit = (token: UcanToken<Grant>): void => {
    if (found.has(token)) return;
    found.add(token);
    for (const proof of token.proofs) if (typeof proof !== "string") visit(proof);
  };
  for (const token of tokens) visit(token);
  return found;
}
