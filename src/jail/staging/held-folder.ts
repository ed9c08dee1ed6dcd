// Folders inside the staging directory that stay open for a while, for changes that follow each other.

import type { Io } from "../../core/io.js";
import { type Pinned, release } from "../handles.js";

/** After this time (ms) a folder is looked for and judged again. */
const FRESH_MS = 1000;

/** A folder in use. */
export interface FolderUse {
  readonly directory: Pinned;
  release(): void;
}

export class HeldFolders {
  readonly #held = new Map<string, HeldFolder>();

  /** @param open looks for the folder @param isAnew even if one is open, since that seems to be gone */
  *use(name: string, open: () => Io<Pinned | undefined>, isAnew: boolean): Io<FolderUse | undefined> {
    const held = this.#held.get(name);
    if (held?.isFresh === true && !isAnew) return held.use();
    this.retire(name);
    const directory = yield* open();
    if (directory === undefined) return undefined;
    const made = new HeldFolder(directory);
    const use = made.use();
    // A path, unlike a handle, may lead elsewhere by the next time; and another call may have opened the folder meanwhile.
    if (directory.fd < 0 || this.#held.has(name)) made.retire();
    else this.#hold(name, made);
    return use;
  }

  #hold(name: string, made: HeldFolder): void {
    this.#held.set(name, made);
    setTimeout(() => {
      if (this.#held.get(name) === made) this.retire(name);
    }, FRESH_MS).unref();
  }

  /** Closes a folder once nobody uses it. */
  retire(name: string): void {
    this.#held.get(name)?.retire();
    this.#held.delete(name);
  }
}

class HeldFolder {
  readonly #directory: Pinned;
  readonly #openedMs = performance.now();
  #users = 0;
  #isRetired = false;

  constructor(directory: Pinned) {
    this.#directory = directory;
  }

  get isFresh(): boolean {
    return performance.now() - this.#openedMs < FRESH_MS;
  }

  use(): FolderUse {
    this.#users += 1;
    let isUsed = true;
    return {
      directory: this.#directory,
      release: () => {
        if (!isUsed) return;
        isUsed = false;
        this.#users -= 1;
        this.#closeUnused();
      },
    };
  }

  retire(): void {
    this.#isRetired = true;
    this.#closeUnused();
  }

  #closeUnused(): void {
    if (this.#isRetired && this.#users === 0) release(this.#directory);
  }
}
