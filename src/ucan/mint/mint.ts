// Mints UCANs, and verifies before signing that the token will be accepted.

import type { Capability } from "../../core/call/capability.js";
import type { JsonObject } from "../../core/ports/adapter.js";
import { MAX_ENTRIES } from "../token/capability-entries.js";
import { MAX_PROOFS } from "../token/form.js";
import { nowSeconds, parseTime } from "../token/time.js";
import type { UcanVerifier } from "../verify/proof.js";
import { createPublicKeys } from "../verify/public-keys.js";
import { createUcanVerifier, type UcanRules } from "../verify/verifier.js";
import { checkAudience, endAfter, type MintClaims, newNonce } from "./claims.js";
import { limitError, MintError, proofError } from "./error.js";
import { checkUcan08Proofs, readProofs, type UsableProof } from "./proofs.js";
import type { SigningKey } from "./signing-key.js";
import { signToken } from "./signing-key.js";
import { mintUcan08 } from "./ucan08.js";

const DEFAULT_LIFETIME_SECONDS = 3600;

/** Profiles of new tokens. `ucan-0.8`: for other software; its proofs must have that version too. */
export type MintProfile = "covia" | "ucan-0.8";

/** Contents of a token to mint. */
export interface MintRequest {
  /** Key of the issuer. */
  readonly key: SigningKey;
  /** DID of the audience. */
  readonly audience: string;
  /** 1 to 32; each must be covered by a proof. Without proofs they are the issuer's own authority. */
  readonly capabilities: readonly Capability[];
  /** Seconds since the epoch. */
  readonly expiresAt?: number;
  /** Alternative to `expiresAt`, in seconds. Default: 3600, or less if a proof expires earlier. */
  readonly lifetimeSeconds?: number;
  /** Encoded tokens, at most 4, embedded in the new one. */
  readonly proofs?: readonly string[];
  /** Default `covia`. */
  readonly profile?: MintProfile;
  /** `fct` claim. Verifiers here read only on whose behalf a venue signed (see `facts.ts`). */
  readonly facts?: readonly JsonObject[];
}

/** Rules of the intended verifier. Defaults are those of a venue without configuration. */
export type MintRules<G> = Pick<UcanRules<G>, "semantics" | "clock" | "clockSkewSeconds" | "maxLifetimeSeconds"> &
  Partial<Pick<UcanRules<G>, "canonicalDid" | "revocations" | "acceptUnversionedCovia">>;

export interface Minted {
  readonly token: string;
  /** Id for revocation. */
  readonly id: string;
  /** Seconds since the epoch. */
  readonly expiresAt: number;
  /** When it ends with its chain, in the same: a proof may expire before it. */
  readonly endsAt: number;
}

/**
 * Mints a UCAN that our verifier accepts in full: whatever it would refuse, or omit from the grants, is an error here.
 * Owners of resources are unknown here, so anybody may sign without proofs.
 *
 * @throws MintError with the fault, and advice
 * @example
 * const { token } = await mint({ key, audience: "did:key:z6Mk…", capabilities }, rules);
 */
export async function mint<G>(request: MintRequest, rules: MintRules<G>): Promise<Minted> {
  const { key, audience, capabilities, proofs: texts = [], facts = [], profile = "covia" } = request;
  checkAudience(audience);
  const wanted = parseCapabilities(capabilities, key.did, rules);
  if (texts.length > MAX_PROOFS) throw limitError("too_many_proofs");
  const canonicalDid = rules.canonicalDid ?? ((did: string) => did);
  const verifier = verifierOf(rules);
  const proofs = readProofs(texts, { verifier, signer: canonicalDid(key.did), canonicalDid });
  checkCovered(wanted, proofs, rules);
  const { expiresAt, endsAt } = endOf(request, proofs, rules);
  const written = capabilities.map(({ with: resource, can }) => ({ with: resource, can }));
  const claims: MintClaims = {
    key,
    audience,
    capabilities: written,
    expiresAt,
    ...issuedAt(rules),
    proofs: texts,
    facts,
  };
  if (profile === "ucan-0.8") checkUcan08Proofs(proofs, key.did);
  const token = profile === "ucan-0.8" ? await mintUcan08(claims) : mintCovia(claims);
  return { token, id: idOf(token, verifier), expiresAt, endsAt };
}

