import type { CallTerms } from "../../core/call/terms.js";

/** The files of one instance that its tools do not change. The flag is the instance's own: nothing on the disk knows it. */
export class ReadonlyFiles {
  readonly #paths = new Set<string>();
  /** How many names of a path of the root stand before the session's root. */
  readonly depth: number;

  constructor(depth: number) {
    this.depth = depth;
  }

  /** @param path a session path */
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

  /** What keeps an operation from them, and from a directory that holds one. */
  get terms(): Pick<CallTerms, "isProtected"> {
    return { isProtected: (segments, operation) => this.#keeps(segments, operation === "delete") };
  }

  #keeps(segments: readonly string[], isDeleted: boolean): boolean {
    const path = `/${segments.slice(this.depth).join("/")}`;
    if (this.#paths.has(path)) return true;
    return isDeleted && [...this.#paths].some((kept) => kept.startsWith(`${path}/`));
  }
}
