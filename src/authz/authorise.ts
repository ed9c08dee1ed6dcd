import type { Ability } from "../core/call/capability.js";
import type { FileAdapterError } from "../core/errors/errors.js";
import type { SurfaceContext } from "../core/ports/adapter.js";
import type { ChainLink, HeldGrant } from "../ucan/verify/proof.js";
import type { Authority, View, Winner } from "./authority.js";
import { type DenialReason, denied } from "./denial.js";
import { covers, type Grant, intersect, type Need, parseGrant, printResource, type Scheme, wordsOf } from "./grant.js";

/** A caps list, read. Absent lists narrow nothing and are not represented. */
export interface CapsList {
  readonly grants: readonly Grant[];
  /** Why the list allows nothing as a whole. */
  readonly fault?: "malformed" | "too_large";
}

/** The most grants a denial shows, and hence the most that are worked out for it. */
const MAX_SHOWN = 20;
const MAX_ENTRIES = 256;

/** Reads a caps list as given. `undefined`: no restriction. Malformed entries grant nothing, the others count. */
export function readCaps(value: unknown): CapsList | undefined {
  if (value === undefined || value === null) return undefined;
  if (!Array.isArray(value)) return { grants: [], fault: "malformed" };
  if (value.length > MAX_ENTRIES) return { grants: [], fault: "too_large" };
  return { grants: value.map(parseGrant).filter((grant) => grant !== undefined) };
}

/** Everything that narrows one call beside the authority of its caller. */
export const capsOf = ({ caps, callCaps, within }: SurfaceContext): readonly (CapsList | undefined)[] => [
  readCaps(caps),
  readCaps(callCaps),
  within && { grants: within.map(grantWithin) },
];

const grantWithin = (segments: readonly string[]): Grant => ({
  segments,
  words: [],
  written: { with: printResource([...segments, ""]), can: "*" },
});

/** Decides what one caller may do in one call: caps ∩ authority, on canonical segments only. Knows no files. */
export class Authoriser {
  readonly #caps: readonly CapsList[];
  readonly #authority: Authority;
  readonly #operation: string;
  readonly #scheme: Scheme;
  readonly #views = new Map<string, View>();
  #chain: readonly ChainLink[] | undefined;

  /** @param options `caps`: each list must cover a need; `authority` must cover it too. `scheme`: default `file` */
  constructor(options: {
    operation: string;
    caps: readonly (CapsList | undefined)[];
    authority: Authority;
    scheme?: Scheme;
  }) {
    this.#operation = options.operation;
    this.#scheme = options.scheme ?? "file";
    this.#caps = options.caps.filter((list) => list !== undefined);
    this.#authority = options.authority;
  }

  /** The tokens on which the last permission rested, if it rested on any. */
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

  /** The same without a refusal. */
  allows(segments: readonly string[], ability: Ability): boolean {
    return this.#winner(this.#need(segments, ability)) !== undefined;
  }

  /**
   * The same for the place a request really leads to. The denial names the requested place: where a link leads is not
   * told to someone without rights there. @throws CAPABILITY_DENIED
   */
  requireReal(root: string, path: { requested: readonly string[]; real: readonly string[] }, ability: Ability): void {
    if (sameSegments(path.requested, path.real)) return;
    if (this.#winner(this.#need([root, ...path.real], ability)) !== undefined) return;
    throw this.#denial(this.#need([root, ...path.requested], ability), ability, { isPathPolicy: true });
  }

  /**
   * Whether the caller may have the venue sign `grant`: caps, and what it owns, was given by the configuration, or can
   * prove, cover it. @throws CAPABILITY_DENIED
   */
  requireDelegable(grant: Grant): HeldGrant<Grant> {
    const held = this.#capsCover(grant) ? this.#authority.delegable(grant, this.#viewOf(grant.segments[0])) : undefined;
    if (held === undefined) throw this.#denial(grant, grant.written.can);
    return held;
  }

  /** What refuses a grant that another's key must sign. */
  refuseOtherOwner(grant: Grant): FileAdapterError {
    return this.#denial(grant, grant.written.can, { isOthers: true });
  }

  /** Whether the caller must learn no more of a root than of one that is not there: it has an owner, and the caller nothing in it. */
  hidesRoot(root: string): boolean {
    return this.#viewOf(root) === "missing";
  }

  /** Whether the caller holds any grant in a root. */
  seesRoot(root: string): boolean {
    return this.#holdsIn(root, "real");
  }

  /** @throws CAPABILITY_DENIED unless the caller may read something in one of `roots` */
  requireAnyRead(roots: readonly string[]): void {
    // Whoever may read every root may ask for them, also where there is none to be seen.
    const need = this.#need([], "crud/read");
    if (this.#winner(need) !== undefined || roots.some((root) => this.#holdsIn(root, "real", reads))) return;
    throw this.#denial(need, "crud/read");
  }

  /** The same wherever that may be. @throws CAPABILITY_DENIED */
  requireReadSomewhere(): void {
    for (const grant of this.#combined(this.#authority.grants((root) => this.#viewOf(root)))) {
      if (reads(grant)) return;
    }
    throw this.#denial(this.#need([], "crud/read"), "crud/read");
  }

  /** What the caller holds, each grant once, as far as it is shown. */
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
    return { scheme: this.#scheme, segments, words: wordsOf(ability) };
  }

  #winner(need: Need): Winner | undefined {
    return this.#capsCover(need) ? this.#authority.covering(need, this.#viewOf(need.segments[0])) : undefined;
  }

  #capsCover(need: Need): boolean {
    for (const list of this.#caps) if (!list.grants.some((grant) => covers(grant, need))) return false;
    return true;
  }

  /** A root with an owner, in which the caller holds nothing, is judged as if it were not there. */
  #viewOf(root: string | undefined): View {
    if (root === undefined || this.#authority.isEverything || !this.#authority.isOwned(root)) return "real";
    const known = this.#views.get(root);
    if (known !== undefined) return known;
    const view = this.#holdsIn(root, "real") ? "real" : "missing";
    this.#views.set(root, view);
    return view;
  }

  /** Whether some grant of caps ∩ authority reaches into a root and satisfies `test`. */
  #holdsIn(root: string, as: View, test: (grant: Grant) => boolean = () => true): boolean {
    for (const grant of this.#combined(this.#authority.grantsIn(root, as))) {
      if ((grant.segments[0] ?? root) === root && test(grant)) return true;
    }
    return false;
  }

