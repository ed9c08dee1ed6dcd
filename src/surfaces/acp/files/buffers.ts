// The open editor buffers of a session and when they take precedence over the file.

/** Unsaved text in an editor. */
export interface Buffered {
  readonly text: string;
  /** Hash of the file when the buffer was opened or last saved; `null`: the file did not exist. */
  readonly baseHash: string | null;
  /** Incremented on every change. */
  readonly version: number;
  /** The text differs from the file. */
  readonly dirty: boolean;
}

/** Text to show instead of the file; `undefined`: show the file. `conflict`: buffer and file have both changed. */
export type Shown = { readonly text: string; readonly conflict: boolean } | undefined;

/** The open buffers of one session, by file key (root and real path). */
export class Buffers {
  readonly #open = new Map<string, Buffered>();

  get isEmpty(): boolean {
    return this.#open.size === 0;
  }

  get(key: string): Buffered | undefined {
    return this.#open.get(key);
  }

  open(key: string, text: string, { baseHash, dirty }: Pick<Buffered, "baseHash" | "dirty">): void {
    this.#open.set(key, { text, baseHash, dirty, version: (this.#open.get(key)?.version ?? 0) + 1 });
  }

  /** @returns whether a buffer is open for the key */
  change(key: string, text: string): boolean {
    const found = this.#open.get(key);
    if (found !== undefined) this.#open.set(key, { ...found, text, dirty: true, version: found.version + 1 });
    return found !== undefined;
  }

  /** Records that the text has been saved. */
  saved(key: string, text: string, hash: string): void {
    const found = this.#open.get(key);
    if (found !== undefined) this.#open.set(key, { text, baseHash: hash, dirty: false, version: found.version + 1 });
  }

  restore(key: string, buffer: Buffered): void {
    this.#open.set(key, buffer);
  }

  close(key: string): void {
    this.#open.delete(key);
  }

  /**
   * Decides between buffer and file. A clean buffer is closed when the file has changed.
   * @param hash of the file; `null`: it does not exist
   */
  shown(key: string, hash: string | null): Shown {
    const found = this.#open.get(key);
    if (found === undefined) return undefined;
    const hasChanged = found.baseHash !== hash;
    if (!hasChanged || found.dirty) return { text: found.text, conflict: hasChanged };
    this.#open.delete(key);
    return undefined;
  }
}
