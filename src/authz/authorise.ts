// Decides what one caller may do in one call: the intersection of its caps lists and its authority.

import type { Ability } from "../core/call/capability.js";
import { isSamePath } from "../core/call/path.js";
import type { FileAdapterError } from "../core/errors/errors.js";
import type { ChainLink, HeldGrant } from "../ucan/verify/proof.js";
import type { Authority, View, Winner } from "./authority.js";
import { type CapsList, combineCaps } from "./caps-list.js";
import { capabilityDenied, type DenialReason } from "./denial.js";
import { driveKey, driveOfKey, referenceTo } from "./drive-key.js";
import { covers, type Grant, type Need, printResource, type Scheme, wordsOf } from "./grant.js";
import { scopesFor } from "./scopes.js";

/** Most grants in a denial, and hence the most that are computed for it. */
const MAX_SHOWN = 20;

/** Checks the rights of one call: caps ∩ authority, on canonical segments only. Does no I/O. */
export class Authoriser {
  readonly #caps: readonly CapsList[];
  readonly #authority: Authority;
  readonly #operation: string;
  readonly #scheme: Scheme;
  readonly #driveOwner: string;
  readonly #views = new Map<string, View>();
  #chain: readonly ChainLink[] | undefined;

  /**
   * @param options `caps`: each list must cover a need; `authority` must cover it too. `scheme`: default `file`. `driveOwner`: whose
   * drives needs of scheme `dlfs` are in
   */
  constructor(options: {
    operation: string;
    caps: readonly (CapsList | undefined)[];
    authority: Authority;
    scheme?: Scheme;
    driveOwner?: string | undefined;
  }) {
    this.#operation = options.operation;
    this.#scheme = options.scheme ?? "file";
    this.#driveOwner = options.driveOwner ?? "";
    this.#caps = options.caps.filter((list) => list !== undefined);
    this.#authority = options.authority;
  }

  /** The same rights, or those that other caps lists leave, with a record of its own of what they rested on. */
  copy(caps = this.#caps): Authoriser {
    return new Authoriser({
      operation: this.#operation,
      caps,
      authority: this.#authority,
      scheme: this.#scheme,
      driveOwner: this.#driveOwner,
    });
  }

  /** The token chain that the last successful `require` rested on, if any. */
  get chain(): readonly ChainLink[] | undefined {
    return this.#chain;
  }

  /** @param segments the name of the root or drive and the path below it @throws CAPABILITY_DENIED */
  require(segments: readonly string[], ability: Ability): void {
    const need = this.#need(segments, ability);
    const winner = this.#winner(need);
    if (winner === undefined) throw this.#denial(need, ability);
    this.#chain = winner.chain;
  }

  /** Like {@link require}, but returns the result. */
  allows(segments: readonly string[], ability: Ability): boolean {
    return this.#winner(this.#need(segments, ability)) !== undefined;
  }

