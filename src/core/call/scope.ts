import type { Clock } from "../clock.js";
import { aborted, timedOut } from "../errors/texts.js";
import type { Io, WaitScope } from "../io.js";

/** How long one call may occupy the event loop before it lets others run. */
const BREATH_MS = 10;
/** Timers of Node fire at once when they are asked to wait longer than this. */
const LONGEST_TIMER_MS = 2_147_483_647;

/** How a call is stopped from outside. Its signal is made when it is asked for: most calls end without anybody listening. */
export interface Cancellation {
  readonly aborted: boolean;
  readonly signal: AbortSignal;
}

/**
 * The life of one call: its deadline, its cancellation, and its share of the event loop.
 *
 * A call is stopped only where it asks: {@link checkpoint} before a side effect, {@link breathe} in a loop. While it
 * waits for something slow, its caller is answered at the deadline; the work behind ends at its next checkpoint.
 * After {@link commit} the outcome is decided, so neither the deadline nor a cancellation turns it into an error.
 */
export class CallScope implements WaitScope {
  readonly #clock: Clock;
  readonly #timeoutMs: number;
  #deadline: number;
  readonly #cancellation: Cancellation | undefined;
  #breathedAt: number;
  #renewals = 0;
  #committed = false;
  /** What the caller has been answered while the work was still going on. */
  #answered: Error | undefined;

  constructor(options: { clock: Clock; timeoutMs: number; cancellation?: Cancellation | undefined }) {
    this.#clock = options.clock;
    this.#timeoutMs = options.timeoutMs;
    this.#breathedAt = options.clock.monotonicMs();
    this.#deadline = this.#breathedAt + options.timeoutMs;
    this.#cancellation = options.cancellation;
  }

  /** @throws ABORTED, TIMEOUT */
  checkpoint(): void {
    if (this.#committed) return;
    // A timer may be a little early: what the caller was told holds, whatever the clock says.
    if (this.#answered !== undefined) throw this.#answered;
    if (this.#cancellation?.aborted === true) throw aborted();
    if (this.#clock.monotonicMs() > this.#deadline) throw timedOut(this.#timeoutMs);
  }

  /** The point of no return: the next step is the side effect that decides the call. @throws ABORTED, TIMEOUT */
  commit(): void {
    this.checkpoint();
    this.#committed = true;
  }

  /** Gives the call its whole time again: something has moved of what is too long for one deadline. */
  renew(): void {
    this.#deadline = this.#clock.monotonicMs() + this.#timeoutMs;
    this.#renewals++;
  }

  /** What a call is told that ran out of time in another way than by its deadline. */
  timedOut(): Error {
    return timedOut(this.#timeoutMs);
  }

  /** Milliseconds until the deadline, never below 0. */
  remainingMs(): number {
    return Math.max(0, this.#deadline - this.#clock.monotonicMs());
  }

  /** A step of a long loop: lets other calls run now and then. @throws ABORTED, TIMEOUT */
  *breathe(): Io<void> {
    const now = this.#clock.monotonicMs();
    if (now - this.#breathedAt < BREATH_MS) return;
    yield new Promise<void>((resolve) => setImmediate(resolve));
    this.#breathedAt = this.#clock.monotonicMs();
    this.checkpoint();
  }

  /** Settles with `work`, or quietly at the deadline: for work that may go on behind an answer already decided. */
  async patience(work: Promise<unknown>): Promise<void> {
    let timer: NodeJS.Timeout | undefined;
    const deadline = new Promise<void>((resolve) => {
      timer = setTimeout(resolve, this.#timerMs());
    });
    try {
      await Promise.race([work, deadline]);
    } finally {
      clearTimeout(timer);
    }
  }

  race<T>(work: Promise<T>): Promise<T> {
    const signal = this.#cancellation?.signal;
    return new Promise<T>((resolve, reject) => {
      const settle = () => {
        clearTimeout(timer);
        signal?.removeEventListener("abort", onAbort);
      };
      const stop = (error: Error) => {
        if (this.#committed) return;
        this.#answered = error;
        settle();
        reject(error);
      };
      const onAbort = () => stop(aborted());
      let renewals = this.#renewals;
      const onTimer = () => {
        if (renewals === this.#renewals) {
          stop(timedOut(this.#timeoutMs));
          return;
        }
        renewals = this.#renewals;
        timer = setTimeout(onTimer, this.#timerMs());
      };
      let timer = setTimeout(onTimer, this.#timerMs());
      signal?.addEventListener("abort", onAbort, { once: true });
      if (signal?.aborted === true) onAbort();
      work.then(
        (value) => {
          settle();
          resolve(value);
        },
        (error) => {
          settle();
          reject(error);
        },
      );
    });
  }

  /** A moment after the deadline, so that the clock agrees that it has passed. */
  #timerMs(): number {
    return Math.min(this.remainingMs() + 1, LONGEST_TIMER_MS);
  }
}

/** What a signal means for a call. */
export const cancelledBy = (signal: AbortSignal | undefined): Cancellation | undefined =>
  signal === undefined
    ? undefined
    : {
        get aborted() {
          return signal.aborted;
        },
        signal,
      };
