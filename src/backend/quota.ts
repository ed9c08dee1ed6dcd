import { type Place, quotaExceeded } from "../core/errors/texts.js";
import type { Quota } from "../core/file-config.js";
import type { QuotaFacts } from "../core/ports/operation.js";

/** So much of a root. */
export interface Amount {
  readonly bytes: number;
  readonly files: number;
}

/** What a change will add, or take away, once it is made. One of the two is to be called; more than once is harmless. */
export interface Held {
  keep(): void;
  undo(): void;
}

/** What the files of one root take, and what they may. */
export class Usage {
  readonly limit: Quota;
  #used: { bytes: number; files: number } = { bytes: 0, files: 0 };
  #counting: Promise<void> | undefined;
  #isKnown = true;

  constructor(limit: Quota) {
    this.limit = limit;
  }

  /** Counts what is there. Until it is known, changes wait. */
  count(counting: Promise<Amount>): void {
    this.#isKnown = false;
    this.#counting = counting.then(
      ({ bytes, files }) => {
        this.#used.bytes += bytes;
        this.#used.files += files;
        this.#isKnown = true;
        this.#counting = undefined;
      },
      (error: unknown) => {
        this.#counting = undefined;
        throw error;
      },
    );
    // Whoever waits is told; nobody may be waiting.
    this.#counting.catch(() => {});
  }

  /** Counts once more what others may have changed. What is being changed here meanwhile may be counted a little wrong. */
  recount(counting: Promise<Amount>): void {
    const before = this.#counting;
    this.count(
      (async () => {
        await before;
        const { bytes, files } = await counting;
        const { bytes: known, files: knownFiles } = this.#used;
        return { bytes: bytes - known, files: files - knownFiles };
      })(),
    );
  }

  /** What to wait for before a change; `undefined`: nothing. */
  get counting(): Promise<void> | undefined {
    return this.#counting;
  }

  /** The same use under another limit. */
  under(limit: Quota): Usage {
    const usage = new Usage(limit);
    usage.#used = this.#used;
    if (this.#counting !== undefined) usage.count(this.#counting.then(() => ({ bytes: 0, files: 0 })));
    return usage;
  }

  facts(): QuotaFacts {
    const { bytes, files } = this.#used;
    return { ...this.limit, ...(this.#isKnown ? { usedBytes: bytes, usedFiles: files } : {}) };
  }

  /** Holds room for a change before it is made, so that changes made together cannot pass the limit. @throws QUOTA_EXCEEDED */
  reserve(amount: Amount, place: Place): Held {
    const used = this.#used;
    for (const unit of ["bytes", "files"] as const) {
      const { [unit]: limit } = this.limit;
      const { [unit]: requested } = amount;
      if (limit === undefined || requested <= 0 || used[unit] + requested <= limit) continue;
      throw quotaExceeded(place, { used: used[unit], limit, requested, unit });
    }
    const held = { bytes: Math.max(0, amount.bytes), files: Math.max(0, amount.files) };
    used.bytes += held.bytes;
    used.files += held.files;
    let isOpen = true;
    const end = (by: Amount): void => {
      if (!isOpen) return;
      isOpen = false;
      this.free(by);
    };
    return {
      // What becomes free is so only once it is.
      keep: () => end({ bytes: Math.max(0, -amount.bytes), files: Math.max(0, -amount.files) }),
      undo: () => end(held),
    };
  }

  free({ bytes, files }: Amount): void {
    this.#used.bytes = Math.max(0, this.#used.bytes - bytes);
    this.#used.files = Math.max(0, this.#used.files - files);
  }
}
