import { setImmediate } from "node:timers/promises";

/** Requests that are kept back before no more are read. */
const MOST_WAITING = 64;

export interface IntakeRules<Request> {
  /** Whether another request may begin now. */
  isOpen(): boolean;
  deliver(request: Request): void;
}

/**
 * Lets the requests of one client begin while what it is answered goes out: one that asks and never reads is not served
 * ahead. In one turn of the event loop only one begins, so that what it takes is known before the next.
 */
export class Intake<Request> {
  readonly #rules: IntakeRules<Request>;
  #waiting: Request[] = [];
  #hasBegun = false;

  constructor(rules: IntakeRules<Request>) {
    this.#rules = rules;
  }

  /** Whether so many wait that no more should be read. */
  get isFull(): boolean {
    return this.#waiting.length >= MOST_WAITING;
  }

  push(request: Request): void {
    this.#waiting.push(request);
    this.go();
  }

  /** Forgets requests that have not begun. */
  drop(isMeant: (request: Request) => boolean): boolean {
    const kept = this.#waiting.filter((request) => !isMeant(request));
    const hasDropped = kept.length < this.#waiting.length;
    this.#waiting = kept;
    return hasDropped;
  }

  /** Lets all that waits begin, unless it would have to wait longer. */
  async finish(): Promise<void> {
    do await setImmediate();
    while (this.#waiting.length > 0 && this.#rules.isOpen());
  }

  /** To be called when it may be open again. */
  go(): void {
    if (this.#hasBegun || this.#waiting.length === 0 || !this.#rules.isOpen()) return;
    const [next, ...rest] = this.#waiting;
    this.#waiting = rest;
    this.#hasBegun = true;
    void setImmediate().then(() => {
      this.#hasBegun = false;
      this.go();
    });
    this.#rules.deliver(next as Request);
  }
}
