/** A failure may be over soon; one that lasts is asked about ever more rarely. */
const FIRST_PAUSE_MS = 1000;
const LONGEST_PAUSE_MS = 60_000;

/** Names that could not be removed, and when that is tried again. */
export class Leftovers {
  readonly #again: () => void;
  readonly #names = new Set<string>();
  #timer: NodeJS.Timeout | undefined;
  #pauseMs = FIRST_PAUSE_MS;

  /** @param again takes the names and removes them; what still stays it adds */
  constructor(again: () => void) {
    this.#again = again;
  }

  add(names: readonly string[]): void {
    for (const name of names) this.#names.add(name);
    if (this.#names.size === 0) this.#pauseMs = FIRST_PAUSE_MS;
    if (this.#names.size === 0 || this.#timer !== undefined) return;
    this.#timer = setTimeout(() => {
      this.#timer = undefined;
      this.#pauseMs = Math.min(2 * this.#pauseMs, LONGEST_PAUSE_MS);
      this.#again();
    }, this.#pauseMs);
    // Nobody waits for it: what stays is swept at a later start.
    this.#timer.unref();
  }

  /** All of them, which it forgets. */
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
