// A copy of a tree under construction in a stage.

import { invalidPath, ioError } from "../../../core/errors/texts.js";
import { type Io, runIo, wait } from "../../../core/io.js";
import type { Copied, CopyOptions } from "../../../core/ports/backend.js";
import type { OpenFile } from "../../../core/ports/open-file.js";
import type { SourceEntry, TreeSource } from "../../../core/ports/tree-source.js";
import { isWindows } from "../../../core/system.js";
import { below, CREATE, entryPath, type Pinned, release } from "../../../jail/handles.js";
import { flushDirectories } from "../../../jail/staging/flush.js";
import type { Stage } from "../../../jail/staging/lock-file.js";
import { closeNow, errnoOf, quietly } from "../../../jail/sys.js";
import { setTime, setTimeOfOpen } from "../../../jail/times.js";
import { Descent } from "../../../jail/walk/descent.js";
import { isReachableName, isReservedName } from "../../../path/grammar.js";
import { refusalOf } from "../../path-policy.js";
import type { Held } from "../../quota.js";
import { reserve } from "../quota.js";
import { type Change, giveDirectoryToOwner } from "../target.js";
import { ContentCopy } from "./content-copy.js";
import { giveToOwner, inheritRights } from "./put.js";

export interface Begun {
  readonly stage: Stage;
  readonly name: string;
  readonly path: string;
  /** Descriptor of a file; -1 once closed. */
  fd: number;
}

export class Copying {
  readonly #change: Change;
  /** For a directory: the top of the copy, and the descent to the directory being filled. */
  #top: Pinned | undefined;
  #descent: Descent | undefined;
  /** The top and each directory down to the deepest. */
  readonly #open: SourceEntry[] = [];
  readonly #keepsTimes: boolean;
  #begun: Begun | undefined;
  readonly #content: ContentCopy;
  readonly #held: Held[] = [];

  constructor(change: Change, options: CopyOptions) {
    this.#change = change;
    this.#keepsTimes = options.keepsTimes === true;
    this.#content = new ContentCopy(change, options);
  }

  /** Creates the empty top of the copy. The caller must call {@link end}. */
  *begin(source: TreeSource): Io<Begun> {
    const { jail, walk } = this.#change;
    const { staging, sys } = jail;
    for (let attempt = 1; ; attempt++) {
      const stage = attempt > 5 ? staging.beside(walk.directory) : yield* staging.open(walk.directory);
      const name = staging.newName(stage);
      const path = below(stage.directory, name);
      try {
        let fd = -1;
        if (source.top.type === "file") fd = yield* sys.open(path, CREATE, modeOfNew(source.top));
        else {
          yield* sys.mkdir(path, 0o700);
          if (stage.directory !== walk.directory) yield* this.#tryWay(path);
        }
        this.#begun = { stage, name, path, fd };
        return this.#begun;
      } catch (error) {
        stage.release();
        const code = errnoOf(error);
        if (stage.directory === walk.directory || code === undefined) throw error;
        // The staging directory is gone or unusable: the last attempt is made beside the target.
        if (code !== "ENOENT") attempt = 5;
      }
    }
  }

