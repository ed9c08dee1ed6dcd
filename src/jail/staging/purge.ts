// Removes directory trees of any depth by handle.

import type { Dirent } from "node:fs";
import type { Io } from "../../core/io.js";
import { eachPiece, examine, rawName, typeOf } from "../directory.js";
import { below, entryPath, type Handles, type Pinned, release } from "../handles.js";
import { errnoOf, quietly, type Sys, succeeds } from "../sys.js";

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
/** Maximum levels emptied in place, where directories cannot be moved up; each level holds a descriptor. */
const MAX_DESCENT = 200;

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
    const directory = yield* quietly(tools.handles.enter(place.directory, next));
    if (directory === undefined || typeof directory === "string") {
      if (!(yield* succeeds(tools.sys.unlink(path))) && (yield* isThere(tools, path))) left.push(next);
      continue;
    }
    let isGone = false;
    try {
      for (let round = 1; round <= ROUNDS; round++) {
        yield* emptying.empty(directory, 0);
        const large = directory.stat.size > LARGE_BYTES;
        isGone = yield* succeeds(large ? tools.sys.rmdirLarge(path) : tools.sys.rmdir(path));
        if (isGone) break;
      }
    } finally {
      release(directory);
    }
    if (!isGone && (yield* isThere(tools, path))) left.push(next);
  }
  return left;
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

/** Empties directories. */
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

  *empty(directory: Pinned, depth: number): Io<void> {
    const { sys } = this.#tools;
    // It is already unreachable for others, so its permissions need not protect it from removal.
    if ((directory.stat.mode & 0o700) !== 0o700) yield* quietly(sys.chmod(directory.path, 0o700));
    yield* quietly(eachPiece(sys, directory, (entries) => this.#remove(directory, entries, depth)));
  }

  *#remove(directory: Pinned, entries: readonly Dirent[], depth: number): Io<void> {
    const { sys } = this.#tools;
    for (const entry of entries) {
      // Let other calls run. The purge itself is past its commit and continues.
      if (++this.#steps % BREATH_STEPS === 0) yield new Promise((resolve) => setImmediate(resolve));
      const name = rawName(entry);
      const path = entryPath(directory, name);
      if (!(yield* this.#isDirectory(directory, entry))) yield* quietly(sys.unlink(path));
      else if (!(yield* succeeds(sys.rmdir(path)))) yield* this.#removeDirectory(directory, name, depth);
      this.#tools.progress?.(this.#steps);
    }
  }

  *#isDirectory(directory: Pinned, entry: Dirent): Io<boolean> {
    const type = typeOf(entry);
    if (type !== undefined) return type === "directory";
    const stat = yield* examine(this.#tools.sys, directory, { name: "", raw: rawName(entry), type });
    return stat?.isDirectory() === true;
  }

  /** Removes a non-empty subdirectory: moves it up, or empties it in place. */
  *#removeDirectory(parent: Pinned, name: string | Buffer, depth: number): Io<void> {
    let code = yield* this.#moveUp(parent, name);
    // A directory without write permission can only be moved after a chmod.
    if ((code === "EACCES" || code === "EPERM") && (yield* this.#unlock(parent, name))) {
      code = yield* this.#moveUp(parent, name);
    }
    // Some layered file systems refuse to move entries of a lower layer. A mount point fails with EBUSY and stays.
    if (code === "EXDEV" && depth < MAX_DESCENT) yield* this.#descend(parent, name, depth);
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
    const child = yield* quietly(this.#tools.handles.enter(parent, name));
    if (child === undefined || typeof child === "string") return false;
    try {
      return yield* succeeds(this.#tools.sys.chmod(child.path, 0o700));
    } finally {
      release(child);
    }
  }

  *#descend(parent: Pinned, name: string | Buffer, depth: number): Io<void> {
    const child = yield* quietly(this.#tools.handles.enter(parent, name));
    if (child === undefined || typeof child === "string") return;
    try {
      if (child.stat.device !== parent.stat.device) return;
      yield* this.empty(child, depth + 1);
    } finally {
      release(child);
    }
    yield* quietly(this.#tools.sys.rmdir(entryPath(parent, name)));
  }
}
