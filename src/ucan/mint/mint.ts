import type { Capability } from "../../core/call/capability.js";
import type { JsonObject } from "../../core/ports/adapter.js";
import { MAX_ENTRIES } from "../token/capability-entries.js";
import { MAX_PROOFS } from "../token/form.js";
import { nowSeconds, parseTime } from "../token/time.js";
import type { UcanVerifier } from "../verify/proof.js";
import { createPublicKeys } from "../verify/public-keys.js";
import { createUcanVerifier, type UcanRules } from "../verify/verifier.js";
import { checkAudience, endAfter } from "./checks.js";
import type { MintClaims } from "./claims.js";
import { mintCovia } from "./covia.js";
import { limitError, MintError, proofError } from "./error.js";
import { checkUcan08Proofs, readProofs, type UsableProof } from "./proofs.js";
import type { SigningKey } from "./signing-key.js";
import { mintUcan08 } from "./ucan08.js";

const DEFAULT_LIFETIME_SECONDS = 3600;

/** Forms of a token. `ucan-0.8`: for other software; only proofs of that version fit in it. */
export type MintProfile = "covia" | "ucan-0.8";

/** What a token is to give, and to whom. */
export interface MintRequest {
  /** Whose token it is. */
  readonly key: SigningKey;
  /** DID of who is to have it. */
  readonly audience: string;
  /** 1 to 32; each must be one of the proofs' or narrower. Without proofs it is the signer's own to give. */
  readonly capabilities: readonly Capability[];
  /** Seconds since the epoch. */
  readonly expiresAt?: number;
  /** In place of `expiresAt`. With neither: 3600, or less where a proof ends before. */
  readonly lifetimeSeconds?: number;
  /** Whole tokens, at most 4. They are put into the new one. */
  readonly proofs?: readonly string[];
  /** Default `covia`. */
  readonly profile?: MintProfile;
  /** What else it says; verifiers here read nothing in it but whom it was made for. */
  readonly facts?: readonly JsonObject[];
}

/** How the tokens will be judged. What has a default here is as in a venue without configuration. */
export type MintRules<G> = Pick<UcanRules<G>, "semantics" | "clock" | "clockSkewSeconds" | "maxLifetimeSeconds"> &
  Partial<Pick<UcanRules<G>, "canonicalDid" | "revocations" | "allowNoExpiry" | "acceptUnversionedCovia">>;

export interface Minted {
  readonly token: string;
  /** By which it is revoked. */
  readonly id: string;
  /** Seconds since the epoch. */
  readonly expiresAt: number;
}

/**
 * Makes a UCAN that our verifier takes, or none: whatever it would refuse, or leave out of the token's grants, is refused
 * here. Who owns a resource is not known here, so anybody may sign without proofs.
 *
 * @throws MintError with what is wrong, and what to do
 * @example
 * const { token } = await mint({ key, audience: "did:key:z6Mk…", capabilities }, rules);
 */
export async function mint<G>(request: MintRequest, rules: MintRules<G>): Promise<Minted> {
  const { key, audience, capabilities, proofs: texts = [], facts = [], profile = "covia" } = request;
  checkAudience(audience);
  const wanted = parseCapabilities(capabilities, rules);
  if (texts.length > MAX_PROOFS) throw limitError("too_many_proofs");
  const canonicalDid = rules.canonicalDid ?? ((did: string) => did);
  const verifier = verifierOf(rules);
  const proofs = readProofs(texts, { verifier, signer: canonicalDid(key.did), canonicalDid });
  checkCovered(wanted, proofs, rules);
  const expiresAt = endOf(request, proofs, rules);
  const written = capabilities.map(({ with: resource, can }) => ({ with: resource, can }));
  const claims: MintClaims = { key, audience, capabilities: written, expiresAt, proofs: texts, facts };
  if (profile === "ucan-0.8") checkUcan08Proofs(proofs, key.did);
  const token = profile === "ucan-0.8" ? await mintUcan08(claims) : mintCovia(claims);
  return { token, id: idOf(token, verifier), expiresAt };
}

function verifierOf<G>(rules: MintRules<G>): UcanVerifier<G> {
  return createUcanVerifier({
    keys: createPublicKeys(),
    revocations: { has: () => false },
    canonicalDid: (did) => did,
    allowNoExpiry: false,
    acceptUnversionedCovia: false,
    ...rules,
  });
}

function parseCapabilities<G>(capabilities: readonly Capability[], { semantics }: MintRules<G>): G[] {
  if (capabilities.length === 0) {
    throw new MintError("grants_nothing", "The token would give nothing. Add a capability");
  }
  if (capabilities.length > MAX_ENTRIES) throw limitError("too_large");
  return capabilities.map((capability, index) => {
    const grant = semantics.parse(capability);
    if (grant !== undefined) return grant;
    throw new MintError("grants_nothing", `Capability ${index + 1} gives nothing. Check its 'with' and its 'can'`);
  });
}

/** With proofs, each capability rests on one of them: what none covers would silently not count. */
function checkCovered<G>(wanted: readonly G[], proofs: readonly UsableProof<G>[], { semantics }: MintRules<G>): void {
  if (proofs.length === 0) return;
  const held = proofs.flatMap(({ grants }) => grants);
  const index = wanted.findIndex((narrow) => !held.some((wide) => semantics.covers(wide, narrow)));
  if (index < 0) return;
  const advice = "Narrow it, or add a proof that covers it";
  throw new MintError("widened_or_unrooted", `Capability ${index + 1} is covered by none of the proofs. ${advice}`);
}

function endOf<G>(request: MintRequest, proofs: readonly UsableProof<G>[], rules: MintRules<G>): number {
  const now = Math.floor(nowSeconds(rules));
  const { expiresAt, lifetimeSeconds } = request;
  const ends = proofs.map((proof) => proof.expiresAt ?? Number.POSITIVE_INFINITY);
  const latest = Math.min(...ends);
  const first = ends.indexOf(latest) + 1;
  const isAsked = expiresAt !== undefined || lifetimeSeconds !== undefined;
  const asked =
    expiresAt ?? endAfter(now, lifetimeSeconds ?? Math.min(DEFAULT_LIFETIME_SECONDS, rules.maxLifetimeSeconds));
  // So little ago that verifiers, whose clocks may be off, still take it.
  if (!isAsked && latest <= now) throw proofError("expired", first);
  const end = isAsked ? asked : Math.min(asked, latest);
  if (parseTime(end) === undefined || end <= now) {
    throw new MintError("bad_exp", "The end is not a time in the future, in whole seconds since 1970");
  }
  if (end > now + rules.maxLifetimeSeconds) {
    const most = `at most ${rules.maxLifetimeSeconds} seconds`;
    throw new MintError("bad_exp", `The token would live too long: ${most} are allowed. Choose an earlier end`);
  }
  if (end <= latest) return end;
  const when = `which ends at ${new Date(latest * 1000).toISOString()}. Choose that or an earlier end`;
  throw new MintError("outlives_proof", `The token would outlive proof ${first}, ${when}`);
}

/** Reads a new token as its verifier will, which counts what only the whole shows: its size, and the depth of its chain. */
function idOf<G>(text: string, verifier: UcanVerifier<G>): string {
  const [token] = verifier.read([text]);
  if (token?.id === undefined || token.fault !== undefined) throw limitError(token?.fault ?? "malformed");
  const fault = token.check();
  if (fault === undefined) return token.id;
  throw new MintError(fault, `The token would be refused (${fault}). Sign with another key`);
}
