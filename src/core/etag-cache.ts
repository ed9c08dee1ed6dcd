import type { Sha256 } from "./etag.js";

/** What is known of one file costs about this many bytes, so the whole stays below some 10 MB. */
const MAX_ENTRIES = 50_000;

/** Hashes of contents that have been seen whole, by the stamp of the file they were seen in. */
export class VersionCache {
  readonly #known = new Map<string, Sha256>();

  /** @param stamp as a backend gave it; `undefined`: the file may still change without showing it */
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
