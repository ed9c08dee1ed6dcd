import type { Ability, Capability } from "../core/call/capability.js";
import { unknownRoot } from "../core/errors/texts.js";
import type { ChainLink } from "../ucan/verify/proof.js";
import type { Authoriser } from "./authorise.js";
import type { Authorities } from "./authorities.js";
import type { Grant } from "./grant.js";

/** What one caller holds, for operations that are about rights themselves. */
export interface CallerRights {
  /** Whether the caller may do this in a place. @param segments the name of a root and the path below it */
  allows(segments: readonly string[], ability: Ability): boolean;
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

/** @param roots names of all roots */
export function createRights(
  authoriser: Authoriser,
  { authorities, roots }: { authorities: Authorities; roots: readonly string[] },
): CallerRights {
  return {
    allows: (segments, ability) => authoriser.allows(segments, ability),
    held() {
      const { grants, truncated } = authoriser.held();
      return { grants: grants.map(({ written }) => written), truncated };
    },
    delegable(grant) {
      const { expiresAt, chain } = authoriser.requireDelegable(grant);
      const [root] = grant.segments;
      if (root !== undefined && (!roots.includes(root) || authoriser.hidesRoot(root))) {
        throw unknownRoot(
          root,
          roots.filter((name) => authoriser.seesRoot(name)),
        );
      }
      // A chain counts only from the owner, and the venue's key is nobody else's.
      if (authorities.ownerOf(root) !== authorities.venueDid) throw authoriser.refuseOtherOwner(grant);
      return { expiresAt, via: chain };
    },
  };
}
