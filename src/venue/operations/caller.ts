// Tells the caller of an operation, and whether it acts with its full authority.

import { readCaps } from "../../authz/caps-list.js";
import { covers, EVERYTHING } from "../../authz/grant.js";
import type { SurfaceContext } from "../../core/ports/adapter.js";
import type { OperationParts } from "./operation.js";

type Accessed = Pick<OperationParts, "access">;

/** Canonical DID of the caller; the operator's for a call without a caller. */
export const callerOf = ({ callerDID }: SurfaceContext, { access }: Accessed): string =>
  callerDID === undefined ? access.operator : access.canonicalDid(callerDID);

export const isOperator = (context: SurfaceContext, venue: Accessed): boolean =>
  callerOf(context, venue) === venue.access.operator;

export const isAnonymous = ({ authentication, ambiguousCaller }: SurfaceContext): boolean =>
  authentication === "public" || ambiguousCaller === true;

/**
 * Whether the caller acts with the full authority of its DID: restricted neither by a caps list nor by the capabilities
 * of a token that authenticates it. A restricted agent must not manage tokens.
 */
export function actsInFull(
  { caps, callCaps, within, identityTokens, access: ofToken }: SurfaceContext,
  { access }: { readonly access: Pick<OperationParts["access"], "verifier"> },
): boolean {
  if (ofToken !== undefined || within !== undefined) return false;
  const isOpen = (list: unknown) => readCaps(list)?.grants.some((grant) => covers(grant, EVERYTHING)) ?? true;
  const known = identityTokens === undefined ? [] : access.verifier.read(identityTokens);
  const isWhole = known.every(
    ({ carriesCapabilities, own }) => !carriesCapabilities || own.some((grant) => covers(grant, EVERYTHING)),
  );
  return isOpen(caps) && isOpen(callCaps) && isWhole;
}
