// The authority of a caller, before caps lists narrow it: ownership, configured and public grants, and proofs (UCANs).

import { APPROVE } from "../core/call/capability.js";
import type { ChainLink, HeldGrant, UcanToken } from "../ucan/verify/proof.js";
import type { DenialReason } from "./denial.js";
import {
  APPROVAL_EVERYWHERE,
  covers,
  EVERYTHING,
  everyDriveOf,
  type Grant,
  intersect,
  isOf,
  type Need,
  SCHEME,
} from "./grant.js";

/** How a root is judged: as it is, or as if it did not exist (for callers without rights in a root with an owner). */
export type View = "real" | "missing";

/** The grant that permits a need, with its chain of proofs. */
export interface Winner {
  /** The tokens it rests on, if any. */
  readonly chain?: readonly ChainLink[];
}

/** Why the proofs of a request do not cover a need; `renew`: id of the first token that is expired or not yet valid. */
export interface ProofFaults {
  readonly reasons: readonly DenialReason[];
  readonly renew?: string;
}

/** The facts that the rights of a caller follow from. */
export interface AuthorityFacts {
  readonly fault: DenialReason | undefined;
  readonly isOperator: boolean;
  /** Canonical DID. Absent: the embedding program, which is the operator. */
  readonly did: string | undefined;
  readonly isAnonymous: boolean;
  /** Capability lists of the caller's identity tokens: bounds of its own rights. Absent: unbounded. */
  readonly self: { readonly grants: readonly Grant[]; readonly expiresAt: number | null } | undefined;
  /** Grants from ownership and from the configuration (`given`), and from the caller's static token (`added`). */
  readonly given: readonly Grant[];
  readonly added: readonly Grant[];
  readonly publicGrants: readonly Grant[];
  /** Tokens of the request, and those of them that are bound to this caller. */
  readonly tokens: readonly UcanToken<Grant>[];
  readonly bound: ReadonlySet<UcanToken<Grant>>;
  readonly bearsProofs: boolean;
  /** Canonical DID of the owner, for each root with its own owner. */
  readonly owners: ReadonlyMap<string, string>;
  readonly operator: string | undefined;
  /** Canonical DID of the owner of the drives that the caller uses; `undefined`: it has none. */
  readonly driveOwner: string | undefined;
  /** Names of all roots. */
  readonly roots: readonly string[];
}

/** The rights of one caller in one request, before any caps list narrows them, computed lazily. */
export class Authority {
  /** The request is refused as a whole, for this reason. */
  readonly fault: DenialReason | undefined;
  /** Everything is permitted, so nothing else needs checking. */
  readonly isEverything: boolean;
  readonly #facts: AuthorityFacts;
  #ownRights: readonly Grant[] | undefined;

  constructor(facts: AuthorityFacts) {
    this.#facts = facts;
    this.isEverything = facts.fault === undefined && facts.isOperator && facts.self === undefined;
    this.fault = facts.fault;
  }

  /** Whether the request brought proofs. Then only they and the caller's own rights count, not public grants. */
  get bearsProofs(): boolean {
    return this.#facts.bearsProofs;
  }

  /** DID that a denial may name as the audience of a UCAN to ask for. Absent: a proof could not help. */
  get audience(): string | undefined {
    const { did, isAnonymous } = this.#facts;
    return isAnonymous ? undefined : did;
  }

  /** DID of a root's owner. */
  ownerOf(root: string | undefined, as: View): string | undefined {
    const { owners, operator } = this.#facts;
    return root === undefined || as === "missing" ? operator : (owners.get(root) ?? operator);
  }

  /** Whether a root has its own owner, whom callers without rights there must not learn of. */
  isOwned(root: string): boolean {
    return this.#facts.owners.has(root);
  }

