// Waiting: work that runs one piece after the other per key, queues of several senders, waits that end early, signals between callers.

import { aborted } from "./errors/texts.js";

/** A mutex per key: work with the same key runs in order of arrival, with different keys concurrently. */
export class Turns {
  readonly #last = new Map<string, Promise<unknown>>();

  /**
   * Runs `work` after all earlier work of the key, even if that failed; at once if there is none and no signal.
   *
   * @param signal cancels the wait, not work that has begun
   * @throws ABORTED
   */
  run<T>(key: string, work: () => Promise<T>, signal?: AbortSignal): Promise<T> {
    const before = this.#last.get(key);
    const turn = before === undefined && signal === undefined ? work() : waitFor(before, signal).then(work);
    // Before whoever waits for the turn goes on: its next work of the key need not wait then.
    const forget = () => {
      if (this.#last.get(key) === settled) this.#last.delete(key);
    };
    // Later work also waits for the predecessors of a turn that was aborted.
    const settled: Promise<void> = (before === undefined ? turn : Promise.allSettled([before, turn])).then(
      forget,
      forget,
    );
    this.#last.set(key, settled);
    return turn;
  }

  /** Whether work of the key would begin at once. */
  isFree(key: string): boolean {
    return !this.#last.has(key);
  }
}

const waitFor = (before: Promise<unknown> = Promise.resolve(), signal?: AbortSignal): Promise<unknown> =>
  signal === undefined ? before : rejectOnAbort(before, signal);

/** @throws ABORTED as soon as `signal` aborts, without waiting for `work` */
export function rejectOnAbort<T>(work: Promise<T>, signal: AbortSignal): Promise<T> {
  return new Promise<T>((resolve, reject) => {
    const stop = () => reject(aborted());
    if (signal.aborted) {
      work.catch(() => {});
      stop();
      return;
    }
    signal.addEventListener("abort", stop, { once: true });
    work.then(resolve, reject).finally(() => signal.removeEventListener("abort", stop));
  });
}

/** A promise, and what resolves it (`Promise.withResolvers` is not in every supported Node). */
export function deferred(): { readonly promise: Promise<void>; readonly resolve: () => void } {
  let resolve: () => void = () => {};
  const promise = new Promise<void>((settle) => {
    resolve = settle;
  });
  return { promise, resolve };
}

/** Settles with `work`, or resolves after a time. */
export async function settleWithin(work: Promise<unknown>, ms: number): Promise<void> {
  let timer: NodeJS.Timeout | undefined;
  const late = new Promise<void>((resolve) => {
    timer = setTimeout(resolve, ms);
  });
  await Promise.race([work, late]).finally(() => clearTimeout(timer));
}

/** Counts what each caller holds at a time, up to a number. */
export class Holds {
  readonly #most: number;
  readonly #held = new Map<string, number>();

  constructor(most: number) {
    this.#most = most;
  }

  /** @returns ends it; `undefined`: the caller holds as many as it may */
  take(caller: string): (() => void) | undefined {
    const held = this.#held.get(caller) ?? 0;
    if (held >= this.#most) return undefined;
    this.#held.set(caller, held + 1);
    return () => {
      const left = (this.#held.get(caller) ?? 1) - 1;
      if (left === 0) this.#held.delete(caller);
      else this.#held.set(caller, left);
    };
  }
}

export class FairQueue<T> {
  /** Without empty lines; in the order in which they are served. */
  readonly #lines = new Map<string | undefined, T[]>();
  #size = 0;

  get size(): number {
    return this.#size;
  }

  push(sender: string | undefined, item: T): void {
    const line = this.#lines.get(sender);
    if (line === undefined) this.#lines.set(sender, [item]);
    else line.push(item);
    this.#size++;
  }

  /** Takes out the next item. @param mayGo passes over the senders for which it is false */
  take(mayGo: (sender: string | undefined) => boolean = () => true): T | undefined {
    for (const [sender, line] of this.#lines) {
      if (!mayGo(sender)) continue;
      const item = line.shift();
      this.#lines.delete(sender);
      if (line.length > 0) this.#lines.set(sender, line);
      this.#size--;
      return item;
    }
    return undefined;
  }

  /** @returns whether the item was still waiting */
  remove(sender: string | undefined, item: T): boolean {
    const line = this.#lines.get(sender) ?? [];
    const index = line.indexOf(item);
    if (index < 0) return false;
    line.splice(index, 1);
    if (line.length === 0) this.#lines.delete(sender);
    this.#size--;
    return true;
  }
}
