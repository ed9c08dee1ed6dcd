// Bounds the calls that run at once. Streams and commands have gates of their own.

import type { CallScope } from "../core/call/scope.js";
import type { AnyOperation } from "../core/ports/operation.js";
import { deferred } from "../core/turns.js";

/** A FIFO semaphore: at most `max` calls run at once; the others wait in order, until their deadline. */
export class Gate {
  readonly #max: number;
  readonly #waiting: (() => void)[] = [];
  #running = 0;

  constructor(max: number) {
    this.#max = max;
  }

  /** @returns `undefined` if admitted at once, which avoids a promise @throws ABORTED, TIMEOUT while waiting */
  enter(scope: CallScope): Promise<void> | undefined {
    if (this.#running < this.#max) {
      this.#running++;
      return undefined;
    }
    return this.#wait(scope);
  }

  leave(): void {
    const next = this.#waiting.shift();
    if (next === undefined) this.#running--;
    else next();
  }

  async #wait(scope: CallScope): Promise<void> {
    const { promise: admitted, resolve: admit } = deferred();
    this.#waiting.push(admit);
    try {
      await scope.race(admitted);
    } catch (error) {
      const place = this.#waiting.indexOf(admit);
      // Admitted in the same moment: pass the slot to the next in line.
      if (place < 0) this.leave();
      else this.#waiting.splice(place, 1);
      throw error;
    }
  }
}

/** The gates of one adapter. Streams and commands, as slow as their client or process, must not block other calls. */
export class Gates {
  readonly #calls: Gate;
  readonly #streams: Gate;
  readonly #commands: Gate;
  /** Watches wait and do next to nothing. */
  readonly #watches = new Gate(Number.POSITIVE_INFINITY);

  /** @param shared gates that several adapters use together */
  constructor(max: number, shared: { readonly gate?: Gate; readonly streamGate?: Gate }) {
    this.#calls = shared.gate ?? new Gate(max);
    this.#streams = shared.streamGate ?? new Gate(max);
    this.#commands = new Gate(max);
  }

  of({ streams, runs, watches }: Pick<AnyOperation, "streams" | "runs" | "watches">): Gate {
    if (watches === true) return this.#watches;
    if (runs === true) return this.#commands;
    return streams === true ? this.#streams : this.#calls;
  }
}
