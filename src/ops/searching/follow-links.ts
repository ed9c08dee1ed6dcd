// Walks that follow links, where the caller may read their targets.

import { isSamePath } from "../../core/call/path.js";
import { FileAdapterError } from "../../core/errors/errors.js";
import { type Awaitable, after } from "../../core/io.js";
import type { FileStat, WalkContent, WalkEntry, WalkOptions, WalkStep } from "../../core/ports/backend.js";
import type { PathCall } from "../../core/ports/operation.js";
import { isWithin } from "../../path/grammar.js";

/** Links that one walk follows: each is a place of its call, which its record names. */
const MAX_LINKS = 1000;

/** Facts of a search about the links that it meets. Paths are segments below its start. */
export interface Following {
  /** Whether the walk gets by itself to a real place that a link leads to. */
  getsTo(real: readonly string[], link: readonly string[], isDirectory: boolean): boolean;
  /** Whether the caller names the link: then it is followed although the walk gets there by itself. */
  names(link: readonly string[]): boolean;
}

interface Target extends Pick<FileStat, "type" | "size" | "modified"> {
  readonly place: PathCall;
  readonly real: readonly string[];
}

/**
 * Walks as a backend does. With `following`, each link is judged as a read of it is: by the rights, deny patterns and device
 * of what it leads to. A directory is entered once through links, and never from within itself.
 */
export async function walk(base: PathCall, options: WalkOptions, following?: Following): Promise<void> {
  if (following === undefined) await base.root.backend.walk(base.path, options, base.access);
  else await new FollowingWalk(base, options, following).walk(base, 0);
}

class FollowingWalk {
  readonly #base: PathCall;
  readonly #options: WalkOptions;
  readonly #following: Following;
  /** Real paths of the directories that were entered through links. */
  readonly #entered: (readonly string[])[] = [];
  #links = 0;
  #isStopped = false;

  constructor(base: PathCall, options: WalkOptions, following: Following) {
    this.#base = base;
    this.#options = options;
    this.#following = following;
  }

