// Checks the proofs of a new token.

import type { JsonObject } from "../../core/ports/adapter.js";
import { isObject } from "../../core/unknown.js";
import type { TokenFault } from "../token/fault.js";
import type { HeldGrant, UcanToken, UcanVerifier } from "../verify/proof.js";
import { MintError, proofError } from "./error.js";

/** A proof that the verifier accepts, with all it can delegate. */
export interface UsableProof<G> {
  readonly token: UcanToken<G>;
  readonly grants: readonly G[];
  /** The earliest end in its chain, in seconds; `null`: none. */
  readonly expiresAt: number | null;
}

export interface ProofRules<G> {
  readonly verifier: UcanVerifier<G>;
  /** Canonical DID of the issuer who uses the proofs. */
  readonly signer: string;
  canonicalDid(did: string): string;
}

/**
 * Reads proofs with the rules of the verifier. Owners are unknown here, so the issuer of a token without proofs counts
 * as an owner; the verifier decides whether it is one.
 *
 * @throws MintError if a proof is unusable for a token of the signer
 */
export function readProofs<G>(texts: readonly string[], rules: ProofRules<G>): UsableProof<G>[] {
  return texts.map((text, index) => readProof(text, index + 1, rules));
}

function readProof<G>(text: string, number: number, rules: ProofRules<G>): UsableProof<G> {
  const { verifier, signer, canonicalDid } = rules;
  // Read alone: embedded in a token, it cannot refer to the other proofs.
  const [token] = verifier.read([text]);
  const decoded = token?.decoded;
  if (token === undefined || token.fault !== undefined || decoded === undefined) {
    throw proofError(token?.fault ?? "malformed", number);
  }
  if (canonicalDid(decoded.audience ?? "") !== signer) {
    const advice = "Sign with the key that it was given to, or ask for one that is given to the signer";
    throw new MintError("broken_chain", `Proof ${number} was given to somebody else than the signer. ${advice}`);
  }
  const held = heldBy(token, canonicalDid);
  if (held.length === 0) throw emptyProof(token, number, canonicalDid);
  const ends = held.map((one) => one.expiresAt).filter((end) => end !== null);
  return { token, grants: held.map(({ grant }) => grant), expiresAt: ends.length === 0 ? null : Math.min(...ends) };
}

function heldBy<G>(token: UcanToken<G>, canonicalDid: (did: string) => string): HeldGrant<G>[] {
  const owners = new Set(rootIssuers(token).map(canonicalDid));
  return [...owners].flatMap((owner) => token.verdict(owner).grants);
}

/** Issuers of the tokens without proofs in a chain. */
function rootIssuers<G>({ decoded, proofs }: UcanToken<G>): string[] {
  if (proofs.length === 0) return decoded === undefined ? [] : [decoded.issuer];
  return proofs.flatMap((proof) => (typeof proof === "string" ? [] : rootIssuers(proof)));
}

/** The root cause; missing grants of other tokens follow from it. */
function emptyProof<G>(token: UcanToken<G>, number: number, canonicalDid: (did: string) => string): MintError {
  if (token.own.length === 0) {
    return new MintError("grants_nothing", `Proof ${number} holds no capability that counts here. Leave it out`);
  }
  const owners = rootIssuers(token).map(canonicalDid);
  const faults = [...missingProofs(token), ...owners.flatMap((owner) => token.verdict(owner).faults)];
  const follows: readonly TokenFault[] = ["issuer_not_owner", "widened_or_unrooted"];
  const cause = faults.find((fault) => !follows.includes(fault.reason));
  return proofError(cause?.reason ?? "widened_or_unrooted", number, cause !== undefined && cause.id !== token.id);
}

function missingProofs<G>({ id, proofs }: UcanToken<G>): { reason: TokenFault; id?: string }[] {
  return proofs.flatMap((proof) =>
    typeof proof === "string" ? [{ reason: proof, ...(id === undefined ? {} : { id }) }] : missingProofs(proof),
  );
}

/**
 * Refuses proofs that UCAN 0.8 verifiers do not accept: those of other versions, and those with `nbf`, which the
 * library refuses once that time has come. The library compares DIDs as text.
 */
export function checkUcan08Proofs<G>(proofs: readonly UsableProof<G>[], signer: string): void {
  for (const [index, { token }] of proofs.entries()) {
    const code = ucan08Fault(token, signer);
    if (code === undefined) continue;
    const advice = "Mint with the profile 'covia', or ask its issuer for one of UCAN 0.8";
    throw new MintError(code, `Proof ${index + 1} cannot stand in a token of UCAN 0.8 (${code}). ${advice}`);
  }
}

function ucan08Fault<G>({ decoded, proofs }: UcanToken<G>, audience: string): TokenFault | undefined {
  if (decoded === undefined || !isUcan08Header(decoded.header)) return "bad_version";
  if (decoded.audience !== audience) return "broken_chain";
  if (!hasUcan08Claims(decoded.payload)) return "malformed";
  if (typeof decoded.expiresAt !== "number") return "bad_exp";
  if (decoded.notBefore !== undefined) return "bad_nbf";
  const faults = proofs.map((proof) => (typeof proof === "string" ? proof : ucan08Fault(proof, decoded.issuer)));
  return faults.find((fault) => fault !== undefined);
}

/** A proof must not have a higher version than the token that contains it. */
const isUcan08Header = ({ typ, ucv }: JsonObject): boolean => typ === "JWT" && (ucv === "0.8.0" || ucv === "0.8.1");

function hasUcan08Claims({ att, prf, fct, nnc }: JsonObject): boolean {
  if (!Array.isArray(att) || !att.every(isCapabilityText) || !Array.isArray(prf)) return false;
  if (nnc !== undefined && typeof nnc !== "string") return false;
  return fct === undefined || (Array.isArray(fct) && fct.every(isObject));
}

const isCapabilityText = (entry: unknown): boolean =>
  isObject(entry) && typeof entry["with"] === "string" && typeof entry["can"] === "string";
