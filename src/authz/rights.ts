import type { Capability } from "../core/capability.js";
import type { ChainLink } from "../ucan/proof.js";
import type { Grant } from "./grant.js";

/** What one caller holds, for operations that are about rights themselves. */
export interface CallerRights {
  /** caps ∩ authority, each grant once, at most 20. */
  held(): { readonly grants: readonly Capability[]; readonly truncated: boolean };
  /**
   * Whether the caller may have the venue sign this grant: its caps and its ownership, `auth.grants` or proofs cover it,
   * and it is for roots that the venue's own DID owns. What everybody may do, and what a static token gives, is not
   * passed on.
   *
   * @returns seconds until which it lasts (`null`: nothing ends it), and the tokens it rests on
   * @throws CAPABILITY_DENIED; UNKNOWN_ROOT
   */
  delegable(grant: Grant): { readonly expiresAt: number | null; readonly via: readonly ChainLink[] };
}
