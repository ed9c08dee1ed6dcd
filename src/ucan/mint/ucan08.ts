import type { DidableKey } from "ucans";
import { type MintClaims, newNonce } from "./claims.js";
import { signBytes } from "./sign-token.js";

/**
 * A token of UCAN 0.8, built with the library that its users verify with. The library is loaded here and nowhere else,
 * at the first such token: it never sees a token of anybody's, but texts of proofs, which it only copies.
 */
export async function mintUcan08(claims: MintClaims): Promise<string> {
  const { key, audience, capabilities, expiresAt, proofs, facts } = claims;
  const ucans = await import("ucans");
  const issuer: DidableKey = {
    did: () => key.did,
    jwtAlg: "EdDSA",
    sign: async (bytes) => signBytes(bytes, key),
  };
  const payload = ucans.buildPayload({
    issuer: key.did,
    audience,
    capabilities: capabilities.map((capability) => ucans.capability.parse({ ...capability })),
    expiration: expiresAt,
    proofs: [...proofs],
    ...(facts.length === 0 ? {} : { facts: facts.map((fact) => ({ ...fact })) }),
  });
  // Its own nonces are six characters of Math.random.
  return ucans.encode(await ucans.signWithKeypair({ ...payload, nnc: newNonce() }, issuer));
}
