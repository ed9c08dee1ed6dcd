// Takes a replaced file for the next content of the same file. On a disk, making a file, finding room for it and freeing the
// one before takes many times as long as writing a small one.

import type { Identity } from "../../core/identity.js";
import { type Awaitable, type Io, runIo } from "../../core/io.js";
import { below, identity, type NameIn, type Pinned, WRITE_NEW } from "../handles.js";
import { knowsOpeners } from "../mounts.js";
import type { Stat } from "../stat.js";
import { closeNow, quietly, type Sys } from "../sys.js";
import type { StagedFile, Staging } from "./staging.js";

/** Size (bytes) up to which a file is kept: what is written and read without the thread pool. */
const MAX_BYTES = 262_144;
/** Files whose last content is known to be of this process. */
const MAX_FILES = 64;
/** Time (ms) after which a file that has not been replaced again is forgotten, and its spare removed. */
const MAX_AGE_MS = 1000;
/** So many spares in a row that could not be used: here none can, because of attributes that every file has, for instance. */
const MAX_FAILURES = 8;
const ALL_BITS = 0o7777;
const RIGHTS = 0o777;

/** A replaced file, by its only name. */
interface Spare {
  readonly name: string;
  readonly identity: Identity;
  /** See {@link SpareFilesParts.quietTimes} when it was replaced. */
  readonly quietTimes: number;
}

/** For which content a spare is wanted. */
interface Wanted {
  readonly spare: Spare;
  /** What is to be replaced. */
  readonly old: Stat;
  /** Size of the new content. */
  readonly bytes: number;
}

/** A file that this process has put in place. */
interface Placed {
  readonly identity: Identity;
  /** Tells it from most later files with the same inode number. */
  readonly bornMs: number | undefined;
  readonly placedMs: number;
  /** What it replaced. */
  readonly spare: Spare | undefined;
}

/** A file that is to be replaced, where it has been found. */
export interface Replaced extends NameIn {
  readonly old: Pinned;
}

/** The root; `realPath` is canonical. */
interface SpareFilesRoot {
  readonly sys: Sys;
  readonly staging: Staging;
  readonly top: Pinned;
  readonly realPath: string;
}

interface SpareFilesParts {
  /** How often no call has been walking in this root. Who walks now began after the last time. */
  readonly quietTimes: () => number;
  /** Runs work that no call waits for. */
  readonly inBackground: (work: Awaitable<unknown>) => void;
}

/**
 * The spare files of one root. A spare is a file which this process made, put in place and then replaced; its only name is in
 * the staging directory. It is written to only while the kernel confirms that nobody has it open or mapped, and keeps all others
 * from opening it until its new content is complete. So whoever opens a file reads one content of it, as with a new file.
 */
export class SpareFiles {
  readonly #root: SpareFilesRoot;
  readonly #parts: SpareFilesParts;
  /** By folder and name: what takes the content of a file is never given to one in another place. */
  readonly #placed = new Map<string, Placed>();
  #isPossible: boolean | undefined;
  #failures = 0;
  #timer: NodeJS.Timeout | undefined;

  constructor(root: SpareFilesRoot, parts: SpareFilesParts) {
    this.#root = root;
    this.#parts = parts;
  }

