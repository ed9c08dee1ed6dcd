// A tree of the host as the source of a copy.

import { createHash, type Hash } from "node:crypto";
import type { FileAdapterError } from "../../../core/errors/errors.js";
import { ioError, isADirectory } from "../../../core/errors/texts.js";
import { type Awaitable, type Io, runIo } from "../../../core/io.js";
import type { Access, SourceOptions } from "../../../core/ports/backend.js";
import type { OpenFile } from "../../../core/ports/open-file.js";
import type { SourceEntry, TreeSource } from "../../../core/ports/tree-source.js";
import { type Name, readNames, sortYielding } from "../../../jail/directory.js";
import { identity, type Pinned, release, withPinned } from "../../../jail/handles.js";
import type { Jail } from "../../../jail/jail.js";
import { Descent } from "../../../jail/walk/descent.js";
import type { Walk } from "../../../jail/walk/walk.js";
import { RESERVED_NAME } from "../../../path/grammar.js";
import { omissionOf } from "../../path-policy.js";
import { detectEntryFolding } from "../entry-patterns.js";
import { openFile } from "../open.js";
import { mapErrors } from "../root.js";

const PERMISSION_BITS = 0o777;

/** A directory on the current branch. */
interface Frame {
  readonly names: readonly Name[];
  next: number;
}

export interface HostSourceParts {
  readonly there: SourceOptions["there"] | undefined;
  readonly leftOut: SourceOptions["leftOut"] | undefined;
  readonly jail: Jail;
  /** The walk that reached the top; closed with the source. */
  readonly walk: Walk;
  readonly object: Pinned;
  /** Last segment of the real path. */
  readonly name: string;
  readonly access: Access;
}

/**
 * A host tree that is being copied. Each directory is entered through its parent's handle, each file opened through its
 * own.
 */
export class HostSource implements TreeSource {
  readonly top: SourceEntry;
  readonly identity: string;
  readonly left = { symlinks: 0, policy: 0, unreadable: 0 };
  refusal: FileAdapterError | undefined;
  readonly #parts: HostSourceParts;
  readonly #descent: Descent;
  readonly #frames: Frame[] = [];
  /** Names from the top to the current directory. */
  readonly #below: string[] = [];
  /** Hash over the version of every visited entry. */
  readonly #seen: Hash = createHash("sha256");
  #current: Pinned | undefined;
  #isStarted = false;
  #isClosed = false;

  constructor(parts: HostSourceParts) {
    this.#parts = parts;
    this.#descent = new Descent(parts.jail.handles, parts.object);
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
    this.#releaseEntry();
    this.#descent.close();
    this.#parts.walk.close();
  }

  #run<T>(io: Io<T>): Awaitable<T> {
    const { place, scope } = this.#parts.access;
    return runIo(mapErrors(place, io), scope);
  }

  *#next(): Io<SourceEntry | undefined> {
    this.#releaseEntry();
    if (!this.#isStarted) {
      this.#isStarted = true;
      if (this.top.type === "file") return undefined;
      yield* this.#begin();
    }
    for (let frame = this.#frames.at(-1); frame !== undefined; frame = this.#frames.at(-1)) {
      yield* this.#parts.access.scope.breathe();
      const name = frame.names[frame.next++];
      if (name === undefined) {
        yield* this.#leave();
        continue;
      }
      const entry = yield* this.#examine(name);
      if (entry !== undefined) return entry;
    }
    return undefined;
  }

  *#examine(name: Name): Io<SourceEntry | undefined> {
    const { jail, access, there, leftOut } = this.#parts;
    const entry = { directory: this.#descent.directory, below: this.#below, name };
    yield* detectEntryFolding(jail, entry, [access.policy, access.protection]);
    const omission = omissionOf(access, there, { below: this.#below, name: name.name });
    if (omission !== undefined) {
      this.refusal ??= omission;
      this.left.policy++;
      return undefined;
    }
    const object = yield* jail.handles.pin(this.#descent.directory, name.raw);
    if (object === undefined) return undefined;
    this.#current = object;
    const { stat } = object;
    const below = [...this.#below, name.name];
    if (stat.isSymbolicLink()) this.left.symlinks++;
    else if (stat.isDirectory() ? this.#isForeign(object, name) : !stat.isFile()) this.left.unreadable++;
    else {
      this.#see(below, object);
      if (stat.isDirectory()) {
        this.#current = undefined;
        this.#descent.push(object, name.raw);
        this.#below.push(name.name);
        yield* this.#begin();
      }
      return this.#entry(object, below, name.raw);
    }
    leftOut?.(below, stat.isSymbolicLink() ? "symlink" : "other");
    this.#releaseEntry();
    return undefined;
  }

  /** Whether an entry is on another device, or is the staging directory of another root inside this one. */
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
      modified: stat.modifiedMs,
      ...(raw === undefined || typeof raw === "string" ? {} : { raw }),
    };
  }

  *#begin(): Io<void> {
    const { jail, access } = this.#parts;
    const { sys, foldsCase } = jail;
    const names = yield* readNames(sys, this.#descent.directory, { foldsCase, scope: access.scope });
    this.#frames.push({ names: yield* sortYielding(names, access.scope), next: 0 });
  }

  *#isUnchanged(): Io<boolean> {
    const { jail, walk, name } = this.#parts;
    const isSame = yield* withPinned(jail.handles.pin(walk.directory, name), (now) => this.#isAsSeen(now));
    return isSame === true;
  }

  *#isAsSeen(now: Pinned): Io<boolean> {
    if (identity(now) !== this.identity) return false;
    const again = new HostSource({ ...this.#parts, object: now, leftOut: undefined });
    try {
      while ((yield* again.#next()) !== undefined);
      return again.#seen.digest("hex") === this.#seen.copy().digest("hex");
    } finally {
      again.#releaseEntry();
      again.#descent.close();
    }
  }

  #see(below: readonly string[], { stat }: Pinned): void {
    // In walk order, depth and name determine an entry's position.
    this.#seen.update(JSON.stringify([below.length, below.at(-1), stat.version]));
  }

  #releaseEntry(): void {
    if (this.#current !== undefined) release(this.#current);
    this.#current = undefined;
  }

  *#leave(): Io<void> {
    this.#frames.pop();
    if (this.#frames.length === 0) return;
    const left = yield* this.#descent.leave();
    // The directory was moved during the copy, so the copy would be incomplete.
    if (left > 1) throw ioError(this.#parts.access.place, "ESTALE");
    this.#below.pop();
  }
}
