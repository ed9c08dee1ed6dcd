import type { Grant } from "../../authz/grant.js";
import { namesInFacts } from "../../ucan/token/facts.js";
import type { UcanToken } from "../../ucan/verify/proof.js";
import { checkSignature } from "../../ucan/verify/signature.js";
import type { OperationParts } from "./operation.js";

/** Who has a part in a token. */
export interface TokenSigners {
  /** Whoever signed it, or a proof that it rests on. */
  readonly issuers: ReadonlySet<string>;
  /** On the strength of what the venue signed in its chain: DIDs, and ids of tokens. */
  readonly names: ReadonlySet<string>;
}

/**
 * Finds who really signed a token and what it rests on, whatever the time and whether revoked or not. Proofs that are not
 * for the issuer above them are left out.
 *
 * @returns `undefined` when its own signature is wrong
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
