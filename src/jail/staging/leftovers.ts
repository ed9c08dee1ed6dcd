// Retries the removal of staged entries that could not be removed.

/** First delay before a retry, in ms; it doubles while the failure lasts. */
const FIRST_PAUSE_MS = 1000;
const LONGEST_PAUSE_MS = 60_000;

/** Names that could not be removed, and the timer for the next attempt. */
export class Leftovers {
  readonly #retry: () => void;
  readonly #names = new Set<string>();
  #timer: NodeJS.Timeout | undefined;
  #pauseMs = FIRST_PAUSE_MS;

  /** @param again calls {@link take} and removes those names; it adds back the ones that remain */
  constructor(again: () => void) {
    this.#retry = again;
  }

  add(names: readonly string[]): void {
    for (const name of names) this.#names.add(name);
    if (this.#names.size === 0) this.#pauseMs = FIRST_PAUSE_MS;
    if (this.#names.size === 0 || this.#timer !== undefined) return;
    this.#timer = setTimeout(() => {
      this.#timer = undefined;
      this.#pauseMs = Math.min(2 * this.#pauseMs, LONGEST_PAUSE_MS);
      this.#retry();
    }, this.#pauseMs);
    // Must not keep the process alive: what remains is swept at a later start.
    this.#timer.unref();
  }

  take(): string[] {
    const names = [...this.#names];
    this.#names.clear();
    return names;
  }

  stop(): void {
    clearTimeout(this.#timer);
    this.#timer = undefined;
  }
}
