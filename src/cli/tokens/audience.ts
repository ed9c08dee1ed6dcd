// Checks the audience of a new token.

import { escapeText } from "../../core/errors/texts.js";
import { checkAudience } from "../../ucan/mint/claims.js";
import { MintError } from "../../ucan/mint/error.js";
import { UsageError } from "../arguments/options.js";

/** Checks that the value of `--to` can be an audience. @throws UsageError */
export function checkTo(did: string): void {
  try {
    checkAudience(did);
  } catch (error) {
    if (!(error instanceof MintError)) throw error;
    throw new UsageError(`--to must be a did:key of an Ed25519 key, or another DID, not '${escapeText(did)}'`);
  }
}
