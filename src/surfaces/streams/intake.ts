// A bounded queue of requests from one input stream.

import { setImmediate as turn } from "node:timers/promises";

/** Queued requests from which the surface stops reading input. */
const MAX_WAITING = 64;

export interface IntakeRules<Request> {
  /** Whether the next request may start now. */
  isOpen(): boolean;
  deliver(request: Request): void;
}

/**
 * Starts the requests of one client only while their answers are being read (backpressure): a client that sends
 * requests and reads no answers is not served ahead. At most one request starts per turn of the event loop, so that
 * its memory use is known before the next one starts.
 */
export class Intake<Request> {
  readonly #rules: IntakeRules<Request>;
  #waiting: Request[] = [];
  #hasBegun = false;

  constructor(rules: IntakeRules<Request>) {
    this.#rules = rules;
  }

  /** Whether the queue is so long that input should be paused. */
  get isFull(): boolean {
    return this.#waiting.length >= MAX_WAITING;
  }

  /** Whether another request begins within a turn. */
  get startsSoon(): boolean {
    return this.#waiting.length > 0 && this.#rules.isOpen();
  }

  push(request: Request): void {
    this.#waiting.push(request);
    this.startNext();
  }

  /** Removes queued requests that have not started. @returns whether there were any */
  drop(isMeant: (request: Request) => boolean): boolean {
    const kept = this.#waiting.filter((request) => !isMeant(request));
    const hasDropped = kept.length < this.#waiting.length;
    this.#waiting = kept;
    return hasDropped;
  }

  /** Starts queued requests at the end of input; those for which the rules are not open are left. */
  async finish(): Promise<void> {
    do await turn();
    while (this.#waiting.length > 0 && this.#rules.isOpen());
  }

  /** Starts the next request if the rules allow; to be called whenever they may have changed. */
  startNext(): void {
    if (this.#hasBegun || this.#waiting.length === 0 || !this.#rules.isOpen()) return;
    const [next, ...rest] = this.#waiting;
    this.#waiting = rest;
    this.#hasBegun = true;
    // By a callback: a promise for every request would cost more than the turn.
    setImmediate(() => {
      this.#hasBegun = false;
      this.startNext();
    });
    this.#rules.deliver(next as Request);
  }
}
