// The directories that an observation watches: covers, re-covers and lets go of them.

import type { Identity } from "../../../core/identity.js";
import { type Io, yieldToLoop } from "../../../core/io.js";
import type { Observer } from "../../../core/ports/changes/observer.js";
import { forEachPiece, isReachable, nameOf } from "../../../jail/directory.js";
import { enterBelow, entryPath, identity, type Pinned, release } from "../../../jail/handles.js";
import type { Jail } from "../../../jail/jail.js";
import type { Stat } from "../../../jail/stat.js";
import { quietly } from "../../../jail/sys.js";
import type { DirectoryWatch, watchDirectory } from "../../../jail/watch.js";
import { isReachableName, isReservedName, isWithin } from "../../../path/grammar.js";

export interface DirectoriesParts {
  readonly jail: () => Jail;
  readonly observer: Pick<Observer, "ignores" | "caller">;
  readonly polling: Readonly<Record<"add" | "delete", (directory: WatchedDirectory) => void>>;
  readonly watch: typeof watchDirectory;
  /** Told of a name in a watched directory to which something happened; `.`: to the directory itself. */
  readonly touched: (directory: WatchedDirectory, name: string) => void;
  readonly uncovered: (directory: WatchedDirectory) => void;
}

export class WatchedDirectories {
  readonly #parts: DirectoriesParts;
  readonly #directories = new Map<string, WatchedDirectory>();

  constructor(parts: DirectoriesParts) {
    this.#parts = parts;
  }

  get(path: readonly string[], only?: string): WatchedDirectory | undefined {
    return this.#directories.get(keyOf(path, only));
  }

  /**
   * Watches one directory, then lists it.
   *
   * @param withStat list with stats; so it is done anyway where the directory cannot be watched @param only this name in it
   * @returns the entries; none if it is gone, covered already, or not to be covered
   */
  *cover(path: readonly string[], withStat: boolean, only?: string): Io<readonly FoundEntry[]> {
    if (this.get(path, only) !== undefined || this.#parts.observer.ignores(path)) return [];
    const begin = (directory: Pinned) => this.#begin(directory, path, withStat, only);
    return (yield* inDirectory(this.#parts.jail(), path, begin)) ?? [];
  }

  *#begin(
    directory: Pinned,
    path: readonly string[],
    withStat: boolean,
    only: string | undefined,
  ): Io<readonly FoundEntry[]> {
    const covered: WatchedDirectory = {
      ...{ path, identity: identity(directory), only, isDoubtful: false },
      ...{ entries: new Map(), touched: new Set() },
    };
    this.#directories.set(keyOf(path, only), covered);
    this.#watch(covered, directory);
    const isPolled = covered.watch === undefined;
    const entries = yield* this.#list(covered, directory, withStat || isPolled);
    for (const { name, type, stat } of entries)
      covered.entries.set(name, { type, version: isPolled ? stat?.version : undefined });
    return entries;
  }

  /** Watches a directory anew that may be another one by the same number, and touches what changed in it meanwhile. */
  *coverAgain(covered: WatchedDirectory, directory: Pinned): Io<void> {
    covered.isDoubtful = false;
    if (!isSameDirectory(directory, covered)) return;
    covered.watch?.close();
    this.#watch(covered, directory);
    const gone = new Set(covered.entries.keys());
    for (const { name } of yield* this.#list(covered, directory, false)) {
      if (!gone.delete(name)) covered.touched.add(name);
    }
    for (const name of gone) covered.touched.add(name);
  }

  /** Lets go of a directory and of all below it. */
  uncover(path: readonly string[]): void {
    const key = keyOf(path);
    const directory = this.#directories.get(key);
    if (directory === undefined) return;
    this.#directories.delete(key);
    this.#parts.polling.delete(directory);
    this.#parts.uncovered(directory);
    directory.watch?.close();
    for (const [name, { type }] of directory.entries) if (type === "directory") this.uncover([...path, name]);
  }

  clear(): void {
    for (const { watch } of this.#directories.values()) watch?.close();
    this.#directories.clear();
  }

  /** Whether a name in a watched directory is one to report. */
  matters({ path, only }: WatchedDirectory, name: string): boolean {
    const top = path.length === 0;
    const { jail, observer } = this.#parts;
    const { foldsCase } = jail();
    if (only !== undefined && !isWithin([name], [only], foldsCase)) return false;
    return isReachableName(name, top) && !isReservedName(name, foldsCase) && !observer.ignores([...path, name]);
  }

  #watch(covered: WatchedDirectory, directory: Pinned): void {
    const { jail, observer, polling, touched, watch } = this.#parts;
    const onEvent = (name: string) => {
      if (name === ".") covered.isDoubtful = true;
      touched(covered, name);
    };
    // A network file system sends no events of changes by other machines.
    covered.watch = jail().sys.pooled ? undefined : watch(directory, onEvent, observer.caller);
    if (covered.watch === undefined) polling.add(covered);
  }

  /** The entries of a directory that a path can reach. */
  *#list(covered: WatchedDirectory, directory: Pinned, withStat: boolean): Io<FoundEntry[]> {
    const { sys } = this.#parts.jail();
    const matters = (name: string) => this.matters(covered, name);
    const top = covered.path.length === 0;
    const found: FoundEntry[] = [];
    yield* forEachPiece(sys, directory, function* (entries) {
      for (const name of entries.map(nameOf)) {
        if (!matters(name.name) || !isReachable(name, top)) continue;
        const needsStat = withStat || name.type === undefined;
        const stat = needsStat ? yield* quietly(sys.lstat(entryPath(directory, name.raw))) : undefined;
        if (needsStat && stat === undefined) continue;
        const type = (stat?.type ?? name.type) === "directory" ? "directory" : "file";
        found.push({ name: name.name, type, stat });
      }
    });
    return found;
  }
}

/** Last known state of an entry. */
export interface KnownEntry {
  readonly type: "file" | "directory";
  /** `Stat.version` of a file in a polled directory. */
  readonly version?: string | undefined;
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
  const { top, crossDevice } = jail;
  // Otherwise the directory was removed, or closed to this process, meanwhile.
  const directory = yield* quietly(enterBelow(jail, top, path));
  if (directory === undefined) return undefined;
  try {
    if (!crossDevice && directory.stat.device !== top.stat.device) return undefined;
    return yield* quietly(work(directory));
  } finally {
    if (directory !== top) release(directory);
  }
}

/** A path as it is spelled in a root that folds names, as far as it is there. */
export function* storedPath(jail: Jail, path: readonly string[]): Io<readonly string[]> {
  if (!jail.foldsCase) return path;
  const stored: string[] = [];
  for (const used of path) {
    const names = (yield* inDirectory(jail, stored, (directory) => jail.sys.names(directory))) ?? [];
    const alike = names.map((entry) => nameOf(entry).name).filter((name) => isWithin([name], [used], true));
    stored.push(alike.includes(used) ? used : (alike[0] ?? used));
  }
  return stored;
}

export interface FoundEntry {
  readonly name: string;
  readonly type: KnownEntry["type"];
  /** Present if it was asked for. */
  readonly stat: Stat | undefined;
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

/** Key of a watched directory. The directory above a place has a key of its own, since it may be part of another place too. */
export const keyOf = (path: readonly string[], only?: string): string =>
  only === undefined ? path.join("/") : `${path.join("/")}//${only}`;
