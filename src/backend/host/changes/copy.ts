// Copies a tree into a directory of the host.

import { alreadyExists, invalidInput, invalidPath, ioError, notSupportedByRoot } from "../../../core/errors/texts.js";
import { type Io, runIo, wait } from "../../../core/io.js";
import type { At, Copied, CopyOptions } from "../../../core/ports/backend.js";
import type { EntryChange, EntryState } from "../../../core/ports/changes/change.js";
import type { OpenFile } from "../../../core/ports/open-file.js";
import type { SourceEntry, TreeSource } from "../../../core/ports/tree-source.js";
import { isWindows } from "../../../core/system.js";
import { below, CREATE, entryPath, identity, type Pinned, release, statBelow } from "../../../jail/handles.js";
import { flushDirectories } from "../../../jail/staging/flush.js";
import type { Stage } from "../../../jail/staging/lock-file.js";
import type { Stat } from "../../../jail/stat.js";
import { closeNow, errnoOf, quietly } from "../../../jail/sys.js";
import { Descent } from "../../../jail/walk/descent.js";
import { isReachableName, isReservedName } from "../../../path/grammar.js";
import { refusalOf } from "../../path-policy.js";
import type { Held } from "../../quota.js";
import type { Guard } from "../guard.js";
import { NONE, reserve } from "../quota.js";
import { type Change, giveDirectoryToOwner, type WriteRules } from "../target.js";
import { ALONE, makeAlone } from "./alone.js";
import { ContentCopy } from "./content-copy.js";
import { type Coming, type Describe, Goal } from "./goal.js";
import { isReported, stateOf } from "./report.js";
import { giveToOwner, inheritRights } from "./rights.js";
import { type Committed, End, type Plan, type Step } from "./step.js";

/** Places a copy of a tree: prepared in a stage, then made visible by one rename. */
export class CopyStep implements Step {
  readonly ends: readonly [End];
  readonly makesParents: boolean;
  readonly isConditional: boolean;
  readonly record = {};
  readonly #goal: Goal;
  readonly #source: TreeSource;
  readonly #options: CopyOptions;
  readonly #isFile: boolean;
  #copying: Copying | undefined;
  #stage: Begun | undefined;
  #copied: Omit<Copied, "overwritten"> = { files: 0, bytes: 0 };
  #isOverwritten = false;

  constructor(at: At, source: TreeSource, options: CopyOptions, rules: WriteRules) {
    this.#source = source;
    this.#options = options;
    this.#isFile = source.top.type === "file";
    const end = new End(at, { followLast: false, onlyTarget: false }, rules);
    this.#goal = new Goal(end, options, ALONE);
    this.ends = [end];
    this.makesParents = options.parents;
    this.isConditional = options.expected !== undefined;
  }

  *check(): Io<void> {
    const { change, found } = this.#goal.place;
    if (change.path.segments.length === 0) throw alreadyExists(change.access.place);
    if (found.state === "found" && this.#source.identity === identity(found.object)) {
      throw invalidInput("'to' is the same as 'path'", "/to", "another path");
    }
    yield* this.#goal.check(this.#coming(undefined));
  }

  *stage(): Io<void> {
    const { change } = this.#goal.place;
    const copying = new Copying(change, this.#options);
    this.#copying = copying;
    this.#stage = yield* copying.begin(this.#source);
    this.#copied = yield* copying.run(this.#source);
    this.#options.approve?.(this.#copied.sha256);
  }

  *prepare(): Io<Plan> {
    const { change } = this.#goal.place;
    const stat = isReported(change) ? yield* quietly(change.jail.sys.lstat(this.#begun.path)) : undefined;
    // The quota for the contents of a directory was reserved entry by entry.
    const added = this.#isFile ? this.#copied : NONE;
    return yield* this.#goal.prepare(this.#coming(stat), (told) => this.#describe(told, stat), { added });
  }

  *commit(guard: Guard): Io<Committed> {
    const entry = { path: this.#begun.path, isDirectory: !this.#isFile, copies: true };
    const copying = this.#copying;
    if (copying === undefined) throw notStaged();
    const committed = yield* this.#goal.commit(entry, guard, {
      describe: (told) => this.#describe(told, undefined),
      after: (name) => this.#stateNow(name),
      // It gets its permissions last: what is told of is how it stays.
      finish: () => copying.finish(),
    });
    this.#isOverwritten = committed.effect.existed;
    return committed;
  }

  *#stateNow(name: string): Io<EntryState> {
    const { jail, walk } = this.#goal.place.change;
    return this.#stateOf(yield* quietly(statBelow(jail.sys, walk.directory, name)));
  }

  #stateOf(stat: Stat | undefined): EntryState {
    const { bytes, sha256 } = this.#copied;
    return stat === undefined ? { size: bytes, modified: Date.now() } : stateOf(stat, sha256);
  }

