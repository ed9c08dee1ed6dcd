// Caches content hashes by file version.

import type { Sha256 } from "./etag.js";
import { type GrowingHash, RecentContents } from "./recent-contents.js";

/** An entry takes about 200 bytes, which bounds the cache at about 10 MB. */
const MAX_ENTRIES = 50_000;

/** Cache of content hashes, keyed by root and file stamp; the least recently stored entry is evicted first. */
export class VersionCache {
  /** What was written last, for files that change too often for a stamp. */
  readonly recent: RecentContents;
  readonly #known = new Map<string, Sha256>();

  /** @param newHash begins a SHA-256 */
  constructor(newHash: () => GrowingHash) {
    this.recent = new RecentContents(newHash);
  }

  /** @param stamp from the backend; `undefined`: the file may still change without a new stamp, so nothing is cached */
  get(root: string, stamp: string | undefined): Sha256 | undefined {
    return stamp === undefined ? undefined : this.#known.get(keyOf(root, stamp));
  }

  put(root: string, stamp: string | undefined, sha256: Sha256): void {
    if (stamp === undefined) return;
    const key = keyOf(root, stamp);
    this.#known.delete(key);
    this.#known.set(key, sha256);
    if (this.#known.size <= MAX_ENTRIES) return;
    for (const oldest of this.#known.keys()) {
      this.#known.delete(oldest);
      return;
    }
  }
}

const keyOf = (root: string, stamp: string): string => `${root}/${stamp}`;
