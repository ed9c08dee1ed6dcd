import { randomBytes } from "node:crypto";
import type { Io } from "../core/io.js";
import { RESERVED_NAME, RESERVED_PREFIX } from "../path/grammar.js";
import { examine, typeOf } from "./directory.js";
import { below, CREATE, entryPath, type Pinned, release } from "./handles.js";
import { isDead, ownIdentity, type ProcessIdentity } from "./process-identity.js";
import { errnoOf, quietly, succeeds } from "./sys.js";
import type { WalkRoot } from "./walk.js";

/** Where something is prepared before one rename puts it in place, or where it is removed after one rename took it away. */
export interface Stage {
  readonly directory: Pinned;
  /** What names in it start with. */
  readonly prefix: string;
  release(): void;
}

/** A file being prepared. */
export interface StagedFile {
  /** -1 once it has been closed. */
  fd: number;
  readonly path: string;
  readonly stage: Stage;
}

/** Errors after which staging moves beside the target: the top of the root cannot be written, or is not where it seems. */
const UNUSABLE = new Set(["EACCES", "EPERM", "EROFS", "ENOTDIR", "ELOOP"]);
const ATTEMPTS = 5;

/**
 * The staging directory `.venue-files/` of one root. It is opened without following links and its owner is checked each
 * time, because whoever may write to the root could have put something else in its place.
 */
export class Staging {
  readonly #root: WalkRoot;
  readonly #identity: ProcessIdentity = ownIdentity();

  constructor(root: WalkRoot) {
    this.#root = root;
  }

  /** A place on the same file system as `parent`: the staging directory, else `parent` itself with reserved names. */
  *open(parent: Pinned): Io<Stage> {
    const { top } = this.#root;
    const directory = parent.stat.dev === top.stat.dev ? yield* this.#enter(true) : undefined;
    if (directory !== undefined) return { directory, prefix: "", release: () => release(directory) };
    return { directory: parent, prefix: RESERVED_PREFIX, release: () => {} };
  }

  /** A new empty file in a stage. */
  *create(parent: Pinned): Io<StagedFile> {
    for (let attempt = 1; ; attempt++) {
      const stage = yield* this.open(parent);
      const path = this.newPath(stage);
      try {
        return { fd: yield* this.#root.sys.open(path, CREATE, 0o666), path, stage };
      } catch (error) {
        stage.release();
        // Another process removed the empty staging directory on its way out.
        if (errnoOf(error) !== "ENOENT" || attempt === ATTEMPTS || stage.directory === parent) throw error;
      }
    }
  }

  newPath(stage: Stage): string {
    const { boot, namespace, pid, start } = this.#identity;
    return below(
      stage.directory,
      `${stage.prefix}${boot}-${namespace}-${pid}-${start}-${randomBytes(8).toString("hex")}`,
    );
  }

  /** Removes what dead processes left in the staging directory. */
  *sweep(): Io<void> {
    const directory = yield* this.#enter(false);
    if (directory === undefined) return;
    try {
      yield* this.sweepIn({ directory, prefix: "", release: () => {} });
    } finally {
      release(directory);
    }
  }

  /** Removes what dead processes left in one stage. Answers whether there was anything. */
  *sweepIn(stage: Stage): Io<boolean> {
    let found = false;
    for (const { name } of yield* this.#root.sys.names(stage.directory.path)) {
      const left = name.startsWith(stage.prefix) ? parseIdentity(name.slice(stage.prefix.length)) : undefined;
      if (left === undefined || !isDead(left, this.#identity)) continue;
      found = true;
      yield* this.purge(stage, name);
    }
    return found;
  }

  /** Removes the staging directory if nothing is in it. */
  *removeIfEmpty(): Io<void> {
    const directory = yield* this.#enter(false);
    if (directory === undefined) return;
    release(directory);
    try {
      yield* this.#root.sys.rmdir(below(this.#root.top, RESERVED_NAME));
    } catch (error) {
      if (errnoOf(error) === undefined) throw error;
    }
  }

  /**
   * Removes one staged entry, of any depth with few handles: subdirectories are moved up into the stage first and then
   * emptied in turn. Links are unlinked, mount points left alone. What cannot be removed stays for a later sweep.
   */
  *purge(stage: Stage, name: string): Io<void> {
    const { sys, handles } = this.#root;
    const waiting = [name];
    for (let next = waiting.pop(); next !== undefined; next = waiting.pop()) {
      const directory = yield* handles.enter(stage.directory, next);
      if (typeof directory === "string") {
        yield* quietly(sys.unlink(below(stage.directory, next)));
        continue;
      }
      try {
        waiting.push(...(yield* this.#empty(stage, directory)));
      } finally {
        release(directory);
      }
      yield* quietly(sys.rmdir(below(stage.directory, next)));
    }
  }

  /** Unlinks the entries of a directory; answers the new names of its subdirectories that had to be moved out. */
  *#empty(stage: Stage, directory: Pinned): Io<string[]> {
    const { sys } = this.#root;
    const moved: string[] = [];
    // It is out of everybody's reach by now, so its own permissions need not protect it from its removal.
    if ((directory.stat.mode & 0o700) !== 0o700) yield* quietly(sys.chmod(directory.path, 0o700));
    let count = 0;
    for (const raw of (yield* quietly(sys.rawNames(directory.path))) ?? []) {
      // Other calls get their turn; the purge itself is past its commit and goes on.
      if (++count % 256 === 0) yield new Promise((resolve) => setImmediate(resolve));
      const path = entryPath(directory, raw.name);
      const entry = { name: "", raw: raw.name, type: typeOf(raw) };
      const isDirectory =
        entry.type === "directory" ||
        (entry.type ?? typeOf((yield* examine(sys, directory, entry)) ?? raw)) === "directory";
      if (!isDirectory) yield* quietly(sys.unlink(path));
      else if (!(yield* succeeds(sys.rmdir(path)))) {
        const target = this.newPath(stage);
        if (yield* succeeds(sys.rename(path, target))) moved.push(target.slice(stage.directory.path.length + 1));
      }
    }
    return moved;
  }

  *#enter(create: boolean): Io<Pinned | undefined> {
    const { handles, top, sys } = this.#root;
    try {
      let directory = yield* handles.enter(top, RESERVED_NAME);
      if (directory === "missing" && create) {
        yield* sys.mkdir(below(top, RESERVED_NAME), 0o700);
        directory = yield* handles.enter(top, RESERVED_NAME);
      }
      if (typeof directory === "string") return undefined;
      if (isOurs(directory)) return directory;
      release(directory);
      return undefined;
    } catch (error) {
      const code = errnoOf(error);
      if (code === "EEXIST") return yield* this.#enter(false);
      if (code === undefined || !UNUSABLE.has(code)) throw error;
      return undefined;
    }
  }
}

const isOurs = (directory: Pinned): boolean => directory.stat.uid === (process.geteuid?.() ?? directory.stat.uid);

const STAGED_NAME = /^([0-9a-f]{8})-(\d+)-(\d+)-(\d+)-[0-9a-f]{16}$/;

function parseIdentity(name: string): ProcessIdentity | undefined {
  const [, boot, namespace, pid, start] = STAGED_NAME.exec(name) ?? [];
  return boot === undefined
    ? undefined
    : { boot, namespace: Number(namespace), pid: Number(pid), start: Number(start) };
}
