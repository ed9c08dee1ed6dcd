// Determines who signed a token and its proofs, which decides who may revoke it.

import type { Grant } from "../../../authz/grant.js";
import { namesInFacts } from "../../../ucan/token/facts.js";
import type { UcanToken } from "../../../ucan/verify/proof.js";
import { checkSignature } from "../../../ucan/verify/public-keys.js";
import type { OperationParts } from "../operation.js";

/** The parties to a token. */
export interface TokenSigners {
  /** Issuers of the token and of the proofs it rests on. */
  readonly issuers: ReadonlySet<string>;
  /** DIDs and token ids on whose authority the venue signed tokens in the chain. */
  readonly names: ReadonlySet<string>;
}

/**
 * Collects the verified issuers of a token and its proofs, regardless of expiry and revocation. Proofs whose audience
 * is not the issuer above them are skipped.
 *
 * @returns `undefined` when the token's own signature is invalid
 */
export function signersOf(token: UcanToken<Grant>, { access, keys }: OperationParts): TokenSigners | undefined {
  const issuers = new Set<string>();
  const names = new Set<string>();
  const seen = new Set<UcanToken<Grant>>();
  const visit = (one: UcanToken<Grant>): void => {
    const { decoded } = one;
    if (seen.has(one) || decoded === undefined) return;
    seen.add(one);
    if (checkSignature(decoded, keys) !== undefined) return;
    const issuer = access.canonicalDid(decoded.issuer);
    issuers.add(issuer);
    if (issuer === access.did) for (const name of namesInFacts(decoded.payload["fct"])) names.add(name);
    for (const proof of one.proofs) {
      if (typeof proof === "string" || proof.decoded?.audience === undefined) continue;
      if (access.canonicalDid(proof.decoded.audience) === issuer) visit(proof);
    }
  };
  visit(token);
  return issuers.size === 0 ? undefined : { issuers, names };
}
