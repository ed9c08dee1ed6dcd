// Watches a place in a root for changes that others make.
//
// A directory is watched before it is listed, so nothing is missed in between. Events only say where to look: every name
// is looked up again from the root down, so what is reported is what the root holds, whatever was moved meanwhile.

import { type Awaitable, type Io, isPending, runIo } from "../../../core/io.js";
import type { Observation, ObservedPlace, Observer, SeenChange } from "../../../core/ports/changes/observer.js";
import { entryPath, type Pinned } from "../../../jail/handles.js";
import type { Jail } from "../../../jail/jail.js";
import type { Stat } from "../../../jail/stat.js";
import { quietly } from "../../../jail/sys.js";
import { watchDirectory } from "../../../jail/watch.js";
import { Polling } from "./polling.js";
import {
  Breath,
  inDirectory,
  isSameDirectory,
  keyOf,
  storedPath,
  WatchedDirectories,
  type WatchedDirectory,
} from "./watched-directories.js";

/** Events are collected for so long: several come with each change, and those of the venue's own are known by then. */
const COLLECT_MS = 40;
/** A name that changes while the venue itself changes something is looked at so often before it is reported. */
const MAX_LOOKS = 8;
/** More events than this at once may be all that the kernel kept, with others lost. */
const MAX_EVENTS = 16_000;
/** How long the event loop may be blocked, in milliseconds. */
const BREATH_MS = 10;

export class TreeObservation implements Observation {
  readonly #jail: () => Jail;
  readonly #place: ObservedPlace;
  readonly #observer: Observer;
  readonly #directories: WatchedDirectories;
  readonly #polling: Polling;
  readonly #dirty = new Set<WatchedDirectory>();
  /** How often a name was looked at without a report. */
  readonly #looks = new Map<string, number>();
  readonly #breath = new Breath(BREATH_MS);
  readonly #onClosed: () => void;
  /** Ends of looks whose finds are not told yet. */
  #ends: (() => void)[] = [];
  #events = 0;
  #timer: NodeJS.Timeout | undefined;
  #isClosed = false;
  /** The steps that run, one after the other. */
  #running: Awaitable<void>;

