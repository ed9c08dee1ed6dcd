import type { Grant } from "../../authz/grant.js";
import { parseUcans } from "../../core/call/ucans.js";
import type { SurfaceContext } from "../../core/ports/adapter.js";
import { namesInFacts } from "../../ucan/token/facts.js";
import type { ChainLink, UcanToken } from "../../ucan/verify/proof.js";
import type { OperationParts } from "./operation.js";
import { callerOf, isOperator } from "./standing.js";

/**
 * On the strength of whom and what the venue signs a token: the caller, the tokens its rights rest on and those it is
 * known by, whoever signed these, and what they in turn were signed on the strength of. To revoke any of them must be to
 * revoke the token, however often the venue signs on the strength of what it signed.
 *
 * @param via the tokens the rights rest on
 * @returns DIDs and ids, the caller first; nothing for the operator, unless tokens say what it may do
 */
export function basisOf(context: SurfaceContext, via: readonly ChainLink[], venue: OperationParts): readonly string[] {
  const { did, canonicalDid, verifier } = venue.access;
  const { identityTokens = [] } = context;
  const known = new Set(identityTokens);
  const tokens = verifier.read([...new Set([...identityTokens, ...parseUcans(context.ucans ?? [])])]);
  const ids = new Set(via.map(({ id }) => id));
  const names = new Set<string>();
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

/** The tokens and their proofs, each once. */
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