  /** The grants of caps ∩ authority, worked out one by one. */
  *#combined(authority: Iterable<Grant>): Generator<Grant> {
    const lists = this.#caps.map((list) => list.grants);
    for (const grant of authority) yield* combine(lists, grant);
  }

  #denial(need: Need, ability: string, why: { isPathPolicy?: true; isOthers?: true } = {}): FileAdapterError {
    const [root] = need.segments;
    const authority = this.#authority;
    const as = this.#viewOf(root);
    const capsRefuse = !this.#capsCover(need);
    const isByAuthority =
      why.isOthers === true || authority.fault !== undefined || authority.covering(need, as) === undefined;
    const proofs = isByAuthority ? authority.proofFaults(need, as) : { reasons: [] };
    const { grants, truncated } = this.held();
    const source =
      authority.bearsProofs || authority.fault !== undefined ? ("proofs" as const) : ("authority" as const);
    const reasons = why.isOthers ? (["issuer_not_owner"] as const) : this.#reasons(proofs.reasons, capsRefuse);
    const remedy = capsRefuse || why.isPathPolicy || why.isOthers ? undefined : this.#remedy(root, as);
    return denied({
      operation: this.#operation,
      required: { scheme: need.scheme ?? "file", segments: need.segments, ability },
      deniedBy: why.isPathPolicy
        ? ["path_policy"]
        : [...(capsRefuse ? (["agent_caps"] as const) : []), ...(isByAuthority ? [source] : [])],
      have: grants,
      truncated,
      reasons,
      ...("renew" in proofs && isOnlyTime(reasons) ? { renew: proofs.renew } : {}),
      ...(remedy === undefined ? {} : { remedy }),
      ...(why.isOthers ? { ending: OWNER_MUST_SIGN } : {}),
    });
  }

  #reasons(ofProofs: readonly DenialReason[], capsRefuse: boolean): readonly DenialReason[] {
    const { fault } = this.#authority;
    const ofCaps = this.#caps.flatMap((list) => (list.fault === undefined ? [] : [list.fault]));
    const own = [...(fault === undefined ? [] : [fault]), ...ofCaps, ...ofProofs];
    const isUnexplained = own.length === 0 || (capsRefuse && ofCaps.length === 0);
    return [...new Set<DenialReason>([...own, ...(isUnexplained ? (["not_covered"] as const) : [])])];
  }

  /** Whom to ask. The owner is named only to somebody who holds something in the root; else it may not even be there. */
  #remedy(root: string | undefined, as: View): string | undefined {
    const { audience, fault } = this.#authority;
    if (audience === undefined || fault !== undefined) return undefined;
    const owner = root !== undefined && this.#holdsIn(root, as) ? this.#authority.ownerOf(root, as) : undefined;
    // Whoever owns it is narrowed by nobody but those who gave the token or the list.
    if (owner === audience) return undefined;
    return `ask ${owner ?? "the owner of the root"} for a UCAN covering 'required', audience ${audience}`;
  }
}

const READ = wordsOf("crud/read");
const reads = ({ words }: Grant): boolean => covers({ segments: [], words }, { segments: [], words: READ });

const OWNER_MUST_SIGN = "Only the owner of that root can sign for it, with 'venue-files grant'.";

const isOnlyTime = (reasons: readonly DenialReason[]): boolean =>
  reasons.length === 1 && (reasons[0] === "expired" || reasons[0] === "not_yet_valid");

function* combine(lists: readonly (readonly Grant[])[], narrowed: Grant): Generator<Grant> {
  const [list, ...rest] = lists;
  if (list === undefined) yield narrowed;
  else {
    for (const grant of list) {
      const next = intersect(narrowed, grant);
      if (next !== undefined) yield* combine(rest, next);
    }
  }
}

function sameSegments(a: readonly string[], b: readonly string[]): boolean {
  return a === b || (a.length === b.length && a.every((segment, index) => segment === b[index]));
}