  covering(need: Need, as: View): Winner | undefined {
    if (this.fault !== undefined) return undefined;
    if (need.owner !== undefined) return this.#ownDrivesCover(need) ? {} : this.#findProof(need, as);
    if (this.isEverything || this.#directGrants().some((grant) => covers(grant, need))) return {};
    if (this.#publicGrantsIn(need.segments[0], as).some((grant) => covers(grant, need))) return {};
    return this.#findProof(need, as);
  }

  /** Every grant that applies in a root. */
  *grantsIn(root: string, as: View): Generator<Grant> {
    const reaches = ({ segments }: Grant) => segments.length === 0 || segments[0] === root;
    if (this.fault !== undefined) return;
    for (const grant of [...this.#directGrants(), ...this.#publicGrantsIn(root, as)]) if (reaches(grant)) yield grant;
    for (const { grant } of this.#provenGrants(this.ownerOf(root, as))) if (reaches(grant)) yield grant;
  }

  /**
   * Every grant, for display.
   * @param viewOf how each root is to be judged
   */
  *grants(viewOf: (root: string) => View): Generator<Grant> {
    if (this.fault !== undefined) return;
    yield* this.#directGrants();
    const { roots, owners, operator, publicGrants, bearsProofs } = this.#facts;
    const known = new Map([...owners].filter(([root]) => viewOf(root) === "real"));
    const ownerIn = (root: string) => known.get(root) ?? operator;
    // A grant on every root applies to its issuer's roots; they are listed one by one if the caller knows other owners.
    const reached = (grant: Grant, isReached: (root: string) => boolean): readonly Grant[] => {
      const [root] = grant.segments;
      if (root !== undefined) return isReached(root) ? [grant] : [];
      if (known.size === 0) return [grant];
      return roots
        .filter((name) => isReached(name) && (!owners.has(name) || known.has(name)))
        .map((name) => narrowToRoot(grant, name));
    };
    if (!bearsProofs) for (const grant of publicGrants) yield* reached(grant, (root) => !known.has(root));
    for (const owner of new Set([operator, ...known.values()])) {
      for (const { grant } of this.#provenGrants(owner)) yield* reached(grant, (root) => ownerIn(root) === owner);
    }
  }

  /** @param need what the proofs should have covered */
  proofFaults(need: Need, as: View): ProofFaults {
    const reasons = new Set<DenialReason>();
    let renew: string | undefined;
    const owner = need.owner ?? this.ownerOf(need.segments[0], as) ?? "";
    // A token with an empty list is no proof and explains nothing; a malformed one was meant as a proof, so it counts.
    for (const token of this.#facts.tokens.filter((one) => one.carriesCapabilities || one.fault !== undefined)) {
      for (const { reason, id } of this.#faultsOf(token, need, owner)) {
        reasons.add(reason);
        if (reason === "expired" || reason === "not_yet_valid") renew ??= id;
      }
    }
    return { reasons: [...reasons], ...(renew === undefined ? {} : { renew }) };
  }

  /** A delegable grant that covers the need: owned, granted by the configuration, or proven. */
  delegable(need: Need, as: View): HeldGrant<Grant> | undefined {
    const { self } = this.#facts;
    if (need.owner !== undefined) {
      const own = this.fault === undefined && this.#ownDrivesCover(need) ? everyDriveOf(need.owner) : undefined;
      return own && { grant: own, chain: [], expiresAt: self?.expiresAt ?? null };
    }
    const own = this.isEverything ? OPERATORS : this.#narrowToToken(this.#configuredGrants());
    const grant = this.fault === undefined ? own.find((one) => covers(one, need)) : undefined;
    if (grant !== undefined) return { grant, chain: [], expiresAt: self?.expiresAt ?? null };
    return this.#findProof(need, as);
  }

  /** The owner of a drive may do everything in it, within the bounds of its identity tokens. */
  #ownDrivesCover(need: Need): boolean {
    const { self, driveOwner } = this.#facts;
    if (driveOwner === undefined || need.owner !== driveOwner) return false;
    return (self?.grants ?? driveOwnerGrants(driveOwner)).some((grant) => covers(grant, need));
  }

  /** The caller's own rights: no proofs, no public grants. */
  #directGrants(): readonly Grant[] {
    const { added } = this.#facts;
    const own = this.#configuredGrants();
    this.#ownRights ??= this.#narrowToToken(added.length === 0 ? own : [...own, ...added]);
    return this.#ownRights;
  }

  #configuredGrants(): readonly Grant[] {
    return this.#facts.isOperator ? OPERATORS : this.#facts.given;
  }

  #narrowToToken(grants: readonly Grant[]): readonly Grant[] {
    const { self } = this.#facts;
    if (self === undefined) return grants;
    return grants.flatMap((grant) =>
      self.grants.map((bound) => intersect(grant, bound)).filter((narrower) => narrower !== undefined),
    );
  }

  #publicGrantsIn(root: string | undefined, as: View): readonly Grant[] {
    const { bearsProofs, publicGrants, owners } = this.#facts;
    if (bearsProofs || (as === "real" && root !== undefined && owners.has(root))) return [];
    return publicGrants;
  }

  /** The first proven grant that covers the need. Tokens that do not claim it are skipped before any verification. */
  #findProof(need: Need, as: View): HeldGrant<Grant> | undefined {
    const owner = need.owner ?? this.ownerOf(need.segments[0], as);
    if (owner === undefined || this.fault !== undefined) return undefined;
    for (const token of this.#facts.bound) {
      if (!token.own.some((grant) => covers(grant, need))) continue;
      const held = token.verdict(owner).grants.find(({ grant }) => covers(grant, need));
      if (held !== undefined) return held;
    }
    return undefined;
  }

  #provenGrants(owner: string | undefined): readonly HeldGrant<Grant>[] {
    const { bound, fault } = this.#facts;
    if (owner === undefined || bound.size === 0 || fault !== undefined) return [];
    // A token may also grant drives, which are asked for one by one.
    return [...bound].flatMap((token) => token.verdict(owner).grants.filter(({ grant }) => isOf("file", grant)));
  }

  #faultsOf(token: UcanToken<Grant>, need: Need, owner: string): readonly { reason: DenialReason; id?: string }[] {
    if (token.fault !== undefined) return [{ reason: token.fault }];
    if (!this.#facts.bound.has(token)) return [{ reason: "wrong_audience" }];
    if (!token.own.some((grant) => covers(grant, need))) return [{ reason: "not_covered" }];
    const { faults } = token.verdict(owner);
    return faults.length === 0 ? [{ reason: "not_covered" }] : faults;
  }
}

const OPERATORS: readonly Grant[] = [EVERYTHING, APPROVAL_EVERYWHERE];

/** The grants of an owner in its root. */
export const ownerGrants = (root: string): readonly Grant[] =>
  [EVERYTHING, APPROVAL_EVERYWHERE].map((grant) => narrowToRoot(grant, root));

/** The grants of an owner in its drives. As in roots on them, it decides what others may change there. */
export const driveOwnerGrants = (owner: string): readonly Grant[] => [
  everyDriveOf(owner),
  { ...everyDriveOf(owner), words: [APPROVE], written: { with: "dlfs://", can: APPROVE } },
];

/** A grant on every root, narrowed to one root. */
const narrowToRoot = ({ words, written: { can } }: Grant, root: string): Grant => ({
  segments: [root],
  words,
  written: { with: `${SCHEME}${root}/`, can },
});
