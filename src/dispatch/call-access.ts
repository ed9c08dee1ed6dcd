import type { Authoriser } from "../authz/authorise.js";
import type { Access } from "../core/backend.js";
import type { Ability } from "../core/capability.js";
import type { AnyOperation } from "../core/operation.js";
import type { RelPath } from "../core/path.js";
import type { CallScope } from "../core/scope.js";
import type { Place } from "../core/texts.js";

/** What a backend may ask while it serves one call. */
export class CallAccess implements Access {
  readonly place: Place;
  readonly scope: CallScope;
  readonly #path: RelPath;
  readonly #authoriser: Authoriser;
  readonly #ability: Ability;

  constructor(
    root: string,
    path: RelPath,
    options: { operation: AnyOperation; authoriser: Authoriser; scope: CallScope },
  ) {
    this.place = { root, path: path.text };
    this.scope = options.scope;
    this.#path = path;
    this.#authoriser = options.authoriser;
    this.#ability = options.operation.ability;
  }

  real(segments: readonly string[]): void {
    this.#authoriser.requireReal(this.place.root, { requested: this.#path.segments, real: segments }, this.#ability);
  }

  create(requested: readonly string[], real: readonly string[]): void {
    this.#authoriser.require([this.place.root, ...requested], this.#ability);
    this.#authoriser.requireReal(this.place.root, { requested, real }, this.#ability);
  }
}
