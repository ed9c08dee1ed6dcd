// Detects whether the file system of a root folds names (case, normalisation), or a directory in it folds case of itself.

import { randomBytes } from "node:crypto";
import { mkdirSync, opendirSync, rmdirSync } from "node:fs";
import { join } from "node:path";
import { attempt, type Io } from "../core/io.js";
import type { SpellingRules } from "../core/ports/backend.js";
import { RESERVED_NAME, RESERVED_PREFIX } from "../path/grammar.js";
import { isOneEntry } from "./directory.js";
import { below, type Pinned, type PinnedRoot } from "./handles.js";
import { foldsByType } from "./mounts.js";
import { statOfName, statOfOpen } from "./stat.js";
import { errnoOf, quietly, type Sys } from "./sys.js";
import type { WalkOptions, WalkRoot } from "./walk/walk-options.js";

/** Maximum names of the root directory examined to find one with letters of both cases. */
const MAX_NAMES = 50;

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

  /**
   * Looks whether a directory below the root folds of itself, as one with ext4's attribute `F` does. From the first one
   * on the whole root counts as folding: more is denied then than has to be, and names are shown as they are stored.
   *
   * @param name in it, there or not
   * @param mayMake an empty directory is asked by one that is made in it for a moment
   */
  *lookAt(sys: Sys, directory: Pinned, { name, mayMake }: { name: string; mayMake: boolean }): Io<void> {
    if (this.isOn) return;
    if (yield* foldsHere(sys, directory, { name, mayMake })) this.#known = true;
  }
}

function* foldsHere(
  sys: Sys,
  directory: Pinned,
  { name, mayMake }: { readonly name: string; readonly mayMake: boolean },
): Io<boolean> {
  if ((yield* sys.lstat(below(directory, name))) !== undefined) return yield* isOneOf(sys, directory, name);
  const names = (yield* sys.names(directory)).map(({ name: other }) => other);
  const other = names.find((one) => ASCII.test(one) && swapCase(one) !== one);
  if (other !== undefined) return yield* isOneOf(sys, directory, other);
  return mayMake && (yield* foldsMade(sys, directory));
}

/** Whether the other spelling of a name that is there is the same entry, and no second one of the same file. */
function* isOneOf(sys: Sys, directory: Pinned, name: string): Io<boolean> {
  const swapped = swapCase(name);
  return swapped !== name && (yield* isOneEntry(sys, directory, name, swapped));
}

/** `false` where nothing can be made: then neither can what was asked about. */
function* foldsMade(sys: Sys, directory: Pinned): Io<boolean> {
  const name = `${RESERVED_PREFIX}${randomBytes(8).toString("hex")}`;
  try {
    yield* sys.mkdir(below(directory, name), 0o700);
  } catch (error) {
    if (errnoOf(error) === undefined) throw error;
    return false;
  }
  try {
    return yield* isOneOf(sys, directory, name);
  } finally {
    yield* quietly(sys.rmdir(below(directory, name)));
  }
}

const ASCII = /^[\x20-\x7e]+$/;

/**
 * `undefined`: no name in the directory has letters.
 * @throws system errors
 */
function foldsNames(path: string): boolean | undefined {
  const directory = opendirSync(path);
  try {
    for (let count = 0; count < MAX_NAMES; count++) {
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
    // Another process may be using it.
    attempt(() => rmdirSync(own));
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

const swapCase = (name: string): string => name.replace(/\p{L}/gu, otherCase);

function otherCase(letter: string): string {
  const other = letter === letter.toLowerCase() ? letter.toUpperCase() : letter.toLowerCase();
  return other.length === letter.length ? other : letter;
}

/** How far a walk has come. */
interface Position {
  readonly directory: Pinned;
  /** Real names down to the directory. */
  readonly names: readonly string[];
  readonly crossedLink: boolean;
}

/** Finds directories that fold case where another spelling of a name would be denied or protected. */
export class Spelling {
  readonly #root: WalkRoot;
  readonly #requested: readonly string[];
  readonly #rules: SpellingRules | undefined;
  readonly #mayMake: boolean;
  /** Whether the request itself names what is denied under another spelling. */
  readonly isDoubtful: boolean;

  constructor(
    root: WalkRoot,
    requested: readonly string[],
    { spellings, onlyTarget }: Pick<WalkOptions, "spellings" | "onlyTarget">,
  ) {
    this.#root = root;
    this.#requested = requested;
    this.#rules = spellings;
    // Only a call that may change something makes a directory to find out.
    this.#mayMake = onlyTarget !== true;
    this.isDoubtful = spellings?.isDoubtful(requested) === true;
  }

  /**
   * Called before the first of `names` is looked up in the directory, and for all of them if it is missing.
   *
   * @param requestedCount how many names of the request lead there; 0 inside a link
   * @throws DENIED_BY_POLICY
   */
  *check(at: Position, names: readonly [string, ...string[]], requestedCount: number): Io<void> {
    const rules = this.#rules;
    if (rules === undefined || !(this.isDoubtful || at.crossedLink)) return;
    const places = [[...at.names, ...names], this.#requested.slice(0, requestedCount)];
    const doubtful = places.filter((place) => rules.isDoubtful(place));
    if (doubtful.length === 0) return;
    yield* this.#root.detectFolding(at.directory, { name: names[0], mayMake: this.#mayMake });
    for (const place of doubtful) rules.require(place);
  }
}
