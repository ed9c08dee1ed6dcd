// A directory that an observer watches, and how it is reached.

import type { Identity } from "../../../core/identity.js";
import { type Io, yieldToLoop } from "../../../core/io.js";
import { forEachPiece, isReachable, nameOf } from "../../../jail/directory.js";
import { entryPath, identity, type Pinned, release } from "../../../jail/handles.js";
import type { Jail } from "../../../jail/jail.js";
import type { Stat } from "../../../jail/stat.js";
import { errnoOf, quietly, type Sys } from "../../../jail/sys.js";
import type { DirectoryWatch } from "../../../jail/watch.js";

/** Last known state of an entry. */
export interface KnownEntry {
  readonly type: "file" | "directory";
  /** Of a file in a polled directory: `Stat.version`. */
  readonly version?: string;
}

export interface WatchedDirectory {
  /** Real segments below the root. */
  readonly path: readonly string[];
  readonly identity: Identity;
  /** Absent: the directory is polled. */
  watch?: DirectoryWatch | undefined;
  /** Something happened to the directory itself: it may be another one with the same number, unwatched. */
  isDoubtful: boolean;
  /** Names in it, as far as they matter. */
  readonly entries: Map<string, KnownEntry>;
  /** Names that changed since they were last looked at. */
  readonly touched: Set<string>;
  /** Only this name in it matters. */
  readonly only?: string | undefined;
}

/** Runs `work` in a directory of the root, reached anew without following links. @returns `undefined`: it is gone */
export function* inDirectory<T>(
  jail: Jail,
  path: readonly string[],
  work: (directory: Pinned) => Io<T>,
): Io<T | undefined> {
  let directory: Pinned = jail.top;
  try {
    for (const name of path) {
      const child = yield* jail.handles.enter(directory, name);
      if (typeof child === "string") return undefined;
      if (directory !== jail.top) release(directory);
      directory = child;
      if (!jail.crossDevice && child.stat.device !== jail.top.stat.device) return undefined;
    }
    return yield* work(directory);
  } catch (error) {
    // Taken away, or closed to this process, while it was looked at.
    if (errnoOf(error) === undefined) throw error;
    return undefined;
  } finally {
    if (directory !== jail.top) release(directory);
  }
}

/** An entry found in a directory. */
export interface FoundEntry {
  readonly name: string;
  readonly type: KnownEntry["type"];
  /** Present if it was asked for. */
  readonly stat?: Stat;
}

/** The entries of a directory that a path can reach. */
export function* entriesOf(
  sys: Sys,
  directory: Pinned,
  { top, matters, withStat }: { top: boolean; matters: (name: string) => boolean; withStat: boolean },
): Io<FoundEntry[]> {
  const found: FoundEntry[] = [];
  yield* forEachPiece(sys, directory, function* (entries) {
    for (const name of entries.map(nameOf)) {
      if (!matters(name.name) || !isReachable(name, top)) continue;
      const needsStat = withStat || name.type === undefined;
      const stat = needsStat ? yield* quietly(sys.lstat(entryPath(directory, name.raw))) : undefined;
      if (needsStat && stat === undefined) continue;
      const type = (stat?.type ?? name.type) === "directory" ? "directory" : "file";
      found.push({ name: name.name, type, ...(stat === undefined ? {} : { stat }) });
    }
  });
  return found;
}

/** Lets other calls have a turn now and then. */
export class Breath {
  readonly #everyMs: number;
  #since = performance.now();

  /** @param everyMs how long the event loop may be blocked */
  constructor(everyMs: number) {
    this.#everyMs = everyMs;
  }

  *take(): Io<void> {
    if (performance.now() - this.#since < this.#everyMs) return;
    yield yieldToLoop();
    this.#since = performance.now();
  }
}

export const isSameDirectory = (directory: Pinned, known: WatchedDirectory): boolean =>
  identity(directory) === known.identity;

/** Key of a directory among those that an observation watches. The directory above the place is watched beside itself, where it is part of another place. */
export const keyOf = (path: readonly string[], only?: string): string =>
  only === undefined ? path.join("/") : `${path.join("/")}//${only}`;
