import { createHash, type Hash } from "node:crypto";
import type { Access, OpenFile, SourceOptions } from "../core/backend.js";
import { type Awaitable, type Io, runIo } from "../core/io.js";
import { isADirectory } from "../core/texts.js";
import type { SourceEntry, TreeSource } from "../core/tree-source.js";
import { type Name, readNames } from "../jail/directory.js";
import { identity, type Pinned, release } from "../jail/handles.js";
import type { Jail } from "../jail/jail.js";
import type { Walk } from "../jail/walk.js";
import { RESERVED_NAME } from "../path/grammar.js";
import { named } from "./errno.js";
import { openFile } from "./host-open.js";

const PERMISSION_BITS = 0o777;

interface Frame {
  readonly directory: Pinned;
  readonly below: readonly string[];
  names: readonly Name[];
  next: number;
}

export interface HostSourceParts extends Pick<SourceOptions, "there"> {
  readonly jail: Jail;
  /** Has arrived at the object, and is closed with the source. */
  readonly walk: Walk;
  readonly object: Pinned;
  /** Last segment of the real path. */
  readonly name: string;
  readonly access: Access;
}

/** A tree of the host being copied; each directory is entered by its parent's handle, each file opened by its own. */
export class HostSource implements TreeSource {
  readonly top: SourceEntry;
  readonly identity: string;
  readonly left = { symlinks: 0, policy: 0, unreadable: 0 };
  readonly #parts: HostSourceParts;
  readonly #frames: Frame[] = [];
  /** What was seen of each entry when it was come to. */
  readonly #seen: Hash = createHash("sha256");
  #current: Pinned | undefined;
  #isStarted = false;
  #isClosed = false;

  constructor(parts: HostSourceParts) {
    this.#parts = parts;
    this.identity = identity(parts.object);
    this.top = this.#entry(parts.object, []);
    this.#see([], parts.object);
  }

  next(): Awaitable<SourceEntry | undefined> {
    return this.#run(this.#next());
  }

  isUnchanged(): Awaitable<boolean> {
    return this.#run(this.#isUnchanged());
  }

  close(): void {
    if (this.#isClosed) return;
    this.#isClosed = true;
    this.#letGo();
    while (this.#frames.length > 0) this.#leave();
    this.#parts.walk.close();
  }

  #run<T>(io: Io<T>): Awaitable<T> {
    const { place, scope } = this.#parts.access;
    return runIo(named(place, io), scope);
  }

  *#next(): Io<SourceEntry | undefined> {
    this.#letGo();
    if (!this.#isStarted) {
      this.#isStarted = true;
      if (this.top.type === "file") return undefined;
      yield* this.#enter(this.#parts.object, []);
    }
    for (let frame = this.#frames.at(-1); frame !== undefined; frame = this.#frames.at(-1)) {
      const name = frame.names[frame.next++];
      if (name === undefined) {
        this.#leave();
        continue;
      }
      yield* this.#parts.access.scope.breathe();
      const entry = yield* this.#lookAt(frame, name);
      if (entry !== undefined) return entry;
    }
    return undefined;
  }

  *#lookAt(frame: Frame, name: Name): Io<SourceEntry | undefined> {
    const { jail, access, there } = this.#parts;
    if ([access.policy, there?.policy].some((policy) => policy?.denies(frame.below, name.name) === true)) {
      this.left.policy++;
      return undefined;
    }
    const object = yield* jail.handles.pin(frame.directory, name.raw);
    if (object === undefined) return undefined;
    this.#current = object;
    const { stat } = object;
    const below = [...frame.below, name.name];
    if (stat.isSymbolicLink()) this.left.symlinks++;
    else if (stat.isDirectory() ? this.#isForeign(object, name) : !stat.isFile()) this.left.unreadable++;
    else {
      this.#see(below, object);
      if (stat.isDirectory()) {
        this.#current = undefined;
        yield* this.#enter(object, below);
      }
      return this.#entry(object, below, name.raw);
    }
    this.#letGo();
    return undefined;
  }

  /** On another device, or where another root, which lies inside this one, prepares its files. */
  #isForeign({ stat }: Pinned, { name }: Name): boolean {
    const { crossDevice, top } = this.#parts.jail;
    return name === RESERVED_NAME || (!crossDevice && stat.device !== top.stat.device);
  }

  #entry(object: Pinned, below: readonly string[], raw?: string | Buffer): SourceEntry {
    const { access, jail } = this.#parts;
    const { stat } = object;
    const open = (): Awaitable<OpenFile> => {
      if (stat.isDirectory()) throw isADirectory(access.place);
      return this.#run(openFile(jail, object, access));
    };
    return {
      ...{ type: stat.isDirectory() ? "directory" : "file", below, mode: stat.mode & PERMISSION_BITS, open },
      ...(raw === undefined || typeof raw === "string" ? {} : { raw }),
    };
  }

  *#enter(directory: Pinned, below: readonly string[]): Io<void> {
    const { jail, access } = this.#parts;
    const frame: Frame = { directory, below, names: [], next: 0 };
    // Pushed before its names are read, so that it is released whatever happens.
    this.#frames.push(frame);
    const { sys, foldsCase, top } = jail;
    frame.names = yield* readNames(sys, directory, { top: directory === top, foldsCase, scope: access.scope });
  }

  *#isUnchanged(): Io<boolean> {
    const { jail, walk, name } = this.#parts;
    const now = yield* jail.handles.pin(walk.directory, name);
    if (now === undefined) return false;
    try {
      if (identity(now) !== this.identity) return false;
      const again = new HostSource({ ...this.#parts, object: now });
      try {
        while ((yield* again.#next()) !== undefined);
        return again.#seen.digest("hex") === this.#seen.copy().digest("hex");
      } finally {
        again.#letGo();
        while (again.#frames.length > 0) again.#leave();
      }
    } finally {
      release(now);
    }
  }

  #see(below: readonly string[], { stat }: Pinned): void {
    this.#seen.update(JSON.stringify([below, stat.version]));
  }

  #letGo(): void {
    if (this.#current !== undefined) release(this.#current);
    this.#current = undefined;
  }

  #leave(): void {
    const left = this.#frames.pop();
    // The top belongs to the walk.
    if (left !== undefined && this.#frames.length > 0) release(left.directory);
  }
}
