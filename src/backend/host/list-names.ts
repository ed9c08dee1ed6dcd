// Keeps the sorted names of large directories for a while, so that later pages of a list need not read and sort them again.

import type { Name } from "../../jail/directory.js";

/** How long names serve later pages, in milliseconds from the first page on. */
const LIFETIME_MS = 30_000;
/** Approximate bytes kept for a root; a directory with more is read for each page. */
const MAX_BYTES = 33_554_432;
const MAX_LISTS = 64;
/** Approximate bytes of a name besides its characters. */
const NAME_BYTES = 96;

/** A directory as a caller saw it with the first page. */
export interface KeptNames {
  /** Sorted, without denied ones. */
  readonly names: readonly Name[];
  /** Number of denied names. */
  readonly denied: number;
  /** Entries of a page. */
  readonly limit: number;
}

interface Entry extends KeptNames {
  readonly bytes: number;
  readonly until: number;
}

/** Names by caller and directory; the oldest are dropped. */
export class ListNames {
  readonly #kept = new Map<string, Entry>();
  #bytes = 0;
  #sweep: NodeJS.Timeout | undefined;
  readonly #nowMs: () => number;

  constructor(nowMs: () => number = () => performance.now()) {
    this.#nowMs = nowMs;
  }

  get(caller: string, directory: string): KeptNames | undefined {
    this.#dropOld();
    return this.#kept.get(keyOf(caller, directory));
  }

  /** Takes the place of what was kept of the directory for this caller. */
  set(caller: string, directory: string, kept: KeptNames): void {
    const key = keyOf(caller, directory);
    this.#drop(key);
    const bytes = kept.names.reduce((sum, { name }) => sum + name.length + NAME_BYTES, 0);
    if (bytes > MAX_BYTES) return;
    this.#kept.set(key, { ...kept, bytes, until: this.#nowMs() + LIFETIME_MS });
    this.#bytes += bytes;
    this.#dropOld();
    this.#sweepLater();
  }

  delete(caller: string, directory: string): void {
    this.#drop(keyOf(caller, directory));
  }

  /** Frees the memory also where nobody lists again. */
  #sweepLater(): void {
    this.#sweep ??= setTimeout(() => {
      this.#sweep = undefined;
      this.#dropOld();
      if (this.#kept.size > 0) this.#sweepLater();
    }, LIFETIME_MS).unref();
  }

  #dropOld(): void {
    const now = this.#nowMs();
    for (const [key, { until }] of this.#kept) {
      if (until > now && this.#bytes <= MAX_BYTES && this.#kept.size <= MAX_LISTS) return;
      this.#drop(key);
    }
  }

  #drop(key: string): void {
    const entry = this.#kept.get(key);
    if (entry === undefined) return;
    this.#kept.delete(key);
    this.#bytes -= entry.bytes;
  }
}

const keyOf = (caller: string, directory: string): string => `${directory} ${caller}`;
