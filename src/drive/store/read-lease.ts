// Buffers that cells are read into for immediate use.

/**
 * Taken along by a reader that copies what it needs from cells and then gives the buffers back, so that the next read
 * fills them again. Without it each read of a large file makes garbage of its size.
 */
export class ReadLease {
  #givers: (() => void)[] = [];

  /** @param giveBack called once, when nothing uses the buffer any more */
  add(giveBack: () => void): void {
    this.#givers.push(giveBack);
  }

  /** No cell read under the lease may be used afterwards. If it is never called, the buffers are garbage-collected. */
  release(): void {
    const givers = this.#givers;
    this.#givers = [];
    for (const giveBack of givers) giveBack();
  }
}
