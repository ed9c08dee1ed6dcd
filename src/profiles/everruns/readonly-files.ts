// Files that the tools of one session must not change.

import type { CallTerms } from "../../core/call/terms.js";

/** Files of one instance that its tools must not change. The flag is kept in memory only, not on disk. */
export class ReadonlyFiles {
  readonly #paths = new Set<string>();
  /** Number of segments between the root and the session's root. */
  readonly depth: number;

  constructor(depth: number) {
    this.depth = depth;
  }

  /** @param path session path */
  set(path: string, isReadonly: boolean): void {
    if (isReadonly) this.#paths.add(path);
    else this.#paths.delete(path);
  }

  get isEmpty(): boolean {
    return this.#paths.size === 0;
  }

  has(path: string): boolean {
    return this.#paths.has(path);
  }

  /** Protects these files, and keeps directories that contain one from being deleted. */
  get terms(): Pick<CallTerms, "isProtected"> {
    return { isProtected: (segments, operation) => this.#keeps(segments, operation === "delete") };
  }

  #keeps(segments: readonly string[], isDeleted: boolean): boolean {
    const path = `/${segments.slice(this.depth).join("/")}`;
    if (this.#paths.has(path)) return true;
    return isDeleted && [...this.#paths].some((kept) => kept.startsWith(`${path}/`));
  }
}
