// ucan:revoke: revokes a token at once.

import type { Grant } from "../../../authz/grant.js";
import type { FileAdapterError } from "../../../core/errors/errors.js";
import { aborted, invalidInput } from "../../../core/errors/texts.js";
import { namesInFacts } from "../../../ucan/token/facts.js";
import type { UcanToken } from "../../../ucan/verify/proof.js";
import { checkSignature } from "../../../ucan/verify/public-keys.js";
import { isRevocable } from "../../../ucan/verify/revocation-list.js";
import type { RevocationList } from "../../identity/revocations.js";
import { actsInFull, callerOf, isAnonymous, isOperator } from "../caller.js";
import type { OperationCall, OperationParts, VenueOperation } from "../operation.js";
import { notKept, refusedOperation } from "../refusal.js";

interface RevokeInput {
  readonly id?: string;
  readonly token?: string;
  readonly wait?: boolean;
}

const NAME = "ucan:revoke";
const MAX_ID_CHARS = 512;
/** Entries that callers other than the operator may fill; the rest of the list is reserved for the operator. */
const MAX_ENTRIES_BY_OTHERS = 10_000;

/**
 * Revokes a token, effective at once. The operator may name any token, or a DID; other callers only a token whose chain
 * they signed a part of, or that the venue signed on their authority. Unknown tokens and tokens of others give the same
 * error.
 */
export const ucanRevoke: VenueOperation<RevokeInput> = {
  name: NAME,
  annotations: { readOnlyHint: false, destructiveHint: true, idempotentHint: true, openWorldHint: false },
  hidden: ["token"],
  async run(input, { context, signal, trail, venue }) {
    const { id, signers } = targetOf(input, venue);
    trail.resource = `ucan:${id}`;
    const { revocations } = venue.access;
    const caller = { context, venue };
    if (isAnonymous(context) || !actsInFull(context, venue)) throw notYours();
    if (!isOperator(context, venue)) {
      if (!mayRevoke(signers ?? knownSigners(id, venue), caller)) throw notYours();
      if (revocations.size >= MAX_ENTRIES_BY_OTHERS) throw listIsFull();
    }
    if (signal?.aborted === true) throw aborted();
    await addRevocation(revocations, id);
    return { revoked: true, id, ...(await venue.effect?.(input.wait === true)) };
  },
};

/** @throws NO_SPACE when it holds, but could not be kept */
export async function addRevocation(list: RevocationList, entry: string): Promise<void> {
  try {
    await list.add([entry]);
  } catch (error) {
    throw notKept(error);
  }
}

/** @throws INVALID_INPUT */
function targetOf(
  { id, token }: Omit<RevokeInput, "wait">,
  venue: OperationParts,
): { readonly id: string; readonly signers?: TokenSigners | undefined } {
  if (id !== undefined && token !== undefined) {
    throw invalidInput("Only one of 'id' and 'token' may be supplied", "/token", "nothing, beside 'id'");
  }
  if (id !== undefined) {
    if (id.length <= MAX_ID_CHARS && isRevocable(id)) return { id };
    throw invalidInput("'id' must be the id of a token, or a DID", "/id", "43 characters of base64url, or a DID");
  }
  if (token === undefined) throw invalidInput("Exactly one of 'id' and 'token' is required", "/id", "a value");
  const [read] = venue.access.verifier.read([token]);
  if (read?.id !== undefined) return { id: read.id, signers: signersOf(read, venue) };
  throw invalidInput(`'token' cannot be read: ${read?.fault ?? "malformed"}`, "/token", "UCAN");
}

/** The parties to a token that is given only by id, as far as the venue knows them. */
function knownSigners(id: string, { access, issued }: OperationParts): TokenSigners | undefined {
  const names = issued.get(id) ?? [];
  const issuers = access.verifier.issuersOf(id) ?? (names.length > 0 ? [access.did] : []);
  return { issuers: new Set(issuers), names: new Set(names) };
}

/** Tokens without issuers known here are useless here, so only the operator may add them to the list. */
function mayRevoke(signers: TokenSigners | undefined, { context, venue }: Pick<OperationCall, "context" | "venue">) {
  if (signers === undefined) return false;
  const { did, operator, canonicalDid } = venue.access;
  const owners = venue.files.roots.flatMap(({ owner }) => (owner === undefined ? [] : [owner]));
  const issuers = new Set([...signers.issuers].map(canonicalDid));
  if (![did, operator, ...owners].some((owner) => issuers.has(canonicalDid(owner)))) return false;
  const caller = callerOf(context, venue);
  return issuers.has(caller) || [...signers.names].some((name) => canonicalDid(name) === caller);
}

const notYours = (): FileAdapterError =>
  refusedOperation({
    operation: NAME,
    requires: "an issuer in the token's chain, or the operator, without narrower capabilities",
  });

const listIsFull = (): FileAdapterError =>
  refusedOperation({
    operation: NAME,
    requires: "the operator, because the revocation list is long",
    reasons: ["too_large"],
  });

/** The parties to a token. */
export interface TokenSigners {
  /** Issuers of the token and of the proofs it rests on. */
  readonly issuers: ReadonlySet<string>;
  /** DIDs and token ids on whose authority the venue signed tokens in the chain. */
  readonly names: ReadonlySet<string>;
}

/**
 * Collects the verified issuers of a token and its proofs, regardless of expiry and revocation. Proofs whose audience
 * is not the issuer above them are skipped.
 *
 * @returns `undefined` when the token's own signature is invalid
 */
function signersOf(token: UcanToken<Grant>, { access, keys }: OperationParts): TokenSigners | undefined {
  const issuers = new Set<string>();
  const names = new Set<string>();
  const seen = new Set<UcanToken<Grant>>();
  const visit = (one: UcanToken<Grant>): void => {
    const { decoded } = one;
    if (seen.has(one) || decoded === undefined) return;
    seen.add(one);
    if (checkSignature(decoded, keys) !== undefined) return;
    const issuer = access.canonicalDid(decoded.issuer);
    issuers.add(issuer);
    if (issuer === access.did) for (const name of namesInFacts(decoded.payload["fct"])) names.add(name);
    for (const proof of one.proofs) {
      if (typeof proof === "string" || proof.decoded?.audience === undefined) continue;
      if (access.canonicalDid(proof.decoded.audience) === issuer) visit(proof);
    }
  };
  visit(token);
  return issuers.size === 0 ? undefined : { issuers, names };
}
