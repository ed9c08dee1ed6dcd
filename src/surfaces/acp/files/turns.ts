import { unlessAborted } from "../review/approval.js";

/** Lets one change of a path end before the next begins, in the order in which they came. */
export class Turns {
  readonly #last = new Map<string, Promise<unknown>>();

  /** @param signal ends the wait for a turn, and nothing that has begun @throws ABORTED */
  run<T>(key: string, work: () => Promise<T>, signal?: AbortSignal): Promise<T> {
    const before = this.#last.get(key) ?? Promise.resolve();
    const turn = (signal === undefined ? before : unlessAborted(before, signal)).then(work);
    // Whoever comes next also waits for those before one that has given up.
    const settled = Promise.allSettled([before, turn]);
    this.#last.set(key, settled);
    void settled.then(() => {
      if (this.#last.get(key) === settled) this.#last.delete(key);
    });
    return turn;
  }
}
