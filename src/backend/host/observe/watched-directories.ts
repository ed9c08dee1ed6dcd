// The directories that an observation watches: covers, re-covers and lets go of them.

import type { Io } from "../../../core/io.js";
import type { Observer } from "../../../core/ports/changes/observer.js";
import { identity, type Pinned } from "../../../jail/handles.js";
import type { Jail } from "../../../jail/jail.js";
import type { watchDirectory } from "../../../jail/watch.js";
import { isReachableName, isReservedName } from "../../../path/grammar.js";
import type { Polling } from "./polling.js";
import {
  entriesOf,
  type FoundEntry,
  inDirectory,
  isSameDirectory,
  keyOf,
  type WatchedDirectory,
} from "./watched-directory.js";

export interface DirectoriesParts {
  readonly jail: () => Jail;
  readonly observer: Pick<Observer, "ignores">;
  readonly polling: Pick<Polling, "add" | "delete">;
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
   * @param options.withStat list with stats; so it is done anyway where the directory cannot be watched
   * @returns the entries; none if it is gone, covered already, or not to be covered
   */
  *cover(
    path: readonly string[],
    { withStat, only }: { readonly withStat: boolean; readonly only?: string | undefined },
  ): Io<readonly FoundEntry[]> {
    if (this.get(path, only) !== undefined || this.#parts.observer.ignores(path)) return [];
    const work = (directory: Pinned) => this.#begin(directory, { path, only, withStat });
    return (yield* inDirectory(this.#parts.jail(), path, work)) ?? [];
  }

  *#begin(
    directory: Pinned,
    { path, only, withStat }: { path: readonly string[]; only: string | undefined; withStat: boolean },
  ): Io<readonly FoundEntry[]> {
    const covered: WatchedDirectory = {
      ...{ path, identity: identity(directory), only, isDoubtful: false },
      ...{ entries: new Map(), touched: new Set() },
    };
    this.#directories.set(keyOf(path, only), covered);
    this.#watch(covered, directory);
    const isPolled = covered.watch === undefined;
    const entries = yield* this.#list(covered, directory, withStat || isPolled);
    for (const { name, type, stat } of entries) {
      covered.entries.set(name, isPolled && stat !== undefined ? { type, version: stat.version } : { type });
    }
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
    if (only !== undefined && name !== only) return false;
    const top = path.length === 0;
    const { jail, observer } = this.#parts;
    return isReachableName(name, top) && !isReservedName(name, jail().foldsCase) && !observer.ignores([...path, name]);
  }

  #watch(covered: WatchedDirectory, directory: Pinned): void {
    const { jail, polling, touched, watch } = this.#parts;
    const onEvent = (name: string) => {
      if (name === ".") covered.isDoubtful = true;
      touched(covered, name);
    };
    // On a network file system nothing tells of what other machines do.
    covered.watch = jail().sys.pooled ? undefined : watch(directory, onEvent);
    if (covered.watch === undefined) polling.add(covered);
  }

  #list(covered: WatchedDirectory, directory: Pinned, withStat: boolean): Io<FoundEntry[]> {
    const matters = (name: string) => this.matters(covered, name);
    return entriesOf(this.#parts.jail().sys, directory, { top: covered.path.length === 0, matters, withStat });
  }
}
