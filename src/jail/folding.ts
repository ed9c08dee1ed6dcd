import { mkdirSync, opendirSync, rmdirSync } from "node:fs";
import { join } from "node:path";
import { RESERVED_NAME } from "../path/grammar.js";
import type { PinnedRoot } from "./handles.js";
import { foldsByType } from "./mounts.js";
import { statOfName, statOfOpen } from "./stat.js";

/** Names of the root that are looked at for one that has another case. */
const MOST_NAMES = 50;

/** Whether the file system of a root answers to other spellings of a name. */
export class Folding {
  readonly #top: PinnedRoot;
  #known: boolean | undefined;
  /** Of the root when nothing in it had a name to try. */
  #undecided: string | undefined;

  /**
   * @param realPath of the root, for the texts of errors
   * @param mayMake where the root holds no name to try, the staging directory is made for a moment
   * @throws system errors
   */
  constructor(top: PinnedRoot, realPath: string, mayMake: boolean) {
    this.#top = top;
    this.#known = foldsByType(realPath) ? true : foldsNames(realPath);
    if (this.#known === undefined && mayMake) this.#known = foldsOwnName(top.path);
  }

  /** Asked again as long as it could not be seen, whenever something has been put into the root. */
  get isOn(): boolean {
    if (this.#known !== undefined) return this.#known;
    const { fd, path } = this.#top;
    try {
      const version = (fd >= 0 ? statOfOpen(fd) : statOfName(path))?.version;
      if (version === this.#undecided) return false;
      this.#known = foldsNames(path);
      this.#undecided = version;
    } catch {
      // A root that cannot be read now is asked once more with the next call.
    }
    return this.#known ?? false;
  }
}

/** `undefined`: no name in the directory has letters of two cases. @throws system errors */
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

/** `undefined`: the directory may not be written to, or the name is somebody's by now. */
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
      // Another process prepares something in it by now.
    }
  }
}

/** Whether the other spelling is the same entry. The entries themselves: a link from one to the other proves nothing. */
function isOne(path: string, name: string): boolean {
  const other = statOfName(join(path, swapCase(name)));
  return other !== undefined && other.identity === statOfName(join(path, name))?.identity;
}

const swapCase = (name: string): string =>
  name.replace(/[a-zA-Z]/g, (letter) => (letter < "a" ? letter.toLowerCase() : letter.toUpperCase()));
