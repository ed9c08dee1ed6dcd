// Mints tokens of the UCAN 0.8 format.

import { createRequire } from "node:module";
import type { DidableKey } from "ucans";
import { laterPackage } from "../../core/later.js";
import { type MintClaims, newNonce } from "./claims.js";
import { signBytes } from "./signing-key.js";

const loadUcans = laterPackage<typeof import("ucans")>(createRequire(import.meta.url), "ucans");

/**
 * Mints a UCAN 0.8 token with the `ucans` library, which its users verify with. The library is loaded only here, at the
 * first such token; it never parses untrusted tokens, and only copies the texts of proofs.
 */
export async function mintUcan08(claims: MintClaims): Promise<string> {
  const { key, audience, capabilities, expiresAt, proofs, facts } = claims;
  const ucans = loadUcans();
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
  return ucans.encode(await ucans.signWithKeypair({ ...payload, nnc: newNonce() }, issuer));
}
