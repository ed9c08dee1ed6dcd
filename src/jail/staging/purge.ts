// Removes directory trees of any depth by handle.

import { type Io, yieldToLoop } from "../../core/io.js";
import { examine, forEachPiece, rawName } from "../directory.js";
import { below, entryPath, type Handles, type Pinned, release, statBelow, withPinned } from "../handles.js";
import type { DirectoryEntry } from "../native/entries.js";
import { errnoOf, quietly, type Sys, succeeds } from "../sys.js";
import { Descent } from "../walk/descent.js";

/** The directory in which entries are removed. Subdirectories are moved up into it under free names. */
export interface PurgePlace {
  readonly directory: Pinned;
  freeName(): string;
}

interface PurgeTools {
  readonly handles: Handles;
  readonly sys: Sys;
  /** Told how many entries are done, those that could not be removed included. */
  readonly progress?: ((entries: number) => void) | undefined;
}

/** Rounds of emptying a directory, since others may still add entries. */
const ROUNDS = 3;
/** Directories above this size (bytes) have held tens of thousands of names. */
const LARGE_BYTES = 1_048_576;
const BREATH_STEPS = 128;

/**
 * Removes one entry of any depth with few handles: subdirectories are moved up, then emptied in turn. Every step uses
 * handles and follows no link, so concurrent swaps cannot redirect it. Mount points are left alone. Never fails.
 * @returns names in the place that could not be removed
 */
export function* purge(tools: PurgeTools, place: PurgePlace, name: string): Io<string[]> {
  const waiting = [name];
  const left: string[] = [];
  const emptying = new Emptying(tools, place, waiting);
  for (let next = waiting.pop(); next !== undefined; next = waiting.pop()) {
    const path = below(place.directory, next);
    const directory = yield* quietly(enterDirectory(tools, place.directory, next));
    if (directory === undefined || typeof directory === "string") {
      if (!(yield* succeeds(tools.sys.unlinkLarge(path))) && (yield* isThere(tools, path))) left.push(next);
      continue;
    }
    let isGone = false;
    try {
      for (let round = 1; round <= ROUNDS && !isGone; round++) {
        isGone = yield* succeeds(emptying.emptyAndRemove(directory, path));
      }
    } finally {
      release(directory);
    }
    if (!isGone && (yield* isThere(tools, path))) left.push(next);
  }
  return left;
}

/** Looks before it enters: most entries are files, and an error takes Node longer than a stat. */
function* enterDirectory({ sys, handles }: PurgeTools, parent: Pinned, name: string): ReturnType<Handles["enter"]> {
  const stat = yield* statBelow(sys, parent, name);
  return stat?.isDirectory() === true ? yield* handles.enter(parent, name) : "not a directory";
}

/** True if it cannot be determined. */
function* isThere({ sys }: PurgeTools, path: string): Io<boolean> {
  try {
    return (yield* sys.lstat(path)) !== undefined;
  } catch (error) {
    if (errnoOf(error) === undefined) throw error;
    return true;
  }
}

class Emptying {
  readonly #tools: PurgeTools;
  readonly #place: PurgePlace;
  readonly #moved: string[];
  #steps = 0;

  /** @param moved receives the new names of subdirectories that are moved up */
  constructor(tools: PurgeTools, place: PurgePlace, moved: string[]) {
    this.#tools = tools;
    this.#place = place;
    this.#moved = moved;
  }

  /** Fails as long as others add entries, or a call on it fails. */
  *emptyAndRemove(directory: Pinned, path: string): Io<void> {
    const { sys } = this.#tools;
    yield* this.#empty(directory);
    yield* directory.stat.size > LARGE_BYTES ? sys.rmdirLarge(path) : sys.rmdir(path);
  }