  /**
   * Moves the empty top of a tree beside the target and back. A bind mount of the same file system has the device
   * number of the root; a tree would be found to be on the wrong side of it only when all is copied.
   * @throws EXDEV, ENOENT; the top is removed then
   */
  *#tryWay(path: string): Io<void> {
    const { jail, walk } = this.#change;
    const beside = below(walk.directory, jail.staging.newName(jail.staging.beside(walk.directory)));
    try {
      yield* jail.sys.rename(path, beside);
    } catch (error) {
      // Any other failure fails the copy too, and is reported when the copy is put in place.
      if (errnoOf(error) !== "EXDEV") return;
      yield* quietly(jail.sys.rmdir(path));
      throw error;
    }
    try {
      yield* jail.sys.rename(beside, path);
    } catch (error) {
      // Another process removed the staging directory, which was empty meanwhile.
      yield* quietly(jail.sys.rmdir(beside));
      throw error;
    }
  }

  *run(source: TreeSource): Io<Omit<Copied, "overwritten">> {
    const { top } = source;
    const begun = this.#place();
    if (top.type === "file") {
      const { fd, path } = begun;
      begun.fd = -1;
      const sha256 = yield* this.#copyFile(top, { fd, path });
      return { files: 1, bytes: this.#content.bytes, ...(sha256 === undefined ? {} : { sha256 }) };
    }
    const directory = yield* this.#change.jail.handles.enter(begun.stage.directory, begun.name);
    if (typeof directory === "string") throw ioError(this.#change.access.place, "ESTALE");
    this.#top = directory;
    const descent = new Descent(this.#change.jail.handles, directory);
    this.#descent = descent;
    this.#open.push(top);
    for (let entry = yield* wait(source.next()); entry !== undefined; entry = yield* wait(source.next())) {
      this.#change.access.scope.checkpoint();
      yield* this.#closeTo(descent, entry.below.length);
      yield* this.#add(descent, entry);
    }
    yield* this.#closeTo(descent, 1);
    if (this.#change.rules.durable) yield* flushDirectories(this.#change.jail, [directory]);
    return { files: this.#content.files, bytes: this.#content.bytes };
  }

  /** The top gets its mode last: its owner could not move it without write permission. */
  *finish(): Io<void> {
    for (const held of this.#held.splice(0)) held.keep();
    this.#begun?.stage.release();
    this.#begun = undefined;
    if (this.#top === undefined) return;
    yield* giveDirectoryToOwner(this.#change.jail, this.#top);
    const { mode } = this.#open[0] ?? {};
    if (mode !== undefined) yield* quietly(this.#change.jail.sys.chmod(this.#top.path, mode));
  }

  /** Removes whatever was not placed. */
  *end(): Io<void> {
    for (const held of this.#held.splice(0)) held.undo();
    this.#descent?.close();
    if (this.#top !== undefined) release(this.#top);
    this.#top = undefined;
    if (this.#begun === undefined) return;
    const { stage, name, fd } = this.#begun;
    if (fd >= 0) closeNow(fd);
    const { jail } = this.#change;
    const work = function* (): Io<void> {
      try {
        yield* jail.staging.purge(stage, name);
      } finally {
        stage.release();
      }
    };
    const purging = runIo(work());
    // A stage beside the target uses the walk's own handle.
    if (stage.directory === this.#change.walk.directory) yield* wait(purging);
    else jail.trackBackground(purging);
  }

  #place(): Begun {
    if (this.#begun === undefined) throw new TypeError("A copy begins before it runs");
    return this.#begun;
  }

  *#add(descent: Descent, entry: SourceEntry): Io<void> {
    const { jail, access } = this.#change;
    const name = entry.below.at(-1) ?? "";
    const parent = descent.directory;
    const refusal = refusalOf(access, entry.below.slice(0, -1), name);
    if (refusal !== undefined) throw refusal;
    // Names from other stores may contain anything; on Windows some are paths, devices and streams.
    const isUnsafe = /^\.{0,2}$|\/|\0/.test(name) || (isWindows() && !isReachableName(name, false));
    if ((entry.raw === undefined && isUnsafe) || isReservedName(name, jail.foldsCase))
      throw invalidPath(access.place, "reserved name");
    const path = entryPath(parent, entry.raw ?? name);
    if (entry.type === "file") {
      yield* this.#copyFile(entry, { fd: yield* jail.sys.open(path, CREATE, modeOfNew(entry)), path });
      return;
    }
    yield* jail.sys.mkdir(path, 0o700);
    const directory = yield* jail.handles.enter(parent, entry.raw ?? name);
    if (typeof directory === "string") throw ioError(access.place, "ESTALE");
    descent.push(directory, entry.raw ?? name);
    this.#open.push(entry);
  }

  /** Finishes the directories below a depth, which will not be changed again. */
  *#closeTo(descent: Descent, depth: number): Io<void> {
    const { jail, access } = this.#change;
    const change = this.#change;
    const keepsTimes = this.#keepsTimes;
    while (this.#open.length > depth) {
      yield* access.scope.breathe();
      const { mode, modified } = this.#open.pop() ?? {};
      const left = yield* descent.leave(function* (directory) {
        if (change.rules.durable) yield* flushDirectories(jail, [directory]);
        yield* giveDirectoryToOwner(jail, directory);
        if (mode !== undefined) yield* jail.sys.chmod(directory.path, mode);
        if (keepsTimes && modified !== undefined) yield* setTime(jail.sys, directory.path, modified);
      });
      if (left !== 1) throw ioError(access.place, "ESTALE");
    }
  }

  /** @param made an empty file, closed in every case */
  *#copyFile(entry: SourceEntry, made: { fd: number; path: string | Buffer }): Io<string | undefined> {
    const { jail, rules } = this.#change;
    const { fd, path } = made;
    let file: OpenFile | undefined;
    try {
      file = yield* wait(entry.open());
      const isInside = entry.below.length > 0;
      if (isInside) this.#held.push(reserve(this.#change, { bytes: file.size, files: 1 }));
      // How much a tree holds shows when all of it is copied.
      const later = isInside ? Number.POSITIVE_INFINITY : 0;
      const sha256 = yield* this.#content.copy(file, { fd, path, later });
      yield* isInside ? giveToOwner(jail, fd) : inheritRights(this.#change, fd);
      if (entry.mode !== undefined) yield* jail.sys.fchmod(fd, entry.mode);
      if (this.#keepsTimes && entry.modified !== undefined) yield* setTimeOfOpen(jail.sys, fd, entry.modified);
      if (rules.durable) yield* jail.sys.fsync(fd);
      return sha256;
    } finally {
      file?.close();
      yield* jail.sys.close(fd);
    }
  }
}

/** Only this process may access it until it gets its final mode. */
const modeOfNew = ({ mode }: SourceEntry): number => (mode === undefined ? 0o666 : 0o600);
