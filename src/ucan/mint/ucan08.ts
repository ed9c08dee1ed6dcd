import type { DidableKey } from "@ucans/core";
import { type MintClaims, newNonce } from "./claims.js";
import { signBytes } from "./sign-token.js";

/** What the library has to know of a kind of key; it verifies nothing here. */
const ED25519 = {
  /** As multicodec. */
  prefix: Uint8Array.of(0xed, 0x01),
  jwtAlg: "EdDSA",
  verifySignature: () => Promise.reject(new Error("Minting verifies no signatures")),
};

/**
 * Mints a UCAN 0.8 token with the core of `@ucans/ucans`, which its users verify with. It is loaded only here, at the
 * first such token; it never parses untrusted tokens, and only copies the texts of proofs.
 */
export async function mintUcan08(claims: MintClaims): Promise<string> {
  const { key, audience, capabilities, expiresAt, proofs, facts } = claims;
  const ucans = await import("@ucans/core");
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
  // The library's own nonces are six characters from Math.random.
  const sign = ucans.signWithKeypair(new ucans.Plugins([ED25519], {}));
  return ucans.encode(await sign({ ...payload, nnc: newNonce() }, issuer));
}
