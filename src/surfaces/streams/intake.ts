// A bounded queue of requests from one input stream.

import { setImmediate as turn } from "node:timers/promises";
import { systemClock } from "../../core/clock.js";

/** Queued requests from which the surface stops reading input. */
const MAX_WAITING = 64;

/** How long after the first request of a turn others may start in it, in milliseconds: answers, timers and other input wait meanwhile. */
const TURN_MS = 1;

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
  /** From when on no more requests start in this turn, in milliseconds. `undefined`: none has started in it. */
  #untilMs: number | undefined;
  readonly #nowMs: () => number;

  readonly #endTurn = (): void => {
    this.#started = undefined;
    this.#untilMs = undefined;
    this.startNext();
  };

  constructor(rules: IntakeRules<Request>, nowMs = systemClock.monotonicMs) {
    this.#rules = rules;
    this.#nowMs = nowMs;
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
    if (this.#waiting.length === 0 || this.#started !== undefined || !this.#rules.isOpen()) return;
    const now = this.#nowMs();
    if (this.#untilMs === undefined) {
      this.#untilMs = now + TURN_MS;
      // By a callback: a promise for every request would cost more than the turn.
      setImmediate(this.#endTurn);
    } else if (now >= this.#untilMs) return;
    const next = this.#waiting.shift() as Request;
    this.#started = next;
    this.#rules.deliver(next);
  }
}