  /** Some layered file systems refuse to move directories of a lower layer up. Such directories are emptied in place. */
  *#empty(start: Pinned): Io<void> {
    const descent = new Descent(this.#tools.handles, start);
    const levels = [{ name: "" as string | Buffer, unmoved: yield* this.#clear(start) }];
    try {
      for (let level = levels.at(-1); level !== undefined; level = levels.at(-1)) {
        const name = level.unmoved.pop();
        if (name !== undefined) {
          const unmoved = yield* this.#clearBelow(descent, name);
          if (unmoved !== undefined) levels.push({ name, unmoved });
          continue;
        }
        const left = yield* descent.leave();
        levels.length -= Math.max(1, left);
        // Where others moved a parent away, the next round looks again.
        if (left === 1) yield* quietly(this.#tools.sys.rmdir(entryPath(descent.directory, level.name)));
      }
    } finally {
      descent.close();
    }
  }

  /** Goes down into a subdirectory and clears it; `undefined` if it cannot be entered. A mount point stays. */
  *#clearBelow(descent: Descent, name: string | Buffer): Io<(string | Buffer)[] | undefined> {
    const parent = descent.directory;
    const child = yield* quietly(this.#tools.handles.enter(parent, name));
    if (child === undefined || typeof child === "string") return undefined;
    if (child.stat.device !== parent.stat.device) {
      release(child);
      return undefined;
    }
    descent.push(child, name);
    return yield* this.#clear(child);
  }

  /** Removes all entries that it can. @returns subdirectories that can only be emptied in place */
  *#clear(directory: Pinned): Io<(string | Buffer)[]> {
    const { sys } = this.#tools;
    const unmoved: (string | Buffer)[] = [];
    // The tree is unreachable for others already: its permissions need not protect it from removal.
    if ((directory.stat.mode & 0o700) !== 0o700) yield* quietly(sys.chmod(directory.path, 0o700));
    yield* quietly(forEachPiece(sys, directory, (entries) => this.#remove(directory, entries, unmoved)));
    return unmoved;
  }

  *#remove(directory: Pinned, entries: readonly DirectoryEntry[], unmoved: (string | Buffer)[]): Io<void> {
    const { sys } = this.#tools;
    for (const entry of entries) {
      // Let other calls run. The purge itself is past its commit and continues.
      if (++this.#steps % BREATH_STEPS === 0) yield yieldToLoop();
      const name = rawName(entry);
      const path = entryPath(directory, name);
      if (!(yield* this.#isDirectory(directory, entry))) yield* quietly(sys.unlink(path));
      else if (!(yield* succeeds(sys.rmdir(path))) && (yield* this.#isUnmovable(directory, name))) unmoved.push(name);
      this.#tools.progress?.(this.#steps);
    }
  }

  *#isDirectory(directory: Pinned, entry: DirectoryEntry): Io<boolean> {
    const { type } = entry;
    if (type !== undefined) return type === "directory";
    const stat = yield* examine(this.#tools.sys, directory, { name: "", raw: rawName(entry), type });
    return stat?.isDirectory() === true;
  }

  /** Moves a non-empty subdirectory up. @returns whether it can only be emptied in place */
  *#isUnmovable(parent: Pinned, name: string | Buffer): Io<boolean> {
    let code = yield* this.#moveUp(parent, name);
    // A directory without write permission can only be moved after a chmod.
    if ((code === "EACCES" || code === "EPERM") && (yield* this.#unlock(parent, name))) {
      code = yield* this.#moveUp(parent, name);
    }
    // A mount point fails with EBUSY and stays.
    return code === "EXDEV";
  }

  /** @returns the errno of a failure */
  *#moveUp(parent: Pinned, name: string | Buffer): Io<string | undefined> {
    const free = this.#place.freeName();
    try {
      yield* this.#tools.sys.rename(entryPath(parent, name), below(this.#place.directory, free));
      this.#moved.push(free);
      return undefined;
    } catch (error) {
      const code = errnoOf(error);
      if (code === undefined) throw error;
      return code;
    }
  }

  *#unlock(parent: Pinned, name: string | Buffer): Io<boolean> {
    const { handles, sys } = this.#tools;
    const entering = quietly(handles.enter(parent, name));
    return (yield* withPinned(entering, ({ path }) => succeeds(sys.chmod(path, 0o700)))) === true;
  }
}