  /**
   * Like {@link require}, for the path after links are resolved. The denial names the requested path: a caller without
   * rights at a link's target must not learn where it leads. @throws CAPABILITY_DENIED
   */
  requireReal(root: string, path: { requested: readonly string[]; real: readonly string[] }, ability: Ability): void {
    if (isSamePath(path.requested, path.real)) return;
    if (this.#winner(this.#need([root, ...path.real], ability)) !== undefined) return;
    throw this.#denial(this.#need([root, ...path.requested], ability), ability, { isPathPolicy: true });
  }

  /**
   * Requires that the caller may have the venue sign `grant`: its caps must cover it, and so must what it owns, was
   * granted by the configuration, or can prove. @throws CAPABILITY_DENIED
   */
  requireDelegable(grant: Grant): HeldGrant<Grant> {
    const held = this.#capsCover(grant) ? this.#authority.delegable(grant, this.#viewFor(grant)) : undefined;
    if (held !== undefined) return held;
    const isBound = this.#winner(grant) !== undefined;
    throw this.#denial(grant, grant.written.can, isBound ? { isBound } : {});
  }

  /** The CAPABILITY_DENIED error for a grant that only the key of another owner can sign. */
  refuseOtherOwner(grant: Grant): FileAdapterError {
    return this.#denial(grant, grant.written.can, { isOthers: true });
  }

  /** Whether a root must look nonexistent to the caller: it has its own owner, and the caller holds no grant in it. */
  hidesRoot(root: string): boolean {
    return this.#viewOf(root) === "missing";
  }

  /** Whether the caller holds any grant in a root. */
  seesRoot(root: string): boolean {
    return this.#holdsIn(root, "real");
  }

  /** Whether the caller may read something at a place or below it. */
  readsAt(root: string, path: readonly string[]): boolean {
    const isAlong = ({ segments: [, ...top] }: Grant) =>
      top.every((name, index) => index >= path.length || name === path[index]);
    return this.#holdsIn(root, "real", (grant) => reads(grant) && isAlong(grant));
  }

  /** @throws CAPABILITY_DENIED unless the caller may read something in one of `roots` */
  requireAnyRead(roots: readonly string[]): void {
    // A caller that may read every root may list them, even if there are none.
    const need = this.#need([], "crud/read");
    const mayRead = (one: Authoriser): boolean =>
      one.#winner(need) !== undefined || roots.some((root) => one.#holdsIn(root, "real", reads));
    if (!mayRead(this)) throw this.#denial(need, "crud/read", { mayPass: mayRead });
  }

  /** @throws CAPABILITY_DENIED unless the caller may read something anywhere */
  requireReadSomewhere(): void {
    for (const grant of this.#combined(this.#authority.grants((root) => this.#viewOf(root)))) {
      if (reads(grant)) return;
    }
    throw this.#denial(this.#need([], "crud/read"), "crud/read");
  }

  /** The grants that the caller holds, at most 20, skipping those that an earlier one covers. */
  held(): { readonly grants: readonly Grant[]; readonly truncated: boolean } {
    const grants: Grant[] = [];
    for (const grant of this.#combined(this.#authority.grants((root) => this.#viewOf(root)))) {
      if (grants.some((known) => covers(known, grant))) continue;
      if (grants.length === MAX_SHOWN) return { grants, truncated: true };
      grants.push(grant);
    }
    return { grants, truncated: false };
  }

  #need(segments: readonly string[], ability: Ability): Need {
    const words = wordsOf(ability);
    if (this.#scheme === "dlfs") return { scheme: "dlfs", owner: this.#driveOwner, segments, words };
    const named = segments[0] === undefined ? undefined : driveOfKey(segments[0]);
    if (named === undefined) return { scheme: "file", segments, words };
    const { owner = "", drive } = named;
    return { scheme: "dlfs", owner, segments: [drive, ...segments.slice(1)], words };
  }

  #winner(need: Need): Winner | undefined {
    return this.#capsCover(need) ? this.#authority.covering(need, this.#viewFor(need)) : undefined;
  }

