// The Access of one call: checks deny and protect patterns, grants and paths protected by a facade, on the requested and the real path.

import type { Authoriser } from "../../authz/authorise.js";
import { type Ability, APPROVE } from "../../core/call/capability.js";
import type { PathRules, RelPath } from "../../core/call/path.js";
import { isSamePath } from "../../core/call/path.js";
import type { CallScope } from "../../core/call/scope.js";
import type { CallTerms } from "../../core/call/terms.js";
import type { FileAdapterError } from "../../core/errors/errors.js";
import { conflict, deniedByPolicy, type Place, permissionDenied, protectedByPolicy } from "../../core/errors/texts.js";
import type { SurfaceContext } from "../../core/ports/adapter.js";
import type { Access, PlacePolicy, SpellingRules } from "../../core/ports/backend.js";
import type { ChangeOrigin, EntryChange } from "../../core/ports/changes/change.js";
import type { NotUndoable } from "../../core/ports/changes/journal.js";
import type { AnyOperation, PlaceRequest, RootFacts } from "../../core/ports/operation.js";
import type { PathPolicy } from "../../core/ports/path-policy.js";
import type { CallChanges } from "./changes.js";

export interface CallAccessOptions {
  readonly verb: string;
  readonly abilities: readonly Ability[];
  /** State shared by the whole call. */
  readonly state: { readonly authoriser: Authoriser; readonly scope: CallScope; readonly changes: CallChanges };
  readonly caller: string;
  /** Whether changes of protected paths are refused. */
  readonly guarded: boolean;
  readonly links?: "refuse" | undefined;
  /** See {@link CallTerms}; absent for operations that change nothing. */
  readonly isProtected?: CallTerms["isProtected"];
  readonly rules: PathRules | undefined;
  readonly leadsTo?: CallTerms["leadsTo"];
  readonly isReal?: boolean | undefined;
  readonly undoes?: readonly string[] | undefined;
}

interface PlaceParts {
  readonly operation: Pick<AnyOperation, "name">;
  readonly request: PlaceRequest;
  readonly state: CallAccessOptions["state"] & { readonly context: SurfaceContext };
  readonly terms: CallTerms | undefined;
}

/** The access of a call to one of its places. @throws as {@link CallAccess} */
export function accessTo(root: RootFacts, path: RelPath, { operation, request, state, terms }: PlaceParts): CallAccess {
  const { abilities, changes, guarded = changes, isReal, undoes } = request;
  const { links, pathRules: rules, callerDID: caller = "operator" } = state.context;
  const isProtected = changes ? terms?.isProtected : undefined;
  const { name: verb } = operation;
  const leadsTo = terms?.leadsTo;
  const own = { verb, abilities, state, caller, guarded, links, rules, isProtected, leadsTo, isReal, undoes };
  return new CallAccess(root, path, own);
}

/** The checks that a backend makes while it serves one call. */
export class CallAccess implements Access {
  readonly place: Place;
  readonly verb: string;
  readonly scope: CallScope;
  readonly caller: string;
  readonly policy: PlacePolicy | undefined;
  readonly protection: PlacePolicy | undefined;
  readonly spellings: SpellingRules | undefined;
  readonly links: "refuse" | undefined;
  readonly rules: PathRules | undefined;
  readonly changed: ((change: EntryChange) => void) | undefined;
  approve: Access["approve"];
  readonly #path: RelPath;
  readonly #authoriser: Authoriser;
  readonly #abilities: readonly Ability[];
  readonly #denials: PathPolicy | undefined;
  readonly #protections: PathPolicy | undefined;
  readonly #isProtected: CallTerms["isProtected"];
  readonly #leadsTo: CallTerms["leadsTo"];
  readonly #changes: CallChanges;
  readonly #root: RootFacts;
  readonly #isReal: boolean;
  #pinned: readonly string[] | undefined;
  readonly #undoes: readonly string[] | undefined;
  #real: readonly string[];

  /** @throws DENIED_BY_POLICY, PERMISSION_DENIED for the requested path */
  constructor(root: RootFacts, path: RelPath, options: CallAccessOptions) {
    this.place = { root: root.name, path: path.text };
    this.verb = options.verb;
    const { authoriser, scope, changes } = options.state;
    this.scope = scope;
    this.caller = options.caller;
    this.links = options.links;
    this.#path = path;
    this.#authoriser = authoriser;
    this.#abilities = options.abilities;
    const { policy } = root;
    const protection = options.guarded ? root.protection : undefined;
    this.#denials = policy;
    this.#protections = protection;
    this.#isProtected = options.isProtected;
    this.#leadsTo = options.leadsTo;
    this.#changes = changes;
    this.#root = root;
    this.#isReal = options.isReal === true;
    this.#undoes = options.undoes;
    this.changed = changes.isUnheard ? undefined : (change) => changes.report(this.origin, change);
    this.approve = undefined;
    this.rules = options.rules;
    this.#real = path.segments;
    this.#requireAllowed(path.segments);
    this.policy = policy && this.#policyBelow(policy);
    this.protection = protection && this.#policyBelow(protection);
    const policies = [policy, protection];
    this.spellings = policies.some((one) => one !== undefined)
      ? {
          isDoubtful: (segments) => policies.some((one) => one?.isDoubtful?.(segments) === true),
          require: (segments) => this.#requireAllowed(segments),
        }
      : undefined;
  }