  #describe({ path, made = [], before, after }: Parameters<Describe>[0], stat: Stat | undefined): EntryChange {
    const { from } = this.#options;
    return {
      action: before === null ? "created" : "modified",
      kind: this.#isFile ? "file" : "directory",
      path,
      ...(made.length > 0 && { made }),
      ...(from === undefined ? {} : { from: from.path }),
      ...(from === undefined || from.root === this.#goal.place.at.access.place.root ? {} : { fromRoot: from.root }),
      ...(this.#isFile ? {} : { files: this.#copied.files }),
      before,
      after: after ?? this.#stateOf(stat),
    };
  }

  #coming(stat: Stat | undefined): Coming {
    return { stat, isDirectory: !this.#isFile, identity: this.#source.identity };
  }

  get #begun(): Begun {
    if (this.#stage === undefined) throw notStaged();
    return this.#stage;
  }

  *end(): Io<void> {
    yield* this.#goal.end();
    if (this.#copying !== undefined) yield* this.#copying.end();
  }

  get copied(): Copied {
    return { ...this.#copied, overwritten: this.#isOverwritten };
  }
}

const notStaged = (): Error => new TypeError("A copy is staged before it gets its place");

/** Places a copy alone. */
export function* copyAlone(step: CopyStep): Io<Copied> {
  try {
    yield* makeAlone(step);
    return step.copied;
  } catch (error) {
    if (errnoOf(error) !== "EXDEV") throw error;
    // A directory whose place is taken, or that came to lie on another mount meanwhile.
    const { place } = step.ends[0].at.access;
    throw notSupportedByRoot(place, "replacing a directory on another mount by a copy. Delete it first");
  }
}

interface Begun {
  readonly stage: Stage;
  readonly name: string;
  readonly path: string;
  /** Of a file; -1 once closed. */
  fd: number;
}

/** A copy under construction. */
class Copying {
  readonly #change: Change;
  /** Of a directory: the top of the copy, and the descent to the directory being filled. */
  #top: Pinned | undefined;
  #descent: Descent | undefined;
  /** Modes of the top and of each directory down to the deepest. */
  readonly #modes: (number | undefined)[] = [];
  #begun: Begun | undefined;
  readonly #content: ContentCopy;
  readonly #held: Held[] = [];

  constructor(change: Change, options: CopyOptions) {
    this.#change = change;
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
      // Whatever else prevents it prevents the copy too, and is told when it is placed.
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
    this.#modes.push(top.mode);
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
    const [mode] = this.#modes;
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
    this.#modes.push(entry.mode);
  }

  /** Finishes the directories below a depth, which will not be changed again. */
  *#closeTo(descent: Descent, depth: number): Io<void> {
    const { jail, access } = this.#change;
    const change = this.#change;
    while (this.#modes.length > depth) {
      yield* access.scope.breathe();
      const mode = this.#modes.pop();
      const left = yield* descent.leave(function* (directory) {
        if (change.rules.durable) yield* flushDirectories(jail, [directory]);
        yield* giveDirectoryToOwner(jail, directory);
        if (mode !== undefined) yield* jail.sys.chmod(directory.path, mode);
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