  /** Drives have no owners to be hidden. */
  #viewFor({ owner, segments: [root] }: Need): View {
    return owner === undefined ? this.#viewOf(root) : "real";
  }

  #capsCover(need: Need): boolean {
    for (const list of this.#caps) if (!list.grants.some((grant) => covers(grant, need))) return false;
    return true;
  }

  /** A root with its own owner in which the caller holds no grant counts as missing. */
  #viewOf(root: string | undefined): View {
    if (root === undefined || this.#authority.isEverything || !this.#authority.isOwned(root)) return "real";
    const known = this.#views.get(root);
    if (known !== undefined) return known;
    const view = this.#holdsIn(root, "real") ? "real" : "missing";
    this.#views.set(root, view);
    return view;
  }

  /** Whether some grant of caps ∩ authority applies in a root and satisfies `test`. */
  #holdsIn(root: string, as: View, test: (grant: Grant) => boolean = () => true): boolean {
    for (const grant of this.#combined(this.#authority.grantsIn(root, as))) {
      if ((grant.segments[0] ?? root) === root && test(grant)) return true;
    }
    return false;
  }

  /** The grants of caps ∩ authority, computed lazily. */
  *#combined(authority: Iterable<Grant>): Generator<Grant> {
    const lists = this.#caps.map((list) => list.grants);
    for (const grant of authority) yield* combineCaps(lists, grant);
  }

  #denial(need: Need, ability: string, why: Why = {}): FileAdapterError {
    const [root] = need.segments;
    const authority = this.#authority;
    const as = this.#viewFor(need);
    const capsRefuse = !this.#capsCover(need);
    const isByAuthority =
      why.isOthers === true ||
      why.isBound === true ||
      authority.fault !== undefined ||
      authority.covering(need, as) === undefined;
    const proofs = isByAuthority ? authority.proofFaults(need, as) : { reasons: [] };
    const { grants, truncated } = this.held();
    const source =
      authority.bearsProofs || authority.fault !== undefined ? ("proofs" as const) : ("authority" as const);
    const scope = this.#missingScope(need, ability, why);
    const reasons = why.isOthers
      ? (["issuer_not_owner"] as const)
      : scope === undefined
        ? this.#reasons(proofs.reasons, capsRefuse)
        : (["missing_scope"] as const);
    const remedy = capsRefuse || why.isPathPolicy || why.isOthers ? undefined : this.#remedy(root, as, need.owner);
    return capabilityDenied({
      operation: this.#operation,
      required: { resource: this.#print(need), ability },
      deniedBy: why.isPathPolicy
        ? ["path_policy"]
        : [...(capsRefuse ? (["agent_caps"] as const) : []), ...(isByAuthority ? [source] : [])],
      have: grants,
      truncated,
      reasons,
      ...("renew" in proofs && isOnlyTime(reasons) ? { renew: proofs.renew } : {}),
      ...(remedy === undefined ? {} : { remedy }),
      ...(why.isOthers ? { ending: OWNER_MUST_SIGN } : {}),
      ...(why.isBound ? { ending: NOT_PASSED_ON } : {}),
      ...(scope === undefined ? {} : { ending: `Sign in again, with the scope ${scope}.` }),
    });
  }

  /** The scope for an ability, where the caller would be allowed if its token had that. */
  #missingScope(need: Need, ability: string, { isPathPolicy, mayPass }: Why): string | undefined {
    const caps = this.#caps.filter(({ isOfScopes }) => isOfScopes !== true);
    if (caps.length === this.#caps.length || isPathPolicy === true) return undefined;
    const unscoped = this.copy(caps);
    const isAllowed = mayPass?.(unscoped) ?? unscoped.#winner(need) !== undefined;
    return isAllowed ? scopesFor([ability])[0] : undefined;
  }

  #reasons(ofProofs: readonly DenialReason[], capsRefuse: boolean): readonly DenialReason[] {
    const { fault } = this.#authority;
    const ofCaps = this.#caps.flatMap((list) => (list.fault === undefined ? [] : [list.fault]));
    const own = [...(fault === undefined ? [] : [fault]), ...ofCaps, ...ofProofs];
    const isUnexplained = own.length === 0 || (capsRefuse && ofCaps.length === 0);
    return [...new Set<DenialReason>([...own, ...(isUnexplained ? (["not_covered"] as const) : [])])];
  }

  #print({ scheme = "file", owner, segments: [drive = "", ...path], segments }: Need): string {
    const isNamed = owner !== undefined && this.#scheme === "file";
    return isNamed ? referenceTo(driveKey(owner, drive), path) : printResource(segments, scheme);
  }

  /**
   * Names whom to ask. The owner of a root is named only to a caller with a grant in it: others must not learn of it. That of a drive
   * is in its name.
   */
  #remedy(root: string | undefined, as: View, driveOwner: string | undefined): string | undefined {
    const { audience, fault } = this.#authority;
    if (audience === undefined || fault !== undefined) return undefined;
    const known = root !== undefined && this.#holdsIn(root, as) ? this.#authority.ownerOf(root, as) : undefined;
    const owner = driveOwner ?? known;
    // An owner is restricted only by its own token or caps list: asking itself for a UCAN would not help.
    if (owner === audience) return undefined;
    return `ask ${owner ?? "the owner of the root"} for a UCAN covering 'required', audience ${audience}`;
  }
}

const READ = wordsOf("crud/read");
const reads = ({ words }: Grant): boolean => covers({ segments: [], words }, { segments: [], words: READ });

/** Subject of a denial, beside the missing right. */
interface Why {
  readonly isPathPolicy?: true;
  readonly isOthers?: true;
  /** Whether a caller passes, where that takes less than the missing right. */
  readonly mayPass?: (one: Authoriser) => boolean;
  /** The caller holds the right, by a static token or public access, and cannot pass it on. */
  readonly isBound?: true;
}

const NOT_PASSED_ON = "You may use this right, not pass it on: a static token or public access gives it.";
const OWNER_MUST_SIGN = "Only the owner of that root can sign for it, with 'venue-files grant'.";

const isOnlyTime = (reasons: readonly DenialReason[]): boolean =>
  reasons.length === 1 && (reasons[0] === "expired" || reasons[0] === "not_yet_valid");