  real(segments: readonly string[], crossedLink = true): void {
    const { segments: requested } = this.#path;
    const only = this.#isReal && crossedLink ? requested : this.#pinned;
    if (only !== undefined && !isSamePath(segments, only)) {
      const expected = this.#isReal ? "no link on the way" : "links as they were";
      throw conflict(this.place, { verb: this.verb, expected });
    }
    for (const ability of this.#abilities) {
      this.#authoriser.requireReal(this.place.root, { requested, real: segments }, ability);
    }
    this.#leadsTo?.(segments);
    const isRequested = isSamePath(segments, requested);
    // The requested path too: a directory that folds case may have been found since it was judged.
    this.#requireAllowed(segments);
    // A walk may go on changing the array that it passed.
    this.#real = isRequested ? requested : [...segments];
  }

  lost(reason: NotUndoable): void {
    this.#changes.noteLost(reason);
  }

  behind(fault: string): void {
    this.#changes.noteBehind(fault);
  }

  pin(real: readonly string[] | undefined): void {
    this.#pinned = real;
  }

  /** The path that {@link real} was last asked for. */
  get realPath(): readonly string[] {
    return this.#real;
  }

  create(requested: readonly string[], real: readonly string[]): void {
    this.#authoriser.require([this.place.root, ...requested], "crud/write");
    this.#authoriser.requireReal(this.place.root, { requested, real }, "crud/write");
    this.#requireAllowed(requested);
    this.#requireAllowed(real);
  }

  get origin(): ChangeOrigin {
    const origin = this.#changes.originIn(this.#root);
    return this.#undoes === undefined ? origin : { ...origin, undoes: this.#undoes };
  }

  beginGroup(): void {
    this.#changes.beginGroup();
  }

  require(ability: Ability): void {
    const { root } = this.place;
    const { segments: requested } = this.#path;
    this.#authoriser.require([root, ...requested], ability);
    this.#authoriser.requireReal(root, { requested, real: this.#real }, ability);
  }

  holds(ability: Ability): boolean {
    const { root } = this.place;
    return (
      this.#authoriser.allows([root, ...this.#path.segments], ability) &&
      this.#authoriser.allows([root, ...this.#real], ability)
    );
  }

  /** Whether the call could purge the path without an approval. */
  mayGiveUp(segments: readonly string[]): boolean {
    if (this.#root.approve !== undefined || this.#protections?.denies(segments) === true) return false;
    if (this.#isProtected?.(segments, this.verb) === true) return false;
    return this.#authoriser.allows([this.place.root, ...segments], "crud/delete");
  }

  #requireAllowed(segments: readonly string[]): void {
    if (this.#denials?.denies(segments) === true) throw this.#denied(segments);
    if (this.#protections?.denies(segments) === true) throw protectedByPolicy(this.place, this.verb);
    if (this.#isProtected?.(segments, this.verb) === true) throw permissionDenied(this.place);
  }

  /** Only callers who may approve in the whole root, the operator and the owner, are told the pattern. */
  #denied(segments: readonly string[]): FileAdapterError {
    const isTold = this.#authoriser.allows([this.place.root], APPROVE);
    return deniedByPolicy(this.place, this.verb, isTold ? this.#denials?.patternOf?.(segments) : undefined);
  }

  #policyBelow(policy: PathPolicy): PlacePolicy {
    const { segments } = this.#path;
    const tops = () => (this.#real === segments ? [segments] : [segments, this.#real]);
    const isDoubtful = (top: readonly string[], below: readonly string[], name: string): boolean =>
      policy.isDoubtfulEntry?.(top.length === 0 ? below : [...top, ...below], name) === true;
    return {
      denies: (below, name) =>
        policy.deniesEntry(segments.length === 0 ? below : [...segments, ...below], name) ||
        (this.#real !== segments && policy.deniesEntry([...this.#real, ...below], name)),
      isDoubtful: (below, name) =>
        isDoubtful(segments, below, name) || (this.#real !== segments && isDoubtful(this.#real, below, name)),
      anchors: (below, name) =>
        tops()
          .filter((top) => policy.deniesEntry([...top, ...below], name))
          .flatMap((top) => policy.anchors([...top, ...below], name).map((depth) => depth - top.length))
          .filter((depth) => depth > 0),
    };
  }
}
