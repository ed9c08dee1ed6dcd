import type { Identity } from "../../core/identity.js";
import type { Io } from "../../core/io.js";
import { type Handles, identity, type Pinned, release } from "../handles.js";
import { quietly } from "../sys.js";

/** Most directories that one descent holds open, besides its start: the deepest ones. */
export const MOST_HELD = 16;
const BREATH_STEPS = 128;

interface Level {
  readonly name: string | Buffer;
  /** `undefined`: it was let go. */
  held: Pinned | undefined;
  /** Told when it was let go. */
  identity: Identity | undefined;
}

/**
 * The directories from a start, which is the caller's, down to where a walk is. However deep that is, few are held open.
 * One that was let go is entered again from the one below it, by `..`, and only if it is the very same object as before;
 * else by the names from the start.
 */
export class Descent {
  readonly #handles: Handles;
  readonly #start: Pinned;
  readonly #levels: Level[] = [];
  /** Levels before this one have been let go. */
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

  /** Takes over a directory that stands in the deepest one. */
  push(directory: Pinned, name: string | Buffer): void {
    this.#levels.push({ name, held: directory, identity: undefined });
    // Without descriptors nothing is saved by letting go.
    if (directory.fd >= 0) this.#keep(MOST_HELD);
  }

  /** Lets go of all but the deepest directory and the start. */
  settle(): void {
    this.#keep(1);
  }

  /** Identities from the start down to the deepest directory. */
  identities(): Identity[] {
    const below = this.#levels.map((level) => level.identity ?? (level.held && identity(level.held)));
    return [identity(this.#start), ...below.filter((one) => one !== undefined)];
  }

  /**
   * Leaves the deepest directory for the one above it.
   * @param last done with the directory when nothing more is to be reached through it
   * @returns levels left: more than one where those above cannot be entered again, as when somebody has moved them
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
    return 1 + (yield* this.#again());
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

  /** Goes down from the start once more, as far as everything is where it was. @returns levels that are lost */
  *#again(): Io<number> {
    const depth = this.#levels.length;
    let reached: Pinned | undefined;
    let level = 0;
    for (; level < depth; level++) {
      if ((level + 1) % BREATH_STEPS === 0) yield new Promise((resolve) => setImmediate(resolve));
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
