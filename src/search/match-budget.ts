// Keeps pattern matching from blocking the event loop, and from outlasting the time of its search.

import type { CallScope } from "../core/call/scope.js";
import type { Io } from "../core/io.js";

/** Matching steps between two checks of the clock: some hundred microseconds. */
const STEPS_BETWEEN = 100_000;

/** The time of a search ended in the middle of an entry. */
export class TimeIsUp extends Error {
  constructor() {
    super("the time of the search is up");
    this.name = "TimeIsUp";
  }
}

/** Counts matching steps, yields to other calls, and stops the matching when the time of the search is up. */
export class Pace {
  readonly #scope: Pick<CallScope, "breathe">;
  readonly #isOver: () => boolean;
  #steps = 0;

  /** @param isOver whether the time of the search is up */
  constructor(scope: Pick<CallScope, "breathe">, isOver: () => boolean) {
    this.#scope = scope;
    this.#isOver = isOver;
  }

  /** Counts steps. @returns whether a {@link rest} is due */
  takes(steps: number): boolean {
    this.#steps += steps;
    return this.#steps >= STEPS_BETWEEN;
  }

  /** Yields to other calls. @throws TimeIsUp; ABORTED, TIMEOUT of the call's scope */
  *rest(): Io<void> {
    this.#steps = 0;
    yield* this.#scope.breathe();
    if (this.#isOver()) throw new TimeIsUp();
  }
}
