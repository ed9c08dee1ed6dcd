// The authorisation rules of a venue as the rest of `authz` takes them.

import type { Capability } from "../core/call/capability.js";
import type { UcanVerifier } from "../ucan/verify/proof.js";
import type { Grant } from "./grant.js";

/** Venue-wide grants and public capabilities, and how identities are compared (per-root owners live with the root). */
export interface CapabilityRules {
  /** The venue's DID, the audience of invocation UCANs. Absent: no token counts as an invocation. */
  readonly venueDid?: string | undefined;
  /** DID with authority over every root, owner of those without one. Callers without a DID have that authority too. */
  readonly operator?: string | undefined;
  /** Maps equivalent DIDs to one canonical DID. Absent: each DID stands for itself. */
  readonly canonicalDid?: ((did: string) => string) | undefined;
  /** Capabilities of every caller in roots without an owner. */
  readonly publicCaps?: readonly Capability[] | undefined;
  readonly grants?: readonly (Capability & { readonly did: string })[] | undefined;
  /** Verifies UCANs. Absent: a default verifier without revocations. */
  readonly verifier?: UcanVerifier<Grant>;
}
