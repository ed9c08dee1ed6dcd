/**
 * Bytes of requests and answers that are held in memory at this moment. A bound on their sum keeps many large calls at
 * once, or clients that read slowly, from using up the memory of the process.
 */
export class InFlight {
  readonly #maxBytes: number;
  #bytes = 0;

  /** @param maxBytes bound on the sum; one request alone may always go over it */
  constructor(maxBytes: number) {
    this.#maxBytes = maxBytes;
  }

  get bytes(): number {
    return this.#bytes;
  }

  /** Whether there is room for a request of so many bytes. */
  admits(bytes: number): boolean {
    return this.#bytes === 0 || this.#bytes + bytes <= this.#maxBytes;
  }

  /** Counts bytes until the returned function is called; later calls of it do nothing. */
  hold(bytes: number): () => void {
    let held = bytes;
    this.#bytes += bytes;
    return () => {
      this.#bytes -= held;
      held = 0;
    };
  }
}
