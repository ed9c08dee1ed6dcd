// Signs the checkpoints of an audit file with the venue's key.

import { sign } from "node:crypto";
import type { AuditSigner } from "../../audit/chain.js";
import { newSeed, type SigningKey, signingKeyFromSeed } from "../../ucan/mint/signing-key.js";

/** @param key the venue's lasting key; absent: one for this process, whose checkpoints are `ephemeral` */
export function auditSigner(key: SigningKey | undefined): AuditSigner {
  const { did, privateKey } = key ?? signingKeyFromSeed(newSeed());
  return {
    did,
    ephemeral: key === undefined,
    sign: (text) => sign(null, Buffer.from(text), privateKey).toString("base64url"),
  };
}
