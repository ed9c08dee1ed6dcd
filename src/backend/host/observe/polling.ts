// Polls directories that cannot be watched, every two seconds and up to a bounded number of entries.

import { type Io, yieldToLoop } from "../../../core/io.js";
import type { Observer } from "../../../core/ports/changes/observer.js";
import { forEachPiece, isReachable, type Name, nameOf } from "../../../jail/directory.js";
import { entryPath, type Pinned } from "../../../jail/handles.js";
import type { Jail } from "../../../jail/jail.js";
import { quietly } from "../../../jail/sys.js";
import { inDirectory, isSameDirectory, type WatchedDirectory } from "./watched-directories.js";

const INTERVAL_MS = 2000;
/** Most entries that are looked at. */
const MAX_ENTRIES = 20_000;
/** A round is followed by a pause of this multiple of the time it took: 2 % of a core. */
const PAUSE = 49;
/** How long the event loop may be blocked, in milliseconds. */
const BREATH_MS = 5;

export interface PollingParts {
  readonly jail: () => Jail;
  /** Told of names that have to be looked at. */
  readonly found: (directory: WatchedDirectory, names: readonly string[]) => void;
  readonly beginLook: Observer["beginLook"];
  /** Runs a step in its turn. */
  readonly next: (step: () => Io<void>) => void;
}

export class Polling {
  readonly #parts: PollingParts;
  readonly #directories = new Set<WatchedDirectory>();
  #timer: NodeJS.Timeout | undefined;

  constructor(parts: PollingParts) {
    this.#parts = parts;
  }

  /** Whether every directory is looked at, in each round. */
  get isComplete(): boolean {
    let entries = 0;
    for (const directory of this.#directories) {
      if (entries > MAX_ENTRIES) return false;
      entries += directory.entries.size + 1;
    }
    return entries <= MAX_ENTRIES;
  }

  get isEmpty(): boolean {
    return this.#directories.size === 0;
  }

  add(directory: WatchedDirectory): void {
    this.#directories.add(directory);
    this.#timer ??= this.#schedule(INTERVAL_MS);
  }

  delete(directory: WatchedDirectory): void {
    this.#directories.delete(directory);
  }

  clear(): void {
    clearTimeout(this.#timer);
    this.#timer = undefined;
    this.#directories.clear();
  }

  #schedule(ms: number): NodeJS.Timeout {
    return setTimeout(() => this.#parts.next(() => this.#runRound()), ms).unref();
  }

  *#runRound(): Io<void> {
    this.#timer = undefined;
    const [began, directories] = [performance.now(), [...this.#directories]];
    const endLook = this.#parts.beginLook();
    let entries = 0;
    let busyMs = 0;
    let since = began;
    for (const directory of directories) {
      if (entries > MAX_ENTRIES) break;
      if (!this.#directories.has(directory)) continue;
      entries += directory.entries.size + 1;
      yield* inDirectory(this.#parts.jail(), directory.path, (pinned) => this.#compare(pinned, directory));
      if (performance.now() - since < BREATH_MS) continue;
      busyMs += performance.now() - since;
      yield yieldToLoop();
      since = performance.now();
    }
    busyMs += performance.now() - since;
    if (entries <= MAX_ENTRIES) endLook();
    if (this.#directories.size > 0)
      this.#timer = this.#schedule(Math.max(INTERVAL_MS - (performance.now() - began), busyMs * PAUSE));
  }

  /** Finds the names of which something else is there than is known. */
  *#compare(pinned: Pinned, directory: WatchedDirectory): Io<void> {
    if (!isSameDirectory(pinned, directory)) return;
    const { sys } = this.#parts.jail();
    const names: Name[] = [];
    yield* forEachPiece(sys, pinned, function* (entries) {
      for (const entry of entries) names.push(nameOf(entry));
    });
    const gone = new Set(directory.entries.keys());
    const changed: string[] = [];
    for (const name of names) {
      gone.delete(name.name);
      if (!isReachable(name, directory.path.length === 0)) continue;
      const known = directory.entries.get(name.name);
      if (known?.type === "directory" && name.type === "directory") continue;
      const stat = known === undefined ? undefined : yield* quietly(sys.lstat(entryPath(pinned, name.raw)));
      if (known === undefined || stat?.version !== known.version) changed.push(name.name);
    }
    const found = [...changed, ...gone];
    if (found.length > 0) this.#parts.found(directory, found);
  }
}