  /** @param depth of the place, below the start */
  async walk(place: PathCall, depth: number): Promise<void> {
    const { visit, visitDenied, rules, content, ...others } = this.#options;
    const names: string[] = [];
    /** An entry as one below the start. */
    const placed = (entry: WalkEntry): WalkEntry => {
      names.length = entry.depth - 1;
      names.push(entry.name);
      return depth === 0 ? entry : { ...entry, depth: depth + entry.depth };
    };
    const entries = new WeakMap<WalkEntry, WalkEntry>();
    const visitOne = (entry: WalkEntry): Awaitable<WalkStep> => {
      const own = placed(entry);
      entries.set(entry, own);
      if (entry.type === "symlink" && entry.unreachable !== true) return this.#visitLink(own, place, [...names]);
      return after(visit(own), (step) => this.#noted(this.#isEntered(place, own, names) ? "skip" : step, step));
    };
    await place.root.backend.walk(
      place.path,
      {
        ...others,
        visit: visitOne,
        ...(visitDenied && { visitDenied: (entry) => after(visitDenied(placed(entry)), (step) => this.#noted(step)) }),
        ...(rules && { rules: { ...rules, found: (at, contents) => rules.found(depth + at, contents) } }),
        ...(content && {
          content: {
            maxBytes: content.maxBytes,
            take: (entry, bytes) => this.#take(entries.get(entry) ?? entry, bytes),
          },
        }),
      },
      place.access,
    );
  }

  #noted<Step extends string>(step: Step, asked: string = step): Step {
    if (asked === "stop") this.#isStopped = true;
    return step;
  }

  async #take(entry: WalkEntry, content: WalkContent): Promise<"on" | "stop"> {
    return this.#noted((await this.#options.content?.take(entry, content)) ?? "on");
  }

  /** Whether a directory behind a link has been entered through another one. */
  #isEntered(place: PathCall, { type }: WalkEntry, names: readonly string[]): boolean {
    if (place === this.#base || type !== "directory") return false;
    const real = [...realOf(place), ...names];
    return this.#entered.some((one) => isSamePath(one, real));
  }

  /** @param names from the place to the link */
  async #visitLink(link: WalkEntry, place: PathCall, names: readonly string[]): Promise<WalkStep> {
    const path = [...place.path.segments, ...names];
    const target = ++this.#links > MAX_LINKS ? undefined : await this.#targetOf(path);
    if (target === undefined) return this.#noted(await this.#options.visit(link));
    const { type, size, modified } = target;
    const entry: WalkEntry = {
      ...{ ...link, type, isLink: true, size: this.#options.sizes && type === "file" ? size : link.size },
      ...(this.#options.sizes && type === "file" ? { modified } : {}),
    };
    const step = this.#noted(await this.#options.visit(entry));
    const isWanted = (step === "enter" || step === "read") && this.#isNew(target, path, [...realOf(place), ...names]);
    if (!isWanted) return step === "stop" ? "stop" : "skip";
    await (step === "read" ? this.#read(entry, target) : this.#enter(target, entry.depth));
    return this.#isStopped ? "stop" : "skip";
  }

  /** @returns `undefined`: it leads nowhere that the caller may read */
  async #targetOf(path: readonly string[]): Promise<Target | undefined> {
    const { root, at } = this.#base;
    return unlessRefused(async () => {
      const place = at({
        root: root.name,
        path: path.join("/"),
        abilities: ["crud/read"],
        changes: false,
        isExact: true,
      });
      const found = await place.root.backend.stat(place.path, place.access);
      if (found?.type !== "file" && found?.type !== "directory") return undefined;
      const real = [...realOf(place)];
      // The walk behind the link ends if the link is turned elsewhere from now on.
      place.access.pin?.(real);
      return { ...found, place, real };
    });
  }

  /** @param from real path of the link */
  #isNew({ type, real }: Target, path: readonly string[], from: readonly string[]): boolean {
    const isDirectory = type === "directory";
    if (isDirectory && isWithin(from, real)) return false;
    const link = path.slice(this.#base.path.segments.length);
    const isNamed = this.#following.names(link);
    const top = realOf(this.#base);
    if (isDirectory && isWithin(top, real)) return false;
    if (!isNamed && isWithin(real, top) && this.#following.getsTo(real.slice(top.length), link, isDirectory))
      return false;
    return !this.#entered.some((one) => (isNamed ? isSamePath(one, real) : isWithin(real, one)));
  }

  async #enter({ place, real }: Target, depth: number): Promise<void> {
    this.#entered.push(real);
    const isWalked = await unlessRefused(async () => {
      await this.walk(place, depth);
      return true;
    });
    if (isWalked === undefined) this.#options.unreadable?.();
  }

  async #read(entry: WalkEntry, { place }: Target): Promise<void> {
    const maxBytes = this.#options.content?.maxBytes ?? 0;
    const plan = (size: number) => ({ offset: 0, length: size > maxBytes ? 0 : maxBytes + 1 });
    const read = await unlessRefused(() => Promise.resolve(place.root.backend.read(place.path, plan, place.access)));
    const isLarge = read !== undefined && Math.max(read.size, read.bytes.length) > maxBytes;
    await this.#take(entry, read === undefined ? "unreadable" : isLarge ? "too large" : read.bytes);
  }
}

const realOf = ({ access, path }: PathCall): readonly string[] => access.realPath ?? path.segments;

/** @returns `undefined` where the place is refused or gone; what ends the call ends it here too */
export async function unlessRefused<T>(work: () => Promise<T | undefined>): Promise<T | undefined> {
  try {
    return await work();
  } catch (error) {
    const isRefused = error instanceof FileAdapterError && error.code !== "ABORTED" && error.code !== "TIMEOUT";
    if (!isRefused) throw error;
    return undefined;
  }
}
