// Verifies the signature of a token.

import { verify } from "node:crypto";
import type { DecodedToken } from "../token/decode.js";
import type { TokenFault } from "../token/fault.js";
import type { PublicKeys } from "./public-keys.js";

/**
 * Verifies a token's signature with the key of `iss`. OpenSSL refuses non-reduced scalars (`S + L`), so signatures are
 * not malleable; it accepts keys of small order, which are not valid DIDs here.
 */
export function checkSignature(token: DecodedToken, keys: PublicKeys): TokenFault | undefined {
  const key = keys.of(token.issuer);
  if (key === undefined) return "bad_did";
  const signed = Buffer.from(token.signedText, "latin1");
  return verify(null, signed, key, token.signature) ? undefined : "bad_signature";
}
