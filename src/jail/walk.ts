import type { Io } from "../core/io.js";
import type { RelPath } from "../core/path.js";
import { invalidPath, otherDevice, type Place, symlinkEscape } from "../core/texts.js";
import { isReservedName, MAX_SEGMENTS } from "../path/grammar.js";
import { storedName } from "./directory.js";
import { below, type Handles, type Pinned, release } from "./handles.js";
import { errnoOf, type Sys } from "./sys.js";

const MAX_LINKS = 40;

/** What a walk needs to know of its root. */
export interface WalkRoot {
  readonly handles: Handles;
  readonly sys: Sys;
  readonly top: Pinned;
  /** Canonical host path, to recognise absolute links that stay inside. Never shown to a caller. */
  readonly realPath: string;
  readonly crossDevice: boolean;
  readonly foldsCase: boolean;
}

/** Where a walk ended. `real` is where the request really leads, as far as the walk could tell. */
export type Found = { readonly real: readonly string[] } & (
  | {
      /** The target exists and is this object; the last link, if any, has been resolved. */
      readonly state: "found";
      readonly object: Pinned;
    }
  | {
      /** Nothing has the name `missing[0]` in the walk's deepest directory. The rest was not looked at. */
      readonly state: "missing";
      readonly missing: readonly string[];
    }
  | {
      /** A file stands where a directory is needed; `prefix` is how many requested segments lead to it. */
      readonly state: "blocked";
      readonly prefix: number;
    }
  | {
      /** A link leads to nothing inside the root. */
      readonly state: "dangling";
    }
);

/**
 * One walk from the root to a requested path, a component at a time, each relative to the pinned directory before it.
 *
 * Links are never followed by the system: their text is read and its segments are walked the same way, so the names
 * collected on the way are the real path. `..` in a link pops our own stack of handles. Whatever would leave the root
 * is SYMLINK_ESCAPE, decided from the text alone: nothing outside is ever asked.
 *
 * The walk owns its handles; call {@link close} in a `finally`.
 */
export class Walk {
  readonly #root: WalkRoot;
  readonly #place: Place;
  readonly #followLast: boolean;
  /** Tokens still to be walked, the next one last. Those of links stand on top of those of the request. */
  readonly #pending: string[];
  readonly #requested: number;
  #requestedLeft: number;
  #tokenOfRequest = true;
  #links = 0;
  #lastIsLink = false;
  #object: Pinned | undefined;

  /** The pinned directories from the root down to the one the walk has reached. */
  readonly directories: Pinned[];
  /** Real names of all but the first of {@link directories}. */
  readonly names: string[] = [];

  /** @param options.followLast resolve a link in the last component, as everything but delete does */
  constructor(root: WalkRoot, path: RelPath, options: { place: Place; followLast: boolean }) {
    this.#root = root;
    this.#place = options.place;
    this.#followLast = options.followLast;
    this.#pending = [...path.segments].reverse();
    this.#requested = path.segments.length;
    this.#requestedLeft = path.segments.length;
    this.directories = [root.top];
  }

  /** Whether any link was resolved, so that the real path may differ from the requested one. */
  get crossedLink(): boolean {
    return this.#links > 0;
  }

  /** Whether the requested name itself is a link. */
  get lastIsLink(): boolean {
    return this.#lastIsLink;
  }

  /** The deepest directory reached: the parent of the target, unless the target is the root or a link ended in `.`. */
  get directory(): Pinned {
    return this.directories.at(-1) as Pinned;
  }

