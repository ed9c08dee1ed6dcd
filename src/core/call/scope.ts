// The scope of one call: deadline, cancellation, commit and progress; work that ends with it.

import type { Clock } from "../clock.js";
import { aborted, timedOut } from "../errors/texts.js";
import { type Io, isPending, runIo, type WaitScope, yieldToLoop } from "../io.js";
import { settleWithin } from "../turns.js";
import type { ReportProgress } from "./progress.js";

/** How long one call may block the event loop before it yields, in milliseconds. */
const BREATH_MS = 10;
/** setTimeout's maximum delay (2^31 - 1 ms); longer delays fire immediately. */
const LONGEST_TIMER_MS = 2_147_483_647;

/** Cancellation of a call. The signal is created lazily, since most calls end without a listener. */
export interface Cancellation {
  readonly aborted: boolean;
  readonly signal: AbortSignal;
}

/**
 * Deadline and cancellation of one call, and its cooperation with other calls on the event loop.
 *
 * A call stops only at {@link checkpoint}, before a side effect, and at {@link breathe}, in a loop. While it waits for
 * something slow, its caller is answered at the deadline; the work itself ends at its next checkpoint.
 * After {@link commit} the outcome is decided: neither the deadline nor a cancellation turns it into an error.
 */
export class CallScope implements WaitScope {
  readonly #clock: Clock;
  #timeoutMs: number;
  #deadline: number;
  readonly #cancellation: Cancellation | undefined;
  /** Absent: progress is not reported. */
  readonly report: ReportProgress | undefined;
  #breathedAt: number;
  #renewals = 0;
  #committed = false;
  #made = false;
  /** The error the caller was answered with while the work was still running. */
  #answered: Error | undefined;

  constructor(options: {
    clock: Clock;
    timeoutMs: number;
    cancellation?: Cancellation | undefined;
    report?: ReportProgress | undefined;
  }) {
    this.#clock = options.clock;
    this.#timeoutMs = options.timeoutMs;
    this.#breathedAt = options.clock.monotonicMs();
    this.#deadline = this.#breathedAt + options.timeoutMs;
    this.#cancellation = options.cancellation;
    this.report = options.report;
  }

  /** `undefined`: nobody can cancel the call. */
  get signal(): AbortSignal | undefined {
    return this.#cancellation?.signal;
  }

  /** @throws ABORTED, TIMEOUT */
  checkpoint(): void {
    if (this.#committed) return;
    // A timer may fire slightly early; the error already returned to the caller stands regardless of the clock.
    if (this.#answered !== undefined) throw this.#answered;
    if (this.#cancellation?.aborted === true) throw aborted();
    if (this.#clock.monotonicMs() > this.#deadline) throw timedOut(this.#timeoutMs);
  }

  /** Marks the point of no return: the next step is the deciding side effect. @throws ABORTED, TIMEOUT */
  commit(): void {
    this.checkpoint();
    this.#committed = true;
  }

  /** The deciding side effect was refused: the call goes on in another way, which a deadline may still end. */
  retract(): void {
    this.#committed = false;
    this.#made = false;
  }

  /** The deciding side effect, if there was one, has happened: what fails from now on fails behind it. */
  settle(): void {
    this.#made = this.#committed;
  }

  get isMade(): boolean {
    return this.#made;
  }

  /** Whether the deciding side effect may have happened. */
  get isCommitted(): boolean {
    return this.#committed;
  }

  /** The operation may take so much longer than others. */
  extend(ms: number): void {
    this.#timeoutMs += ms;
    this.#deadline += ms;
  }

  /** Restarts the deadline after progress of a transfer that may take longer than one timeout. */
  renew(): void {
    this.#deadline = this.#clock.monotonicMs() + this.#timeoutMs;
    this.#renewals++;
  }

  /** The TIMEOUT error, for calls that run out of time by other means than the deadline. */
  timedOut(): Error {
    return timedOut(this.#timeoutMs);
  }

  /** Milliseconds until the deadline, never below 0. */
  remainingMs(): number {
    return Math.max(0, this.#deadline - this.#clock.monotonicMs());
  }

  /** Called in long loops: yields to the event loop when the call has blocked it too long. @throws ABORTED, TIMEOUT */
  *breathe(): Io<void> {
    const now = this.#clock.monotonicMs();
    if (now - this.#breathedAt < BREATH_MS) return;
    yield yieldToLoop();
    this.#breathedAt = this.#clock.monotonicMs();
    this.checkpoint();
  }

  /** {@link breathe} for code with promises. */
  async pause(): Promise<void> {
    const pause = runIo(this.breathe());
    if (isPending(pause)) await pause;
  }

  /** Settles with `work`, or resolves at the deadline: for work that may continue after the answer is decided. */
  patience(work: Promise<unknown>): Promise<void> {
    return settleWithin(work, this.#timerMs());
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

  /** One millisecond past the deadline, so that the clock has passed it too when the timer fires. */
  #timerMs(): number {
    return Math.min(this.remainingMs() + 1, LONGEST_TIMER_MS);
  }
}

/** Adapts an AbortSignal. */
export const cancelledBy = (signal: AbortSignal | undefined): Cancellation | undefined =>
  signal === undefined
    ? undefined
    : {
        get aborted() {
          return signal.aborted;
        },
        signal,
      };

export interface Abortable {
  readonly aborted: boolean;
  addEventListener(type: "abort", listener: () => void, options?: { readonly once?: boolean }): void;
  removeEventListener(type: "abort", listener: () => void): void;
}

/** As an `AbortController` and its signal, for one listener, at a twentieth of their cost: there is one for every call. */
export class Aborter implements Abortable {
  #aborted = false;
  #listener: (() => void) | undefined;

  get aborted(): boolean {
    return this.#aborted;
  }

  abort(): void {
    if (this.#aborted) return;
    this.#aborted = true;
    const listener = this.#listener;
    this.#listener = undefined;
    listener?.();
  }

  /** @throws if there is a listener already */
  addEventListener(_type: "abort", listener: () => void): void {
    if (this.#listener !== undefined) throw new Error("an aborter has one listener");
    this.#listener = listener;
  }

  removeEventListener(_type: "abort", listener: () => void): void {
    if (this.#listener === listener) this.#listener = undefined;
  }
}
