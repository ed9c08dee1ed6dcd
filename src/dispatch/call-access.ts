import type { Authoriser } from "../authz/authorise.js";
import type { Access } from "../core/backend.js";
import type { Ability } from "../core/capability.js";
import type { RelPath } from "../core/path.js";
import type { CallScope } from "../core/scope.js";
import type { Place } from "../core/texts.js";

/** What a backend may ask while it serves one call. */
export class CallAccess implements Access {
  readonly place: Place;
  readonly verb: string;
  readonly scope: CallScope;
  readonly #path: RelPath;
  readonly #authoriser: Authoriser;
  readonly #abilities: readonly Ability[];
  #real: readonly string[];

  constructor(
    root: string,
    path: RelPath,
    options: { verb: string; abilities: readonly Ability[]; authoriser: Authoriser; scope: CallScope },
  ) {
    this.place = { root, path: path.text };
    this.verb = options.verb;
    this.scope = options.scope;
    this.#path = path;
    this.#authoriser = options.authoriser;
    this.#abilities = options.abilities;
    this.#real = path.segments;
  }

  real(segments: readonly string[]): void {
    const { segments: requested } = this.#path;
    for (const ability of this.#abilities) {
      this.#authoriser.requireReal(this.place.root, { requested, real: segments }, ability);
    }
    this.#real = segments;
  }

  create(requested: readonly string[], real: readonly string[]): void {
    this.#authoriser.require([this.place.root, ...requested], "crud/write");
    this.#authoriser.requireReal(this.place.root, { requested, real }, "crud/write");
  }

  holds(ability: Ability): boolean {
    const { root } = this.place;
    return (
      this.#authoriser.allows([root, ...this.#path.segments], ability) &&
      this.#authoriser.allows([root, ...this.#real], ability)
    );
  }
}
