// The walk of a path, component by component; `symlink.ts` judges the links on it.

import type { RelPath } from "../../core/call/path.js";
import type { FileAdapterError } from "../../core/errors/errors.js";
import { invalidPath, otherDevice, symlinkEscape } from "../../core/errors/texts.js";
import type { Io } from "../../core/io.js";
import { isWindows } from "../../core/system.js";
import { isReachableName, isReservedName, MAX_SEGMENTS } from "../../path/grammar.js";
import { storedName } from "../directory.js";
import { Spelling } from "../folding.js";
import { below, type Pinned, release, renew, statBelow } from "../handles.js";
import { errnoOf } from "../sys.js";
import { findDirectly } from "./beneath.js";
import { Descent } from "./descent.js";
import { judgeLink, MAX_LINKS } from "./symlink.js";
import type { Found, WalkOptions, WalkRoot, WalkTurn } from "./walk-options.js";

/** Maximum looks at a name that keeps changing its type. */
const MAX_LOOKS = 40;
const BREATH_STEPS = 16;

/**
 * A walk from the root to a requested path, component by component, each relative to the pinned directory before it.
 *
 * The system never follows links: their text is read and its segments are walked the same way, so the collected names
 * are the real path. `..` in a link pops a stack of handles. A path that would leave the root is SYMLINK_ESCAPE,
 * decided from the text alone; nothing outside is looked up.
 *
 * The walk owns its handles; call {@link close} in a `finally`.
 */
export class Walk {
  readonly since: number;
  readonly #root: WalkRoot;
  readonly #options: WalkOptions;
  readonly #onClose: () => void;
  /** Number of leading names that must not be links and that no link may leave. */
  readonly #floor: number;
  /** Tokens still to walk, the next one last: those of links on top of those of the request. */
  readonly #pending: string[];
  readonly #requested: readonly string[];
  #requestedLeft: number;
  #token = "";
  #tokenOfRequest = true;
  #links = 0;
  #lastIsLink = false;
  /** Place of the last link that was followed, and of the one that led outside. */
  #linkAt: readonly string[] = [];
  #escapedAt: readonly string[] | undefined;
  #object: Pinned | undefined;
  readonly #descent: Descent;
  readonly #spelling: Spelling;
  #steps = 0;

  /** Real names of the directories from the root to the current one. */
  readonly names: string[] = [];