/** Where older tokens are revoked by time, a new one has to say when it was issued. */
function issuedAt<G>(rules: MintRules<G>): { readonly notBefore?: number } {
  return rules.revocations?.notBefore === undefined ? {} : { notBefore: Math.floor(nowSeconds(rules)) };
}

function verifierOf<G>(rules: MintRules<G>): UcanVerifier<G> {
  return createUcanVerifier({
    keys: createPublicKeys(),
    revocations: { has: () => false },
    canonicalDid: (did) => did,
    acceptUnversionedCovia: false,
    ...rules,
    // The new token ends, and its chain with it.
    allowNoExpiry: true,
  });
}

function parseCapabilities<G>(
  capabilities: readonly Capability[],
  signer: string,
  { semantics, canonicalDid = (did) => did }: MintRules<G>,
): G[] {
  if (capabilities.length === 0) {
    throw new MintError("grants_nothing", "The token would give nothing. Add a capability");
  }
  if (capabilities.length > MAX_ENTRIES) throw limitError("too_large");
  return capabilities.map((capability, index) => {
    const grant = semantics.parse(capability, { giver: canonicalDid(signer), canonicalDid });
    if (grant !== undefined) return grant;
    throw new MintError("grants_nothing", `Capability ${index + 1} gives nothing. Check its 'with' and its 'can'`);
  });
}

/** With proofs, each capability must be covered by one; the verifier would silently ignore the others. */
function checkCovered<G>(wanted: readonly G[], proofs: readonly UsableProof<G>[], { semantics }: MintRules<G>): void {
  if (proofs.length === 0) return;
  const held = proofs.flatMap(({ grants }) => grants);
  const index = wanted.findIndex((narrow) => !held.some((wide) => semantics.covers(wide, narrow)));
  if (index < 0) return;
  const advice = "Narrow it, or add a proof that covers it";
  throw new MintError("widened_or_unrooted", `Capability ${index + 1} is covered by none of the proofs. ${advice}`);
}

function endOf<G>(
  request: MintRequest,
  proofs: readonly UsableProof<G>[],
  rules: MintRules<G>,
): Pick<Minted, "expiresAt" | "endsAt"> {
  const now = Math.floor(nowSeconds(rules));
  const { expiresAt, lifetimeSeconds } = request;
  const ends = proofs.map((proof) => proof.expiresAt ?? Number.POSITIVE_INFINITY);
  const latest = Math.min(...ends);
  const first = ends.indexOf(latest) + 1;
  const isAsked = expiresAt !== undefined || lifetimeSeconds !== undefined;
  const requestedEnd =
    expiresAt ?? endAfter(now, lifetimeSeconds ?? Math.min(DEFAULT_LIFETIME_SECONDS, rules.maxLifetimeSeconds));
  // The proof has expired, though still within the clock skew that verifiers tolerate.
  if (latest <= now) throw proofError("expired", first);
  const end = isAsked ? requestedEnd : Math.min(requestedEnd, latest);
  if (parseTime(end) === undefined || end <= now) {
    throw new MintError("bad_exp", "The end is not a time in the future, in whole seconds since 1970");
  }
  if (end > now + rules.maxLifetimeSeconds) {
    const most = `at most ${rules.maxLifetimeSeconds} seconds`;
    throw new MintError("bad_exp", `The token would live too long: ${most} are allowed. Choose an earlier end`);
  }
  return { expiresAt: end, endsAt: Math.min(end, latest) };
}

/** Reads the new token with the verifier, which checks limits on the whole: its size and the depth of its chain. */
function idOf<G>(text: string, verifier: UcanVerifier<G>): string {
  const [token] = verifier.read([text]);
  if (token?.id === undefined || token.fault !== undefined) throw limitError(token?.fault ?? "malformed");
  const fault = token.check();
  if (fault === undefined) return token.id;
  throw new MintError(fault, `The token would be refused (${fault}). Sign with another key`);
}

/** Mints a token in the form of Covia clients: version in the payload, proofs inline. */
function mintCovia({ key, audience, capabilities, expiresAt, notBefore, proofs, facts }: MintClaims): string {
  const payload = {
    iss: key.did,
    aud: audience,
    ucv: "0.10.0",
    att: capabilities,
    prf: proofs,
    exp: expiresAt,
    ...(notBefore === undefined ? {} : { nbf: notBefore }),
    nnc: newNonce(),
    ...(facts.length === 0 ? {} : { fct: facts }),
  };
  return signToken(payload, key);
}
