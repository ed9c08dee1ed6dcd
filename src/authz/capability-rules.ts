import type { Capability } from "../core/call/capability.js";
import type { UcanVerifier } from "../ucan/verify/proof.js";
import type { Grant } from "./grant.js";

/** Who may do what, as far as that does not stand with the roots. */
export interface CapabilityRules {
  /** Whom invocations are for. Absent: there are none. */
  readonly venueDid?: string;
  /** DID that has authority over every root and owns those without an owner, beside callers without a DID. */
  readonly operator?: string;
  /** The one DID of whoever has several. Absent: nobody has. */
  readonly canonicalDid?: (did: string) => string;
  /** What every caller may do in roots without an owner. */
  readonly publicCaps?: readonly Capability[];
  readonly grants?: readonly (Capability & { readonly did: string })[];
  /** Absent: proofs give nothing. */
  readonly verifier?: UcanVerifier<Grant>;
}
