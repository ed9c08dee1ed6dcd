import { createHash } from "node:crypto";
import { base32nopad } from "@scure/base";

/** CID version 1, raw codec, SHA-256 of 32 bytes. */
const CID_PREFIX = Buffer.from("01551220", "hex");

/**
 * The id of a token, by which it is revoked and audited. It says nothing of the signature, so no other way to write that
 * yields a second id.
 *
 * @param signedText header and payload
 * @returns base64url SHA-256, 43 characters
 */
export const tokenId = (signedText: string): string => createHash("sha256").update(signedText).digest("base64url");

/** The CID by which tokens of one request name each other as proofs: of the whole text, `bafkrei…`. */
export function tokenCid(token: string): string {
  const digest = createHash("sha256").update(token).digest();
  return `b${base32nopad.encode(Buffer.concat([CID_PREFIX, digest])).toLowerCase()}`;
}
