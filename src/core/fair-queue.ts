// A queue of several senders, none of which waits behind all that another has sent.

/** Senders take turns, the one that was served longest ago first; what one sends keeps its order. */
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
