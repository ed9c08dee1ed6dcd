// The rights of one caller, for operations on rights themselves: checking, listing, delegating.

import type { Ability, Capability } from "../core/call/capability.js";
import { unknownRoot } from "../core/errors/texts.js";
import type { ChainLink } from "../ucan/verify/proof.js";
import type { Authoriser } from "./authorise.js";
import type { Authorities } from "./authorities.js";
import type { Grant } from "./grant.js";

/** The rights of one caller. */
export type CallerRights = ReturnType<typeof createRights>;

/** @param roots names of all roots */
export function createRights(
  authoriser: Authoriser,
  { authorities, roots }: { authorities: Authorities; roots: readonly string[] },
) {
  /** Names of the roots in which the caller holds any grant. */
  const visibleRoots = (): readonly string[] => roots.filter((name) => authoriser.seesRoot(name));
  return {
    visibleRoots,
    /** Whether the caller has an ability on a path. @param segments the name of a root and the path below it */
    allows: (segments: readonly string[], ability: Ability): boolean => authoriser.allows(segments, ability),
    /** caps ∩ authority, each grant once, at most 20. */
    held(): { readonly grants: readonly Capability[]; readonly truncated: boolean } {
      const { grants, truncated } = authoriser.held();
      return { grants: grants.map(({ written }) => written), truncated };
    },
    /**
     * Checks that the caller may have the venue sign this grant: its caps cover it, its ownership, `auth.grants` or
     * proofs cover it, and the venue's own DID owns the root. Public grants and grants of a static token cannot be
     * delegated.
     *
     * @returns expiry in seconds since the epoch (`null`: none), and the tokens it rests on
     * @throws CAPABILITY_DENIED; UNKNOWN_ROOT
     */
    delegable(grant: Grant): { readonly expiresAt: number | null; readonly via: readonly ChainLink[] } {
      const { expiresAt, chain } = authoriser.requireDelegable(grant);
      const [root] = grant.segments;
      // The venue signs for the owner of a drive, whose name is in the grant.
      if (grant.owner !== undefined) return { expiresAt, via: chain };
      if (root !== undefined && (!roots.includes(root) || authoriser.hidesRoot(root))) {
        throw unknownRoot(root, visibleRoots());
      }
      // A chain must start with the root's owner, and the venue's key can sign only for the venue's DID.
      if (authorities.ownerOf(root) !== authorities.venueDid) throw authoriser.refuseOtherOwner(grant);
      return { expiresAt, via: chain };
    },
  };
}
