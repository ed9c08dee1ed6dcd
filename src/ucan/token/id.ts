// Ids and CIDs of tokens.

import { createHash } from "node:crypto";
import { base32nopad } from "@scure/base";

/** CIDv1 prefix: raw codec, SHA-256 multihash of 32 bytes. */
const CID_PREFIX = Buffer.from("01551220", "hex");

/**
 * The id of a token, for revocation and audit. It does not cover the signature, so another encoding of the signature
 * yields no second id.
 *
 * @param signedText encoded header and payload
 * @returns base64url SHA-256, 43 characters
 */
export const tokenId = (signedText: string): string => createHash("sha256").update(signedText).digest("base64url");

/** The CID of a whole token text (`bafkrei…`), by which tokens of one request refer to each other as proofs. */
export function tokenCid(token: string): string {
  const digest = createHash("sha256").update(token).digest();
  return `b${base32nopad.encode(Buffer.concat([CID_PREFIX, digest])).toLowerCase()}`;
}
