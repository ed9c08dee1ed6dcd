// One line a check, and their counts.

/** Reason why Wine cannot do something, by what it is. */
export type LeftOut = readonly (readonly [name: string, reason: string])[];

/** What takes longer says how long. */
const SLOW_MS = 2000;

export class Report {
  readonly #write: (line: string) => void;
  readonly #counts = { passed: 0, failed: 0, skipped: 0 };

  constructor(write: (line: string) => void) {
    this.#write = write;
  }

  /** Passes unless the work throws. */
  async check(name: string, work: () => unknown): Promise<void> {
    const start = performance.now();
    try {
      await work();
      const ms = Math.round(performance.now() - start);
      this.#tell("passed", ms < SLOW_MS ? name : `${name} (${ms} ms)`);
    } catch (error) {
      const text = error instanceof Error ? (error.stack ?? error.message) : String(error);
      this.#tell("failed", `${name}\n    ${text.replaceAll("\n", "\n    ")}`);
    }
  }

  skip(name: string, reason: string): void {
    this.#tell("skipped", `${name}: ${reason}`);
  }

  /** Takes over what a report of another process has written. */
  takeOver(text: string): void {
    let last: keyof typeof this.counts | undefined;
    for (const line of text.split("\n")) {
      const [, state, rest = ""] = /^(passed|failed|skipped) {2}(.*)$/.exec(line.trimEnd()) ?? [];
      last = state as typeof last;
      if (last !== undefined) this.#tell(last, rest);
      else if (line.trim() !== "" && !SUMMARY.test(line.trimEnd())) this.#write(line);
    }
  }

  get counts(): Readonly<Record<"passed" | "failed" | "skipped", number>> {
    return this.#counts;
  }

  get summary(): string {
    const { passed, failed, skipped } = this.#counts;
    return `${passed} passed, ${failed} failed, ${skipped} skipped`;
  }

  #tell(state: keyof typeof this.counts, text: string): void {
    this.#counts[state]++;
    this.#write(`${state}  ${text}`);
  }
}

/** The last line of a report. */
export const SUMMARY = /^\d+ passed, \d+ failed, \d+ skipped$/;