  constructor(root: WalkRoot, path: RelPath, options: WalkOptions, { since, onClose }: WalkTurn) {
    [this.since, this.#onClose] = [since, onClose];
    this.#root = root;
    this.#options = options;
    this.#floor = options.rules?.floor ?? 0;
    this.#pending = [...path.segments].reverse();
    this.#requested = path.segments;
    this.#requestedLeft = path.segments.length;
    this.#descent = new Descent(root.handles, root.top);
    this.#spelling = new Spelling(root, path.segments, options);
  }

  /** Whether a link was resolved, so that the real path may differ from the requested one. */
  get crossedLink(): boolean {
    return this.#links > 0;
  }

  get lastIsLink(): boolean {
    return this.#lastIsLink;
  }

  /** The deepest directory: the target's parent, unless the target is the root or a link ended in `.`. */
  get directory(): Pinned {
    return this.#descent.directory;
  }

  /** Where an unsuccessful walk stopped: the place its error discloses. */
  get reached(): readonly string[] {
    if (this.#escapedAt !== undefined) return this.#escapedAt;
    return this.#token === "." || this.#token === ".." ? this.names : [...this.names, this.#token];
  }

  /** @throws SYMLINK_ESCAPE, OTHER_DEVICE, INVALID_PATH, and system errors */
  *run(): Io<Found> {
    const { onlyTarget, followLast, links } = this.#options;
    if (onlyTarget === true && !this.#spelling.isDoubtful)
      this.#object = findDirectly(this.#root, this.#requested, !followLast && links !== "refuse");
    if (this.#object !== undefined) return { state: "found", object: this.#object, real: this.#requested };
    return yield* this.#byComponents();
  }

  *#byComponents(): Io<Found> {
    for (let token = this.#pending.pop(); token !== undefined; token = this.#pending.pop()) {
      // Links can turn one path into thousands of steps.
      if (++this.#steps % BREATH_STEPS === 0) yield* this.#options.scope.breathe();
      this.#token = token;
      this.#tokenOfRequest = this.#pending.length < this.#requestedLeft;
      if (this.#tokenOfRequest) this.#requestedLeft--;
      else if (token === ".") continue;
      else if (token === "..") {
        yield* this.#leave();
        continue;
      }
      this.#refuseReserved(token, this.names.length === 0);
      const requestedCount = this.#tokenOfRequest ? this.#requested.length - this.#requestedLeft : 0;
      yield* this.#spelling.check(this, [token], requestedCount);
      const end = this.#pending.length === 0 ? yield* this.#last(token) : yield* this.#step(token);
      if (end !== undefined) return end;
    }
    if (this.directory === this.#root.top) yield* renew(this.#root.sys, this.#root.top);
    this.#sameDevice(this.directory);
    return { state: "found", object: this.directory, real: this.names };
  }

  /**
   * Releases the directories between the root and the deepest one; a change needs only their identities. A waiting call
   * must not hold a descriptor per level of its path.
   */
  settle(): void {
    this.#descent.settle();
  }

  /** Identities of all directories from the root to the deepest one. */
  identities(): string[] {
    return this.#descent.identities();
  }

  /** Adds a directory that the caller created or found in the deepest one. */
  push(directory: Pinned, name: string): void {
    this.#descent.push(directory, name);
    this.names.push(name);
    if (this.names.length > MAX_SEGMENTS) throw invalidPath(this.#options.place, "too deep");
  }

  /** Leaves the deepest directory for its parent. @returns `false`: that cannot be reached any more */
  *leave(): Io<boolean> {
    this.names.pop();
    return (yield* this.#descent.leave()) === 1;
  }

  close(): void {
    this.#descent.close();
    if (this.#object !== undefined) release(this.#object);
    this.#object = undefined;
    this.#onClose();
  }

  *#step(token: string): Io<Found | undefined> {
    for (let look = 0; look < MAX_LOOKS; look++) {
      const parent = this.directory;
      const next = yield* this.#root.handles.enter(parent, token);
      if (next === "missing") {
        yield* this.#spelling.check(this, [token, ...this.#pending.slice().reverse()], this.#requested.length);
        return this.#missing(token);
      }
      if (next !== "not a directory") {
        // Pushed before its name is looked up, so that it is released in every case.
        this.push(next, token);
        this.names.splice(-1, 1, yield* this.#realName(parent, token, next));
        return undefined;
      }
      const target = yield* this.#linkText(token);
      if (target !== undefined) return yield* this.#follow(target);
      if (yield* this.#standsInTheWay(token)) return this.#blocked(token);
    }
    throw invalidPath(this.#options.place, "too many links");
  }

  *#last(token: string): Io<Found | undefined> {
    for (let look = 0; look < MAX_LOOKS; look++) {
      const object = yield* this.#root.handles.pin(this.directory, token);
      if (object === undefined) return this.#missing(token);
      if (!object.stat.isSymbolicLink() || !(this.#options.followLast || this.#options.links === "refuse")) {
        this.#object = object;
        this.#sameDevice(object);
        const name = yield* this.#realName(this.directory, token, object);
        return { state: "found", object, real: [...this.names, name] };
      }
      release(object);
      const target = yield* this.#linkText(token);
      if (target !== undefined) {
        this.#lastIsLink = true;
        return yield* this.#follow(target);
      }
    }
    throw invalidPath(this.#options.place, "too many links");
  }

  /**
   * Whether a name that is neither directory nor link still is neither; otherwise it was replaced between two looks.
   */
  *#standsInTheWay(token: string): Io<boolean> {
    const stat = yield* statBelow(this.#root.sys, this.directory, token);
    return stat !== undefined && !stat.isDirectory() && !stat.isSymbolicLink();
  }

  /** The stored spelling: capabilities are judged by it where the file system folds names. */
  *#realName(parent: Pinned, token: string, object: Pinned): Io<string> {
    if (!this.#root.foldsCase) return token;
    const name = yield* storedName(this.#root.sys, parent, token, object);
    this.#refuseReserved(name, parent === this.#root.top);
    object.respell?.(parent, name);
    return name;
  }

  /**
   * Below the top always as a directory would judge that folds of itself: nobody else needs such names. On Windows a name that no
   * request may have is a device, a stream or another name's spelling, so a link may not have it either.
   */
  #refuseReserved(name: string, top: boolean): void {
    const isReserved = isReservedName(name, this.#root.foldsCase || !top);
    if (isReserved || (isWindows() && !isReachableName(name, top)))
      throw invalidPath(this.#options.place, "reserved name");
  }

  /** `undefined` if the name is not, or no longer, a link. */
  *#linkText(token: string): Io<string | undefined> {
    try {
      return yield* this.#root.sys.readlink(below(this.directory, token));
    } catch (error) {
      const code = errnoOf(error);
      if (code === "EINVAL" || code === "ENOENT" || code === "UNKNOWN") return undefined;
      throw error;
    }
  }

  /** Continues with the target of the link at the current token. */
  *#follow(target: string): Io<undefined> {
    // The target of a link on another device is not disclosed either.
    this.#sameDevice(this.directory);
    if (this.#options.links === "refuse") throw symlinkEscape(this.#options.place);
    if (++this.#links > MAX_LINKS) throw invalidPath(this.#options.place, "too many links");
    this.#linkAt = [...this.names, this.#token];
    const route = judgeLink(target, { top: this.#root.realPath, names: this.names, floor: this.#floor });
    if (route === "escape") throw this.#escape();
    for (let left = route.leaves; left > 0; left--) yield* this.#leave();
    this.#pending.push(...route.tokens.reverse());
  }

  *#leave(): Io<void> {
    if (this.names.length <= this.#floor) throw this.#escape();
    this.names.pop();
    if ((yield* this.#descent.leave()) === 1) return;
    throw Object.assign(new Error("moved while it was walked"), { code: "ESTALE", syscall: "open" });
  }

  #escape(): FileAdapterError {
    this.#escapedAt = this.#linkAt;
    return symlinkEscape(this.#options.place);
  }

  /**
   * The target must be on the root's device. On overlay file systems files report the device of their layer, so for a
   * file its directory decides.
   */
  #sameDevice(end: Pinned): void {
    const { crossDevice, top } = this.#root;
    if (crossDevice || end.stat.device === top.stat.device) return;
    if (end.stat.isDirectory() || this.directory.stat.device !== top.stat.device)
      throw otherDevice(this.#options.place);
  }

  #missing(token: string): Found {
    this.#sameDevice(this.directory);
    const missing = [token, ...this.#pending.slice().reverse()];
    // Only a token of the request can be missing; if a link's own target does not exist, the link dangles.
    if (!this.#tokenOfRequest) return { state: "dangling", real: this.#resolved(missing) };
    return { state: "missing", missing, real: [...this.names, ...missing] };
  }

  #blocked(token: string): Found {
    this.#sameDevice(this.directory);
    const real = this.#resolved([token, ...this.#pending.slice().reverse()]);
    // Part of the link's target remains, so the link leads through the file.
    if (this.#pending.length > this.#requestedLeft) return { state: "dangling", real };
    return { state: "blocked", prefix: this.#requested.length - this.#requestedLeft, real };
  }

  /** The remaining path of a stopped walk, resolved as text. */
  #resolved(rest: readonly string[]): string[] {
    const real = [...this.names];
    for (const token of rest) {
      if (token === "..") real.pop();
      else if (token !== ".") real.push(token);
    }
    return real;
  }
}