  /** @throws SYMLINK_ESCAPE, OTHER_DEVICE, INVALID_PATH, and system errors */
  *run(): Io<Found> {
    for (let token = this.#pending.pop(); token !== undefined; token = this.#pending.pop()) {
      this.#tokenOfRequest = this.#pending.length < this.#requestedLeft;
      if (this.#tokenOfRequest) this.#requestedLeft--;
      else if (token === ".") continue;
      else if (token === "..") {
        this.#leave();
        continue;
      }
      if (isReservedName(token, this.names.length === 0, this.#root.foldsCase)) {
        throw invalidPath(this.#place, "reserved name");
      }
      const end = this.#pending.length === 0 ? yield* this.#last(token) : yield* this.#step(token);
      if (end !== undefined) return end;
    }
    this.#sameDevice(this.directory);
    return { state: "found", object: this.directory, real: this.names };
  }

  /** Adds a directory that the caller made or found below the deepest one. */
  push(directory: Pinned, name: string): void {
    this.directories.push(directory);
    this.names.push(name);
    if (this.names.length > MAX_SEGMENTS) throw invalidPath(this.#place, "too deep");
  }

  close(): void {
    this.#restart();
    if (this.#object !== undefined) release(this.#object);
    this.#object = undefined;
  }

  *#step(token: string): Io<Found | undefined> {
    const next = yield* this.#root.handles.enter(this.directory, token);
    if (next === "missing") return this.#missing(token);
    if (next !== "not a directory") {
      this.push(next, yield* this.#realName(token, next));
      return undefined;
    }
    const target = yield* this.#linkText(token);
    if (target === undefined) return this.#blocked(token);
    this.#follow(target);
    return undefined;
  }

  *#last(token: string): Io<Found | undefined> {
    const object = yield* this.#root.handles.pin(this.directory, token);
    if (object === undefined) return this.#missing(token);
    if (this.#followLast && object.stat.isSymbolicLink()) {
      release(object);
      this.#lastIsLink = true;
      const target = yield* this.#linkText(token);
      // Replaced by something else since it was pinned: look at the name again, within the budget of links.
      this.#follow(target ?? `./${token}`);
      return undefined;
    }
    this.#object = object;
    this.#sameDevice(object);
    const name = yield* this.#realName(token, object);
    return { state: "found", object, real: [...this.names, name] };
  }

  /** The name as stored: capabilities are judged by it where the file system would accept others too. */
  *#realName(token: string, object: Pinned): Io<string> {
    return this.#root.foldsCase ? yield* storedName(this.#root.sys, this.directory, token, object) : token;
  }

  /** `undefined` when the name is not a link (any more). */
  *#linkText(token: string): Io<string | undefined> {
    try {
      return yield* this.#root.sys.readlink(below(this.directory, token));
    } catch (error) {
      const code = errnoOf(error);
      if (code === "EINVAL" || code === "ENOENT" || code === "UNKNOWN") return undefined;
      throw error;
    }
  }

  #follow(target: string): void {
    if (++this.#links > MAX_LINKS) throw invalidPath(this.#place, "too many links");
    const text = target.startsWith("/") ? this.#insideRoot(target) : target;
    const tokens = text.split("/").filter((segment) => segment !== "");
    // A target that ends in a slash means a directory: `.` makes the walk enter it.
    if (text.endsWith("/")) tokens.push(".");
    this.#pending.push(...tokens.reverse());
  }

  /** The rest of an absolute target that goes through the root's own canonical path; anything else leaves the root. */
  #insideRoot(target: string): string {
    const { realPath } = this.#root;
    if (target !== realPath && !target.startsWith(`${realPath}/`)) throw symlinkEscape(this.#place);
    this.#restart();
    return target.slice(realPath.length);
  }

  #restart(): void {
    while (this.names.length > 0) this.#leave();
  }

  #leave(): void {
    if (this.names.pop() === undefined) throw symlinkEscape(this.#place);
    const left = this.directories.pop();
    if (left !== undefined) release(left);
  }

  /**
   * Where the walk ends must be on the root's device. A file may say otherwise on its own (overlay file systems give
   * files numbers of their layers), so there its directory decides.
   */
  #sameDevice(end: Pinned): void {
    const { crossDevice, top } = this.#root;
    if (crossDevice || end.stat.dev === top.stat.dev) return;
    if (end.stat.isDirectory() || this.directory.stat.dev !== top.stat.dev) throw otherDevice(this.#place);
  }

  #missing(token: string): Found {
    this.#sameDevice(this.directory);
    const missing = [token, ...this.#pending.slice().reverse()];
    // Only a token of the request may be missing; where a link's own text leads to nothing, the link dangles.
    if (!this.#tokenOfRequest) return { state: "dangling", real: this.#resolved(missing) };
    return { state: "missing", missing, real: [...this.names, ...missing] };
  }

  #blocked(token: string): Found {
    const real = this.#resolved([token, ...this.#pending.slice().reverse()]);
    // More of a link's text is left, so the link itself leads through the file.
    if (this.#pending.length > this.#requestedLeft) return { state: "dangling", real };
    return { state: "blocked", prefix: this.#requested - this.#requestedLeft, real };
  }

  /** The rest of a walk that could not go on, resolved as text. */
  #resolved(rest: readonly string[]): string[] {
    const real = [...this.names];
    for (const token of rest) {
      if (token === "..") real.pop();
      else if (token !== ".") real.push(token);
    }
    return real;
  }
}
