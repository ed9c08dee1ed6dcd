import { verify } from "node:crypto";
import type { DecodedToken } from "../token/decode.js";
import type { TokenFault } from "../token/fault.js";
import type { PublicKeys } from "./public-keys.js";

/**
 * Checks who signed a token; its key is that of `iss` and no other. OpenSSL refuses a signature whose scalar is not
 * reduced (`S + L`), so each has one form; keys of small order, which it takes, are no DIDs here.
 */
export function checkSignature(token: DecodedToken, keys: PublicKeys): TokenFault | undefined {
  const key = keys.of(token.issuer);
  if (key === undefined) return "bad_did";
  const signed = Buffer.from(token.signedText, "latin1");
  return verify(null, signed, key, token.signature) ? undefined : "bad_signature";
}
