/** Unsaved text of an editor. */
export interface Buffered {
  readonly text: string;
  /** Hash of the file when it was opened or saved last; `null`: there was none. */
  readonly baseHash: string | null;
  /** Counts the changes. */
  readonly version: number;
  /** The text is not on disk. */
  readonly dirty: boolean;
}

/** What of a buffer is shown, given what is on disk. `conflict`: both have changed. */
export type Shown = { readonly text: string; readonly conflict: boolean } | undefined;

/** The open buffers of one session, by root and real path. */
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

  /** @returns whether there is one */
  change(key: string, text: string): boolean {
    const found = this.#open.get(key);
    if (found !== undefined) this.#open.set(key, { ...found, text, dirty: true, version: found.version + 1 });
    return found !== undefined;
  }

  /** The text is on disk now. */
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

  /** A buffer without changes of its own goes when the disk has others. @param hash of the file; `null`: there is none */
  shown(key: string, hash: string | null): Shown {
    const found = this.#open.get(key);
    if (found === undefined) return undefined;
    const hasChanged = found.baseHash !== hash;
    if (!hasChanged || found.dirty) return { text: found.text, conflict: hasChanged };
    this.#open.delete(key);
    return undefined;
  }
}