  /**
   * A file for new content of `bytes` bytes. It may hold old content, of at most that size. `undefined`: make a new one.
   */
  *take(replaced: Replaced, bytes: number): Io<StagedFile | undefined> {
    // Writing nothing would not set the time of the change.
    if (this.#placed.size === 0 || bytes === 0 || bytes > MAX_BYTES) return undefined;
    const place = placeOf(replaced);
    const placed = this.#placedAt(place, replaced);
    if (placed?.spare === undefined || placed.spare.quietTimes === this.#parts.quietTimes()) return undefined;
    const { old, directory } = replaced;
    const { spare } = placed;
    this.#placed.set(place, { ...placed, spare: undefined });
    const stage = yield* this.#root.staging.hold(directory);
    const fd = yield* this.#open(stage.directory, { spare, old: old.stat, bytes });
    this.#failures = fd === undefined ? this.#failures + 1 : 0;
    if (fd !== undefined) return { fd, name: spare.name, path: below(stage.directory, spare.name), stage };
    yield* quietly(this.#root.sys.unlink(below(stage.directory, spare.name)));
    stage.release();
    return undefined;
  }

  /** What is known of the file; `undefined`: others have put another one there. */
  #placedAt(place: string, { old }: Replaced): Placed | undefined {
    const placed = this.#placed.get(place);
    return placed?.identity === identity(old) && placed.bornMs === old.stat.bornMs ? placed : undefined;
  }

  *#open(directory: Pinned, wanted: Wanted): Io<number | undefined> {
    const fd = this.#root.sys.native?.calls?.open(directory.fd, wanted.spare.name, WRITE_NEW);
    if (fd === undefined || (yield* quietly(this.#prepare(fd, wanted))) === true) return fd;
    closeNow(fd);
    return undefined;
  }

  /** @returns whether it may be written to */
  *#prepare(fd: number, { spare, old, bytes }: Wanted): Io<boolean> {
    const { sys } = this.#root;
    const calls = sys.native?.calls;
    if (calls?.claim(fd) !== true || calls.isPlain(fd) !== true) return false;
    const stat = yield* sys.fstat(fd);
    const isOnly = stat.identity === spare.identity && stat.isFile() && stat.nlink === 1;
    const hasRights = stat.uid === old.uid && stat.gid === old.gid && (stat.mode & ALL_BITS) === (old.mode & RIGHTS);
    if (!isOnly || !hasRights) return false;
    if (stat.size > bytes) yield* sys.ftruncate(fd, bytes);
    return true;
  }

  /**
   * Runs the commit that puts `placed` in the place of `old`, and keeps that one if this process made it.
   * @returns whether it is kept
   */
  *replace(file: StagedFile, replaced: Replaced & { readonly placed: Stat }, commit: Io<void>): Io<boolean> {
    if (!this.#canBe()) {
      yield* commit;
      return false;
    }
    const place = placeOf(replaced);
    const before = this.#placedAt(place, replaced);
    const linked = before === undefined || before.spare !== undefined ? undefined : this.#link(file, replaced);
    try {
      yield* commit;
    } catch (error) {
      if (linked !== undefined) yield* quietly(this.#root.sys.unlink(below(file.stage.directory, linked.name)));
      throw error;
    }
    this.#add(place, replaced.placed, before?.spare ?? linked);
    return linked !== undefined;
  }

  #canBe(): boolean {
    const { sys, realPath } = this.#root;
    this.#isPossible ??= knowsOpeners(realPath);
    return this.#isPossible && this.#failures < MAX_FAILURES && sys.native?.calls !== undefined;
  }

  /** Gives the file that is to be replaced a second name, which is its only one afterwards. */
  #link({ stage }: StagedFile, { directory, name, old }: Replaced): Spare | undefined {
    const { sys, staging } = this.#root;
    // Beside the target others would see it.
    if (old.stat.size > MAX_BYTES || stage.prefix !== "") return undefined;
    const second = staging.newName(stage);
    if (sys.native?.calls?.link(directory.fd, name, stage.directory.fd, second) !== true) return undefined;
    return { name: second, identity: identity(old), quietTimes: this.#parts.quietTimes() };
  }

  #add(place: string, { identity, bornMs }: Stat, spare: Spare | undefined): void {
    const before = this.#placed.get(place)?.spare;
    if (before !== undefined && before !== spare) this.#forget([place]);
    // Behind the others: the one that was replaced longest ago goes first.
    this.#placed.delete(place);
    this.#placed.set(place, { identity, bornMs, placedMs: performance.now(), spare });
    const oldest = this.#placed.size > MAX_FILES ? this.#placed.keys().next().value : undefined;
    if (oldest !== undefined) this.#forget([oldest]);
    if (this.#timer === undefined) this.#watch();
  }

  #watch(): void {
    this.#timer = setTimeout(() => {
      this.#timer = undefined;
      const since = performance.now() - MAX_AGE_MS;
      this.#forget([...this.#placed].filter(([, { placedMs }]) => placedMs <= since).map(([place]) => place));
      if (this.#placed.size > 0) this.#watch();
    }, MAX_AGE_MS);
    // It must not keep the process alive: what stays is swept at a later start.
    this.#timer.unref();
  }

  #forget(places: readonly string[]): void {
    const spares = places.flatMap((place) => this.#placed.get(place)?.spare ?? []);
    for (const place of places) this.#placed.delete(place);
    if (spares.length > 0) this.#parts.inBackground(runIo(this.#remove(spares)));
  }

  /** Never fails: what stays is swept at a later start. */
  *#remove(spares: readonly Spare[]): Io<void> {
    const { sys, staging, top } = this.#root;
    const stage = yield* quietly(staging.open(top));
    if (stage === undefined) return;
    for (const { name } of spares) yield* quietly(sys.unlinkLarge(below(stage.directory, name)));
    stage.release();
  }

  /** Removes all of them. */
  *drop(): Io<void> {
    clearTimeout(this.#timer);
    this.#timer = undefined;
    const spares = [...this.#placed.values()].flatMap(({ spare }) => spare ?? []);
    this.#placed.clear();
    if (spares.length > 0) yield* this.#remove(spares);
  }
}

const placeOf = ({ directory, name }: NameIn): string => `${identity(directory)}/${name}`;
