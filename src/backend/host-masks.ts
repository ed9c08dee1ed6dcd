import type { Access } from "../core/backend.js";
import type { Io } from "../core/io.js";
import type { Mask } from "../core/sandbox.js";
import { deniedByPolicy } from "../core/texts.js";
import { eachPiece, examine, type Name, nameOf } from "../jail/directory.js";
import { type Pinned, release } from "../jail/handles.js";
import type { Jail } from "../jail/jail.js";
import { errnoOf } from "../jail/sys.js";
import { isReservedName } from "../path/grammar.js";

/** More denied entries than this cannot be hidden from commands. */
const MOST_DENIED = 1_000;
/** Together with what is reserved, and the directories that must keep their names. */
const MOST_MASKS = 5_000;
/** Deeper than this no file operation gets, and no command either. */
const MOST_LEVELS = 512;

interface Frame {
  readonly directory: Pinned;
  readonly below: readonly string[];
  readonly path: Buffer;
  readonly names: readonly Name[];
  next: number;
}

/**
 * What commands in a directory must not see: what the root denies everybody, and what is reserved. Links are left as they
 * are: what they lead to is judged by its own name.
 *
 * @throws DENIED_BY_POLICY when there is too much of it, or a directory cannot be looked into
 */
export function* findMasks(jail: Jail, start: Pinned, access: Access): Io<readonly Mask[]> {
  const search = new MaskSearch(jail, access);
  const frames: Frame[] = [
    { directory: start, below: [], path: Buffer.alloc(0), names: yield* search.names(start), next: 0 },
  ];
  try {
    for (let frame = frames.at(-1); frame !== undefined; frame = frames.at(-1)) {
      const name = frame.names[frame.next++];
      if (name === undefined) {
        leave(frames, start);
        continue;
      }
      yield* access.scope.breathe();
      const child = yield* search.look(frame, name);
      if (child === undefined) continue;
      const entered = { directory: child, below: [...frame.below, name.name], path: pathOf(frame, name), next: 0 };
      frames.push({ ...entered, names: [] });
      frames.splice(-1, 1, { ...entered, names: yield* search.names(child) });
    }
    return search.masks;
  } finally {
    while (frames.length > 0) leave(frames, start);
  }
}

class MaskSearch {
  readonly masks: Mask[] = [];
  readonly #jail: Jail;
  readonly #access: Access;
  readonly #pinned = new Set<string>();
  #denied = 0;

  constructor(jail: Jail, access: Access) {
    this.#jail = jail;
    this.#access = access;
  }

  /** What cannot be looked into may hold what is denied: whoever owns it could open it for all. */
  *names(directory: Pinned): Io<Name[]> {
    const names: Name[] = [];
    const { scope } = this.#access;
    try {
      yield* eachPiece(this.#jail.sys, directory, function* (entries) {
        yield* scope.breathe();
        for (const entry of entries) names.push(nameOf(entry));
      });
      return names;
    } catch (error) {
      if (errnoOf(error) === undefined || errnoOf(error) === "ENOENT") throw error;
      if (this.#access.policy === undefined) return [];
      throw this.#refused();
    }
  }

  /** @returns a directory to look into */
  *look(frame: Frame, name: Name): Io<Pinned | undefined> {
    const isTop = frame.directory === this.#jail.top;
    const isDenied = this.#access.policy?.denies(frame.below, name.name) === true;
    const isHidden = isDenied || isReservedName(name.name, isTop, this.#jail.foldsCase);
    const stat = name.type === undefined ? yield* examine(this.#jail.sys, frame.directory, name) : undefined;
    const type = name.type ?? stat?.type;
    if (type === undefined || type === "symlink") return undefined;
    if (isHidden) {
      if (isDenied && ++this.#denied > MOST_DENIED) throw this.#refused();
      this.#mask(frame, name, type === "directory" ? "directory" : "file");
      return undefined;
    }
    if (type !== "directory") return undefined;
    if (frame.below.length >= MOST_LEVELS) {
      this.#mask(frame, name, "directory");
      return undefined;
    }
    const child = yield* this.#jail.handles.enter(frame.directory, name.raw);
    if (typeof child === "string") return undefined;
    if (this.#jail.crossDevice || child.stat.device === this.#jail.top.stat.device) return child;
    release(child);
    // What no file operation enters, commands do not either.
    this.#mask(frame, name, "directory");
    return undefined;
  }

  #mask(frame: Frame, name: Name, kind: "file" | "directory"): void {
    if (this.masks.length >= MOST_MASKS) throw this.#refused();
    for (const [index, byte] of frame.path.entries()) if (byte === 0x2f) this.#pin(frame.path.subarray(0, index));
    if (frame.path.length > 0) this.#pin(frame.path);
    this.masks.push({ path: pathOf(frame, name), kind });
  }

  /** Under another name of a directory above it, what is in it might be denied no more. */
  #pin(path: Buffer): void {
    const key = path.toString("latin1");
    if (this.#pinned.has(key)) return;
    this.#pinned.add(key);
    this.masks.push({ path, kind: "pin" });
  }

  #refused(): Error {
    return deniedByPolicy(this.#access.place, "run a command in");
  }
}

const pathOf = ({ path }: Frame, { raw }: Name): Buffer =>
  Buffer.concat([path, Buffer.from(path.length === 0 ? "" : "/"), Buffer.from(raw as Buffer)]);

function leave(frames: Frame[], start: Pinned): void {
  const left = frames.pop();
  if (left !== undefined && left.directory !== start) release(left.directory);
}
