import { unlessAborted } from "../review/approval.js";

/** Serialises the changes to each key in order of arrival. */
export class Turns {
  readonly #last = new Map<string, Promise<unknown>>();

  /** @param signal cancels the wait, not work that has begun @throws ABORTED */
  run<T>(key: string, work: () => Promise<T>, signal?: AbortSignal): Promise<T> {
    const before = this.#last.get(key) ?? Promise.resolve();
    const turn = (signal === undefined ? before : unlessAborted(before, signal)).then(work);
    // Later work also waits for the predecessors of a turn that was aborted.
    const settled = Promise.allSettled([before, turn]);
    this.#last.set(key, settled);
    void settled.then(() => {
      if (this.#last.get(key) === settled) this.#last.delete(key);
    });
    return turn;
  }
}
