/** Lets tasks of the same key run one after the other, in the order they came; those of other keys run beside them. */
export class Turns {
  readonly #last = new Map<string, Promise<unknown>>();

  async take<T>(key: string, task: () => Promise<T>): Promise<T> {
    const before = this.#last.get(key);
    const mine = (async () => {
      // Whoever was first has been told of a failure; the next one tries for itself.
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
