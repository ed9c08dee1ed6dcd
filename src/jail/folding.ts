// Detects whether the file system of a root folds names (case, normalisation).

import { mkdirSync, opendirSync, rmdirSync } from "node:fs";
import { join } from "node:path";
import { RESERVED_NAME } from "../path/grammar.js";
import type { PinnedRoot } from "./handles.js";
import { foldsByType } from "./mounts.js";
import { statOfName, statOfOpen } from "./stat.js";

/** Maximum names of the root directory examined to find one with letters of both cases. */
const MOST_NAMES = 50;

/** Whether the file system of a root folds names. Decided by trying an existing name in another case. */
export class Folding {
  readonly #top: PinnedRoot;
  #known: boolean | undefined;
  /** Path of the root while no name in it allowed a decision. */
  #undecided: string | undefined;

  /**
   * @param realPath of the root, for error messages
   * @param mayMake create the staging directory for a moment if the root holds no usable name
   * @throws system errors
   */
  constructor(top: PinnedRoot, realPath: string, mayMake: boolean) {
    this.#top = top;
    this.#known = foldsByType(realPath) ? true : foldsNames(realPath);
    if (this.#known === undefined && mayMake) this.#known = foldsOwnName(top.path);
  }

  /** While undecided, tested again whenever something may have been added to the root. */
  get isOn(): boolean {
    if (this.#known !== undefined) return this.#known;
    const { fd, path } = this.#top;
    try {
      const version = (fd >= 0 ? statOfOpen(fd) : statOfName(path))?.version;
      if (version === this.#undecided) return false;
      this.#known = foldsNames(path);
      this.#undecided = version;
    } catch {
      // The root cannot be read now; the next call tries again.
    }
    return this.#known ?? false;
  }
}

/**
 * `undefined`: no name in the directory has letters.
 * @throws system errors
 */
function foldsNames(path: string): boolean | undefined {
  const directory = opendirSync(path);
  try {
    for (let count = 0; count < MOST_NAMES; count++) {
      const entry = directory.readSync();
      if (entry === null) break;
      if (swapCase(entry.name) !== entry.name) return isOne(path, entry.name);
    }
    return undefined;
  } finally {
    directory.closeSync();
  }
}

/** `undefined`: the directory is not writable, or the name has been taken meanwhile. */
function foldsOwnName(path: string): boolean | undefined {
  const own = join(path, RESERVED_NAME);
  try {
    mkdirSync(own, 0o700);
  } catch {
    return undefined;
  }
  try {
    return isOne(path, RESERVED_NAME);
  } finally {
    try {
      rmdirSync(own);
    } catch {
      // Another process is using it.
    }
  }
}

/**
 * Whether both spellings name the same entry. Compared without following links: a link to the other spelling proves
 * nothing.
 */
function isOne(path: string, name: string): boolean {
  const other = statOfName(join(path, swapCase(name)));
  return other !== undefined && other.identity === statOfName(join(path, name))?.identity;
}

const swapCase = (name: string): string =>
  name.replace(/[a-zA-Z]/g, (letter) => (letter < "a" ? letter.toLowerCase() : letter.toUpperCase()));
