// Finds directories that fold case of themselves where another spelling of a name would be denied or protected.

import type { Io } from "../../core/io.js";
import type { SpellingRules } from "../../core/ports/backend.js";
import type { Pinned } from "../handles.js";
import type { WalkOptions, WalkRoot } from "./walk-options.js";

/** How far a walk has come. */
interface Position {
  readonly directory: Pinned;
  /** Real names down to the directory. */
  readonly names: readonly string[];
  readonly crossedLink: boolean;
}

export class Spelling {
  readonly #root: WalkRoot;
  readonly #requested: readonly string[];
  readonly #rules: SpellingRules | undefined;
  readonly #mayMake: boolean;
  /** Whether the request itself names what is denied under another spelling. */
  readonly isDoubtful: boolean;

  constructor(
    root: WalkRoot,
    requested: readonly string[],
    { spellings, onlyTarget }: Pick<WalkOptions, "spellings" | "onlyTarget">,
  ) {
    this.#root = root;
    this.#requested = requested;
    this.#rules = spellings;
    // Only a call that may change something makes a directory to find out.
    this.#mayMake = !onlyTarget;
    this.isDoubtful = spellings?.isDoubtful(requested) === true;
  }

  /**
   * Called before the first of `names` is looked up in the directory, and for all of them if it is missing.
   *
   * @param requestedCount how many names of the request lead there; 0 inside a link
   * @throws DENIED_BY_POLICY
   */
  *check(at: Position, names: readonly [string, ...string[]], requestedCount: number): Io<void> {
    const rules = this.#rules;
    if (rules === undefined || !(this.isDoubtful || at.crossedLink)) return;
    const places = [[...at.names, ...names], this.#requested.slice(0, requestedCount)];
    const doubtful = places.filter((place) => rules.isDoubtful(place));
    if (doubtful.length === 0) return;
    yield* this.#root.detectFolding(at.directory, { name: names[0], mayMake: this.#mayMake });
    for (const place of doubtful) rules.require(place);
  }
}
