// Usage and quota of one root.

import { type Place, quotaExceeded } from "../core/errors/texts.js";
import type { Quota, QuotaFacts } from "../core/file-config.js";

export interface Amount {
  readonly bytes: number;
  readonly files: number;
}

/** Quota reserved for a change. Call one of the two; calling again has no effect. */
export interface Held {
  keep(): void;
  undo(): void;
}

export class Usage {
  readonly limit: Quota;
  #used: { bytes: number; files: number } = { bytes: 0, files: 0 };
  #counting: Promise<void> | undefined;
  #isKnown = true;

  constructor(limit: Quota) {
    this.limit = limit;
  }

  /** Sets the initial usage. Changes wait until it is known. */
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
    // Waiting changes get the error; there may be none.
    this.#counting.catch(() => {});
  }

  /** Recounts after others may have changed the root. Changes made here meanwhile may be counted slightly wrong. */
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

  /** The count that a change must wait for; `undefined`: none. */
  get counting(): Promise<void> | undefined {
    return this.#counting;
  }

  /** The same usage under another limit. */
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

  /**
   * Reserves quota before a change is made, so that concurrent changes cannot exceed it together.
   * @throws QUOTA_EXCEEDED
   */
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
      // Freed quota becomes available only when the change has been made.
      keep: () => end({ bytes: Math.max(0, -amount.bytes), files: Math.max(0, -amount.files) }),
      undo: () => end(held),
    };
  }

  free({ bytes, files }: Amount): void {
    this.#used.bytes = Math.max(0, this.#used.bytes - bytes);
    this.#used.files = Math.max(0, this.#used.files - files);
  }
}
