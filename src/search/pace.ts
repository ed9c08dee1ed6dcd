import type { CallScope } from "../core/call/scope.js";
import type { Io } from "../core/io.js";

/** Steps of matching, some hundred microseconds of them, between two looks at the clock. */
const STEPS_BETWEEN = 100_000;

/** The time of a search is up in the middle of an entry. */
export class TimeIsUp extends Error {
  constructor() {
    super("the time of the search is up");
    this.name = "TimeIsUp";
  }
}

/** Lets others run while patterns are matched, and ends the matching with the time of the search. */
export class Pace {
  readonly #scope: Pick<CallScope, "breathe">;
  readonly #isOver: () => boolean;
  #steps = 0;

  /** @param isOver whether the search is to end */
  constructor(scope: Pick<CallScope, "breathe">, isOver: () => boolean) {
    this.#scope = scope;
    this.#isOver = isOver;
  }

  /** Counts steps. @returns whether a {@link rest} is due */
  takes(steps: number): boolean {
    this.#steps += steps;
    return this.#steps >= STEPS_BETWEEN;
  }

  /** @throws TimeIsUp, and as the call's scope does */
  *rest(): Io<void> {
    this.#steps = 0;
    yield* this.#scope.breathe();
    if (this.#isOver()) throw new TimeIsUp();
  }
}
