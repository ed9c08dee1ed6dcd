// A bounded queue of requests from one input stream.

import { setImmediate as turn } from "node:timers/promises";

/** Queued requests from which the surface stops reading input. */
const MAX_WAITING = 64;

/** Maximum requests that start in one turn, however soon they are answered: timers and other input must have theirs. */
const MAX_PER_TURN = 16;

export interface IntakeRules<Request> {
  /** Whether the next request may start now. */
  isOpen(): boolean;
  deliver(request: Request): void;
}

/**
 * Starts the requests of one client only while their answers are being read (backpressure): a client that sends
 * requests and reads no answers is not served ahead. A request starts when the one before it has been answered or a turn
 * of the event loop has passed: its memory use is known then.
 */
export class Intake<Request> {
  readonly #rules: IntakeRules<Request>;
  #waiting: Request[] = [];
  /** The request that started last, in this turn, and has not been answered. */
  #started: Request | undefined;
  /** Number of requests that started in this turn. */
  #count = 0;

  readonly #endTurn = (): void => {
    this.#started = undefined;
    this.#count = 0;
    this.startNext();
  };

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

  /** To be called when a request has been answered: the next may start in the same turn if it was the one that started last. */
  answered(isMeant: (request: Request) => boolean): void {
    if (this.#started !== undefined && isMeant(this.#started)) this.#started = undefined;
    this.startNext();
  }

  /** Starts the next request if the rules allow; to be called whenever they may have changed. */
  startNext(): void {
    const isFull = this.#started !== undefined || this.#count >= MAX_PER_TURN;
    if (isFull || this.#waiting.length === 0 || !this.#rules.isOpen()) return;
    const next = this.#waiting.shift() as Request;
    this.#started = next;
    // By a callback: a promise for every request would cost more than the turn.
    if (this.#count === 0) setImmediate(this.#endTurn);
    this.#count += 1;
    this.#rules.deliver(next);
  }
}
