// Keeps a thread from being ended while it loads a native module, which would end the process with an abort.

const [FREE, LOADING, LOADED, FORBIDDEN] = [0, 1, 2, 3];
/** Loading takes some 10 ms. */
const MAX_WAIT_MS = 2000;

/** Shared by a thread and the one that started it. */
export class NativeLoading {
  readonly memory: SharedArrayBuffer;
  readonly #state: Int32Array;

  constructor(memory = new SharedArrayBuffer(Int32Array.BYTES_PER_ELEMENT)) {
    this.memory = memory;
    this.#state = new Int32Array(memory);
  }

  /** In the thread: loads, unless it is being ended. */
  load<T>(load: () => T): T | undefined {
    if (Atomics.compareExchange(this.#state, 0, FREE, LOADING) !== FREE) return undefined;
    try {
      return load();
    } finally {
      Atomics.store(this.#state, 0, LOADED);
      Atomics.notify(this.#state, 0);
    }
  }

  /** Before the thread is ended: waits until it has loaded; after this it loads nothing. Blocks this thread meanwhile. */
  forbid(): void {
    Atomics.compareExchange(this.#state, 0, FREE, FORBIDDEN);
    while (Atomics.wait(this.#state, 0, LOADING, MAX_WAIT_MS) === "ok");
  }
}
