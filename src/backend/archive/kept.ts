// Directories of archives that were looked into last.

import type { ArchiveDirectory } from "./directory.js";

const MAX_KEPT = 8;
const MAX_BYTES = 16_777_216;

export class KeptDirectories {
  readonly #kept = new Map<string, ArchiveDirectory>();

  /** @param key names the content of an archive */
  get(key: string): ArchiveDirectory | undefined {
    const found = this.#kept.get(key);
    if (found !== undefined) this.put(key, found);
    return found;
  }

  /** The one used longest ago is forgotten first; one that is too large at once. */
  put(key: string, directory: ArchiveDirectory): void {
    this.#kept.delete(key);
    this.#kept.set(key, directory);
    let bytes = [...this.#kept.values()].reduce((sum, { weight }) => sum + weight, 0);
    for (const [oldest, { weight }] of this.#kept) {
      if (this.#kept.size <= MAX_KEPT && bytes <= MAX_BYTES) return;
      this.#kept.delete(oldest);
      bytes -= weight;
    }
  }
}