  /** @param parts.watch watches one directory; what it refuses is polled */
  constructor(
    jail: () => Jail,
    place: ObservedPlace,
    parts: { observer: Observer; onClosed: () => void; watch?: typeof watchDirectory },
  ) {
    this.#jail = jail;
    this.#place = place;
    this.#observer = parts.observer;
    this.#onClosed = parts.onClosed;
    this.#polling = new Polling({
      jail,
      found: (directory, names) => this.#touch(directory, names),
      beginLook: () => this.#beginLook(),
      next: (step) => this.#run(step),
    });
    this.#directories = new WatchedDirectories({
      ...{ jail, observer: this.#observer, polling: this.#polling, watch: parts.watch ?? watchDirectory },
      touched: (directory, name) => this.#touch(directory, [name]),
      uncovered: (directory) => this.#dirty.delete(directory),
    });
    this.#running = this.#start(() => this.#coverPlace());
  }

  get ready(): Awaitable<void> {
    return this.#running;
  }

  get isComplete(): boolean {
    return this.#polling.isComplete;
  }

  get isPolled(): boolean {
    return !this.#polling.isEmpty;
  }

  /** The directory of the root is another one now. */
  restart(): void {
    if (this.#isClosed) return;
    this.#forget();
    this.#observer.lost();
    this.#run(() => this.#coverPlace());
  }

  close(): void {
    if (this.#isClosed) return;
    this.#isClosed = true;
    this.#forget();
    this.#onClosed();
  }

  #forget(): void {
    clearTimeout(this.#timer);
    this.#timer = undefined;
    this.#polling.clear();
    this.#directories.clear();
    this.#dirty.clear();
    this.#ends = [];
    this.#looks.clear();
  }

  /** Runs a step behind those that run already. */
  #run(step: () => Io<void>): void {
    this.#running = isPending(this.#running) ? this.#running.then(() => this.#start(step)) : this.#start(step);
  }

  #start(step: () => Io<void>): Awaitable<void> {
    const jail = this.#jail();
    if (this.#isClosed || jail.isClosing) return undefined;
    const fail = () => this.#observer.lost();
    try {
      const done = runIo(step());
      if (!isPending(done)) return undefined;
      const settled = done.catch(fail);
      jail.trackBackground(settled);
      return settled;
    } catch {
      // No look at a directory throws this: after such a failure readers look for themselves.
      fail();
      return undefined;
    }
  }

  *#coverPlace(): Io<void> {
    const path = yield* storedPath(this.#jail(), this.#place.path);
    const name = path.at(-1);
    // The directory above shows a file, and entries that come or go at the place itself.
    if (name !== undefined) yield* this.#directories.cover(path.slice(0, -1), false, name);
    yield* this.#cover(path, false);
  }

  /** Covers a directory, and with `recursive` all below. @param isLoud what is found there is new */
  *#cover(top: readonly string[], isLoud: boolean): Io<void> {
    const waiting = [{ path: top, isLoud }];
    for (let next = waiting.pop(); next !== undefined; next = waiting.pop()) {
      if (this.#isClosed) return;
      for (const { name, type, stat } of yield* this.#directories.cover(next.path, next.isLoud)) {
        const path = [...next.path, name];
        const isNew = next.isLoud && stat !== undefined;
        const state = isNew && this.#tell({ type: "created", path, entryType: type, version: stat.version });
        if (type === "directory") waiting.push({ path, isLoud: next.isLoud && state !== "tree" });
      }
      yield* this.#breath.take();
      if (!this.#place.recursive) return;
    }
  }

  #touch(directory: WatchedDirectory, names: Iterable<string>): void {
    if (this.#isClosed) return;
    this.#events += 1;
    for (const name of names) if (name !== ".") directory.touched.add(name);
    this.#dirty.add(directory);
    this.#timer ??= setTimeout(() => this.#flush(), COLLECT_MS).unref();
  }

  /** A look has ended once what it has found is told. */
  #beginLook(): () => void {
    const end = this.#observer.beginLook();
    return () => {
      if (this.#dirty.size === 0) end();
      else this.#ends.push(end);
    };
  }

  #flush(): void {
    this.#timer = undefined;
    const isTooMuch = this.#events >= MAX_EVENTS;
    this.#events = 0;
    if (isTooMuch) this.restart();
    else this.#run(() => this.#lookAtDirty());
  }

  *#lookAtDirty(): Io<void> {
    const dirty = [...this.#dirty];
    this.#dirty.clear();
    const ends = this.#ends.splice(0);
    for (const directory of dirty) {
      if (this.#isClosed) return;
      const found: (readonly string[])[] = [];
      yield* inDirectory(this.#jail(), directory.path, (pinned) => this.#lookIn(pinned, directory, found));
      for (const path of found) yield* this.#cover(path, true);
    }
    for (const end of ends) end();
  }

  /** @param found takes the directories that have to be covered */
  *#lookIn(pinned: Pinned, directory: WatchedDirectory, found: (readonly string[])[]): Io<void> {
    if (directory.isDoubtful) yield* this.#directories.coverAgain(directory, pinned);
    const names = [...directory.touched];
    directory.touched.clear();
    // Another one has its name now, or it is covered no more: the directory above tells of that.
    const isCovered = this.#directories.get(directory.path, directory.only) === directory;
    if (!isCovered || !isSameDirectory(pinned, directory)) return;
    for (const name of names) {
      if (!this.#directories.matters(directory, name)) continue;
      const stat = yield* quietly(this.#jail().sys.lstat(entryPath(pinned, name)));
      if (this.#mustLookAgain(directory, name, stat)) continue;
      const made = stat === undefined ? this.#reportGone(directory, name) : this.#reportSeen(directory, name, stat);
      if (made !== undefined) found.push(made);
      yield* this.#breath.take();
    }
  }

  /** While the venue changes something, an unknown change may be its own: it is looked at again. */
  #mustLookAgain(directory: WatchedDirectory, name: string, stat: Stat | undefined): boolean {
    const path = [...directory.path, name];
    const key = keyOf(path);
    const looks = (this.#looks.get(key) ?? 0) + 1;
    const isOver = looks > MAX_LOOKS || !this.#observer.isBusy();
    if (isOver || this.#observer.knows(path, stat?.version ?? null) !== false) {
      this.#looks.delete(key);
      return false;
    }
    this.#looks.set(key, looks);
    this.#touch(directory, [name]);
    return true;
  }

  #reportGone(directory: WatchedDirectory, name: string): undefined {
    const known = directory.entries.get(name);
    if (known === undefined) return;
    const path = [...directory.path, name];
    directory.entries.delete(name);
    if (known.type === "directory") this.#directories.uncover(path);
    this.#tell({ type: "deleted", path, entryType: known.type, version: null });
  }

  /** @returns the path of a directory that has to be covered */
  #reportSeen(directory: WatchedDirectory, name: string, stat: Stat): readonly string[] | undefined {
    const path = [...directory.path, name];
    const type = stat.isDirectory() ? "directory" : "file";
    const known = directory.entries.get(name);
    const polled = directory.watch === undefined ? { version: stat.version } : {};
    if (known?.type === "file" && type === "file") {
      directory.entries.set(name, { type, ...polled });
      this.#tell({ type: "modified", path, entryType: type, version: stat.version });
      return undefined;
    }
    const covered = this.#directories.get(path);
    const isSame = known?.type === type && (covered === undefined || covered.identity === stat.identity);
    if (isSame) return undefined;
    if (known !== undefined) this.#reportGone(directory, name);
    directory.entries.set(name, { type, ...polled });
    const state = this.#tell({ type: "created", path, entryType: type, version: stat.version });
    const isPlace = directory.only !== undefined;
    if (type !== "directory" || !(this.#place.recursive || isPlace)) return undefined;
    if (state !== "tree") return path;
    this.#run(() => this.#cover(path, false));
    return undefined;
  }

  #tell(change: SeenChange): "tree" | boolean {
    const state = this.#observer.knows(change.path, change.version);
    if (state === false) this.#observer.changed(change);
    return state;
  }
}
