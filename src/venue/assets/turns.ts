/**
 * A mutex per key: tasks with the same key run one after the other, in order; those with other keys run concurrently.
 */
export class Turns {
  readonly #last = new Map<string, Promise<unknown>>();

  async take<T>(key: string, task: () => Promise<T>): Promise<T> {
    const before = this.#last.get(key);
    const mine = (async () => {
      // A failure was reported to the previous caller; this task runs regardless.
      await before?.catch(() => {});
      return task();
    })();
    this.#last.set(key, mine);
    try {
      return await mine;
    } finally {
      if (this.#last.get(key) === mine) this.#last.delete(key);
    }
  }
}
