// The directories between the start of a recursive walk and its current position.

import type { Identity } from "../../core/identity.js";
import { type Io, yieldToLoop } from "../../core/io.js";
import { type Handles, identity, type Pinned, release } from "../handles.js";
import { quietly } from "../sys.js";

/** Maximum directories a descent holds open besides its start; the deepest are kept. */
export const MAX_HELD = 16;
const BREATH_STEPS = 128;

interface Level {
  readonly name: string | Buffer;
  /** `undefined` once released. */
  held: Pinned | undefined;
  /** Set when it was released. */
  identity: Identity | undefined;
}

/**
 * The directories from a start, owned by the caller, down to the current one. Only a few are held open, whatever the
 * depth. A released directory is reopened from the one below through `..` if it is still the same object, else by name
 * from the start.
 */
export class Descent {
  readonly #handles: Handles;
  readonly #start: Pinned;
  readonly #levels: Level[] = [];
  /** Levels above this index have been released. */
  #heldFrom = 0;

  constructor(handles: Handles, start: Pinned) {
    this.#handles = handles;
    this.#start = start;
  }

  /** Levels below the start. */
  get depth(): number {
    return this.#levels.length;
  }

  /** The deepest directory. */
  get directory(): Pinned {
    return this.#levels.at(-1)?.held ?? this.#start;
  }

  /** Takes ownership of a directory inside the deepest one. */
  push(directory: Pinned, name: string | Buffer): void {
    this.#levels.push({ name, held: directory, identity: undefined });
    // Handles without descriptors cost nothing to keep.
    if (directory.fd >= 0) this.#keep(MAX_HELD);
  }

  /** Releases all directories but the deepest and the start. */
  settle(): void {
    this.#keep(1);
  }

  /** Identities from the start to the deepest directory. */
  identities(): Identity[] {
    const below = this.#levels.map((level) => level.identity ?? (level.held && identity(level.held)));
    return [identity(this.#start), ...below.filter((one) => one !== undefined)];
  }

  /**
   * Leaves the deepest directory for its parent.
   * @param last called with the directory when nothing more will be reached through it
   * @returns levels left: more than one if parents cannot be reopened, for example because they were moved
   */
  *leave(last?: (left: Pinned) => Io<void>): Io<number> {
    const left = this.#levels.pop()?.held;
    if (left === undefined) return 0;
    this.#heldFrom = Math.min(this.#heldFrom, this.#levels.length);
    try {
      const above = this.#levels.at(-1);
      const isThere = above === undefined || above.held !== undefined || (yield* this.#climb(above, left));
      if (last !== undefined) yield* last(left);
      if (isThere) return 1;
    } finally {
      release(left);
    }
    return 1 + (yield* this.#descendAgain());
  }

  /** {@link leave} where nothing has to be waited for. @returns `false`: that one has to do it */
  leaveNow(): boolean {
    const [above, left] = [this.#levels.at(-2), this.#levels.at(-1)];
    if (left?.held === undefined || (above !== undefined && above.held === undefined)) return false;
    this.#levels.length -= 1;
    this.#heldFrom = Math.min(this.#heldFrom, this.#levels.length);
    release(left.held);
    return true;
  }

  close(): void {
    for (const { held } of this.#levels.splice(0)) if (held !== undefined) release(held);
    this.#heldFrom = 0;
  }

  #keep(count: number): void {
    while (this.#levels.length - this.#heldFrom > count) {
      const level = this.#levels[this.#heldFrom++];
      if (level?.held === undefined) continue;
      level.identity = identity(level.held);
      release(level.held);
      level.held = undefined;
    }
  }

  *#climb(above: Level, from: Pinned): Io<boolean> {
    const found = yield* quietly(this.#handles.enter(from, ".."));
    if (found === undefined || typeof found === "string") return false;
    if (identity(found) !== above.identity) {
      release(found);
      return false;
    }
    above.held = found;
    this.#heldFrom = this.#levels.length - 1;
    return true;
  }

  /**
   * Descends from the start again as far as every directory is unchanged.
   * @returns levels that are lost
   */
  *#descendAgain(): Io<number> {
    const depth = this.#levels.length;
    let reached: Pinned | undefined;
    let level = 0;
    for (; level < depth; level++) {
      if ((level + 1) % BREATH_STEPS === 0) yield yieldToLoop();
      const { name, identity: own } = this.#levels[level] as Level;
      const found = yield* quietly(this.#handles.enter(reached ?? this.#start, name));
      if (found === undefined || typeof found === "string") break;
      if (identity(found) !== own) {
        release(found);
        break;
      }
      if (reached !== undefined) release(reached);
      reached = found;
    }
    this.#levels.length = level;
    const last = this.#levels.at(-1);
    if (last !== undefined) last.held = reached;
    this.#heldFrom = Math.max(0, level - 1);
    return depth - level;
  }
}
