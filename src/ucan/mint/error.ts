// Errors of minting.

import type { TokenFault } from "../token/fault.js";

/** Why a token is not minted. `grants_nothing`: a capability that this verifier would never honour. */
export type MintFault = TokenFault | "grants_nothing";

/** The requested token would be invalid, so it was not minted. The message gives advice, and shows no token or key. */
export class MintError extends Error {
  override readonly name = "MintError";
  readonly code: MintFault;

  constructor(code: MintFault, message: string) {
    super(message);
    this.code = code;
  }
}

const PROOF_FAULTS: Readonly<Record<TokenFault, string>> = {
  too_large: "it is too large",
  malformed: "it is not a token. Check that its text is whole",
  bad_header: "its header is not that of a token signed with EdDSA",
  bad_did: "its issuer is not the did:key of an Ed25519 key",
  kid_mismatch: "it names another key than that of its issuer",
  bad_signature: "its signature is wrong. Check that its text is whole",
  bad_exp: "its end is not a time in seconds, or too far away",
  no_exp: "it does not say whether it ends",
  bad_nbf: "its beginning is not a time in seconds",
  expired: "it has expired. Ask its issuer for a new one",
  not_yet_valid: "it is not valid yet. Wait until it is",
  wrong_audience: "it is for somebody else",
  bad_version: "its version is unknown. Ask its issuer for one of UCAN 0.8, 0.9 or 0.10",
  broken_chain: "it was made by somebody else than its proof was given to",
  too_deep: "its chain is too long",
  too_many_proofs: "it has too many proofs",
  proof_not_found: "it names its proofs instead of holding them. Ask its issuer for one that holds them",
  revoked: "it has been revoked. Ask its issuer for a new one",
  widened_or_unrooted: "it gives more than it was given. Ask its issuer for a narrower one",
  issuer_not_owner: "it gives what its issuer does not own",
};

/** @param number of the proof, from 1 @param deep whether the fault is in a token below it */
export function proofError(code: TokenFault, number: number, deep = false): MintError {
  const who = deep
    ? `Proof ${number} gives nothing, because of a token in its chain`
    : `Proof ${number} cannot be used`;
  return new MintError(code, `${who}: ${PROOF_FAULTS[code]}`);
}

/** The new token would exceed a limit. */
export function limitError(code: TokenFault): MintError {
  const limits = "8192 bytes, 32 capabilities, 4 proofs, and chains of 5 tokens with 16 in all";
  const advice = "Ask for less, or rest it on fewer or shorter proofs";
  return new MintError(code, `The token would break a limit (${code}): at most ${limits}. ${advice}`);
}
