// The Access of one call: checks deny and protect patterns, grants and paths protected by a facade, on the requested and the real path.

import type { Authoriser } from "../../authz/authorise.js";
import { type Ability, APPROVE } from "../../core/call/capability.js";
import type { PathRules, RelPath } from "../../core/call/path.js";
import { isSamePath } from "../../core/call/path.js";
import type { CallScope } from "../../core/call/scope.js";
import type { CallTerms } from "../../core/call/terms.js";
import type { FileAdapterError } from "../../core/errors/errors.js";
import { conflict, deniedByPolicy, type Place, permissionDenied, protectedByPolicy } from "../../core/errors/texts.js";
import type { Access, PlacePolicy, SpellingRules } from "../../core/ports/backend.js";
import type { ChangeOrigin, EntryChange } from "../../core/ports/changes/change.js";
import type { NotUndoable } from "../../core/ports/changes/journal.js";
import type { PlaceRequest, RootFacts } from "../../core/ports/operation.js";
import type { PathPolicy } from "../../core/ports/path-policy.js";
import type { CallState } from "./state.js";

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
  readonly #call: CallState;
  readonly #root: RootFacts;
  readonly #path: RelPath;
  readonly #request: PlaceRequest;
  readonly #authoriser: Authoriser;
  readonly #protections: PathPolicy | undefined;
  readonly #isProtected: CallTerms["isProtected"];
  #pinned: readonly string[] | undefined;
  #real: readonly string[];

  /** @throws DENIED_BY_POLICY, PERMISSION_DENIED for the requested path */
  constructor(call: CallState, root: RootFacts, path: RelPath, request: PlaceRequest) {
    const { context, operation, scope, authoriser } = call;
    const { changes, guarded = changes } = request;
    const { policy } = root;
    const protection = guarded ? root.protection : undefined;
    this.place = { root: root.name, path: path.text };
    this.verb = operation.name;
    this.scope = scope;
    this.caller = context.callerDID ?? "operator";
    this.links = context.links;
    this.rules = context.pathRules;
    this.changed = call.isUnheard ? undefined : (change) => call.report(this.origin, change);
    this.approve = undefined;
    this.#call = call;
    this.#root = root;
    this.#path = path;
    this.#request = request;
    this.#authoriser = authoriser;
    this.#protections = protection;
    this.#isProtected = changes ? context.terms?.isProtected : undefined;
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
    const { abilities, isReal = false } = this.#request;
    const only = isReal && crossedLink ? requested : this.#pinned;
    if (only !== undefined && !isSamePath(segments, only)) {
      const expected = isReal ? "no link on the way" : "links as they were";
      throw conflict(this.place, { verb: this.verb, expected });
    }
    for (const ability of abilities) {
      this.#authoriser.requireReal(this.place.root, { requested, real: segments }, ability);
    }
    this.#call.context.terms?.leadsTo?.(segments);
    const isRequested = isSamePath(segments, requested);
    // The requested path too: a directory that folds case may have been found since it was judged.
    this.#requireAllowed(segments);
    // A walk may go on changing the array that it passed.
    this.#real = isRequested ? requested : [...segments];
  }

  lost(reason: NotUndoable): void {
    this.#call.noteLost(reason);
  }

  behind(fault: string): void {
    this.#call.noteBehind(fault);
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
    const origin = this.#call.originIn(this.#root);
    const { undoes } = this.#request;
    return undoes === undefined ? origin : { ...origin, undoes };
  }

  beginGroup(): void {
    this.#call.beginGroup();
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
    if (this.#root.policy?.denies(segments) === true) throw this.#denied(segments);
    if (this.#protections?.denies(segments) === true) throw protectedByPolicy(this.place, this.verb);
    if (this.#isProtected?.(segments, this.verb) === true) throw permissionDenied(this.place);
  }

  /** Only callers who may approve in the whole root, the operator and the owner, are told the pattern. */
  #denied(segments: readonly string[]): FileAdapterError {
    const isTold = this.#authoriser.allows([this.place.root], APPROVE);
    return deniedByPolicy(this.place, this.verb, isTold ? this.#root.policy?.patternOf?.(segments) : undefined);
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
