import { type MintClaims, newNonce } from "./claims.js";
import { signToken } from "./sign-token.js";

/** Mints a token in the form of Covia clients: version in the payload, proofs inline. */
export function mintCovia({ key, audience, capabilities, expiresAt, proofs, facts }: MintClaims): string {
  const payload = {
    iss: key.did,
    aud: audience,
    ucv: "0.10.0",
    att: capabilities,
    prf: proofs,
    exp: expiresAt,
    nnc: newNonce(),
    ...(facts.length === 0 ? {} : { fct: facts }),
  };
  return signToken(payload, key);
}
