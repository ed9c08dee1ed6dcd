// Removes what commands have made under denied names, where that is too much to hide from the next command.

import { CallScope } from "../../../core/call/scope.js";
import { systemClock } from "../../../core/clock.js";
import { FileAdapterError } from "../../../core/errors/errors.js";
import type { Io } from "../../../core/io.js";
import type { Access } from "../../../core/ports/backend.js";
import type { JournalWriter } from "../../../core/ports/changes/journal-writer.js";
import { examine, forEachPiece, type Name, nameOf } from "../../../jail/directory.js";
import { entryPath, identity, type Pinned, release } from "../../../jail/handles.js";
import type { Jail } from "../../../jail/jail.js";
import type { Stat } from "../../../jail/stat.js";
import { errnoOf, quietly, succeeds } from "../../../jail/sys.js";
import { Descent } from "../../../jail/walk/descent.js";
import { RESERVED_NAME } from "../../../path/grammar.js";
import { type Keeping, kindOf, recordOf, stateOf } from "../changes/report.js";
import { isEntryDenied } from "../entry-patterns.js";
import { moveToTrash } from "../history/to-trash.js";
import { findMasks } from "../masks.js";
import { hasOtherMarks, type RunMark } from "../run-mark.js";
import type { WriteRules } from "../target.js";
import type { RunChanges } from "./run-changes.js";

/** Deeper directories are reached by no operation, and are hidden as a whole. */
const MAX_LEVELS = 512;

/** Where a command may write. */
export interface RunGround {
  readonly jail: Jail;
  /** The mounted directory. */
  readonly directory: Pinned;
  /** Its names below the root. */
  readonly real: readonly string[];
  readonly access: Access;
  readonly rules: WriteRules;
  readonly journal: JournalWriter | undefined;
  readonly mark: RunMark;
  /** Present if changes are recorded. */
  readonly changes: RunChanges | undefined;
  /** User that commands may run as if this process is root. */
  readonly user: number;
}

/** The commands that may write in a root, until their mounts are closed. */
const runsIn = new WeakMap<Jail, Set<MadeDenied>>();

/**
 * What one command makes under denied names. Too much of it would keep all further commands from being run, and no
 * operation can delete it, so it is removed after the command: what its user has made while it ran, as the file system
 * itself recorded. A file that existed before is only ever moved to the trash, and only if the command saw it by
 * another name.
 */
export class MadeDenied {
  readonly #ground: RunGround;
  readonly #runs: Set<MadeDenied>;
  #since = Date.now();
  #isRunning = true;

  private constructor(ground: RunGround, runs: Set<MadeDenied>) {
    this.#ground = ground;
    this.#runs = runs;
  }

  /** Call it before the command, and {@link leave} at its end. */
  static begin(ground: RunGround): MadeDenied {
    const runs = runsIn.get(ground.jail) ?? new Set();
    runsIn.set(ground.jail, runs);
    const made = new MadeDenied(ground, runs);
    runs.add(made);
    return made;
  }

  leave(): void {
    this.#runs.delete(this);
  }

  /**
   * Call it after the command: removes what it has made, if commands could not be run any more.
   * @returns number of entries removed
   */
  *settle(): Io<number> {
    this.#isRunning = false;
    const { access, mark } = this.#ground;
    // Whatever has become of the call: the command was run.
    const scope = new CallScope({ clock: systemClock, timeoutMs: Number.POSITIVE_INFINITY });
    const { place, verb, policy } = access;
    if (!(yield* isTooMuch(this.#ground, { place, scope, policy }))) return 0;
    // What concurrent commands have made cannot be told apart, so the last of them removes it all.
    const others = [...this.#runs].filter((one) => one.#isRunning);
    const wider = others.find((one) => isPrefix(one.#ground.real, this.#ground.real));
    if (wider !== undefined) {
      wider.#since = Math.min(wider.#since, this.#since);
      return 0;
    }
    // Commands of other processes, too.
    if (yield* hasOtherMarks(this.#ground.jail, mark, new Set([...this.#runs].map((one) => one.#ground.mark.name)))) {
      return 0;
    }
    const busy = new Set(others.map((one) => identity(one.#ground.directory)));
    // Not part of the group of the command: it is nothing that a caller can undo.
    const { group: _, ...origin } = access.origin ?? {};
    const quiet = { place, verb, policy, scope, ...(access.origin === undefined ? {} : { origin }) } as MadeAccess;
    const removal = new Removal({ ...this.#ground, access: quiet }, { since: this.#since, busy });
    yield* removal.run();
    return removal.removed;
  }
}

type MadeAccess = Pick<Access, "place" | "verb" | "policy" | "scope" | "origin">;

/** Judged exactly as before the next command. */
function* isTooMuch({ jail, directory }: RunGround, access: Pick<Access, "place" | "scope" | "policy">): Io<boolean> {
  try {
    yield* findMasks(jail, directory, access, false);
    return false;
  } catch (error) {
    if (error instanceof FileAdapterError) return typeof error.data["denied"] === "number";
    throw error;
  }
}

const isPrefix = (above: readonly string[], path: readonly string[]): boolean =>
  above.every((name, index) => name === path[index]);

interface Frame {
  readonly name: string | Buffer;
  readonly below: readonly string[];
  /** The directory is one that the command has made under a denied name, or lies in one. */
  readonly isDenied: boolean;
  readonly names: Name[];
}

type RemovalGround = Omit<RunGround, "access"> & { readonly access: MadeAccess };

class Removal {
  removed = 0;
  readonly #ground: RemovalGround;
  /** Milliseconds since the epoch. */
  readonly #since: number;
  /** Directories in which commands are still running. */
  readonly #busy: ReadonlySet<string>;
  readonly #users: ReadonlySet<number>;
  readonly #seen: ReadonlySet<string>;
  readonly #descent: Descent;
  readonly #frames: Frame[] = [];

  constructor(ground: RemovalGround, { since, busy }: { readonly since: number; readonly busy: ReadonlySet<string> }) {
    [this.#ground, this.#since, this.#busy] = [ground, since, busy];
    const { jail, directory, user } = ground;
    const own = process.geteuid?.();
    const users = own === 0 ? [jail.top.stat.uid, user] : [own];
    // Commands never run as root.
    this.#users = new Set(users.filter((one) => one !== undefined && one !== 0) as number[]);
    this.#seen = ground.changes?.identitiesBefore() ?? new Set();
    this.#descent = new Descent(jail.handles, directory);
  }

  *run(): Io<void> {
    const { scope } = this.#ground.access;
    try {
      yield* this.#begin({ name: "", below: [], isDenied: false });
      for (let frame = this.#frames.at(-1); frame !== undefined; frame = this.#frames.at(-1)) {
        yield* scope.breathe();
        const name = frame.names.pop();
        if (name === undefined) yield* this.#leave(frame);
        else if (name.name.toLowerCase() !== RESERVED_NAME) yield* this.#visit(frame, name);
      }
    } finally {
      this.#descent.close();
    }
  }

  *#begin(frame: Omit<Frame, "names">): Io<void> {
    const { jail } = this.#ground;
    const names: Name[] = [];
    const read = forEachPiece(jail.sys, this.#descent.directory, function* (entries) {
      for (const entry of entries) names.push(nameOf(entry));
    });
    yield* quietly(read);
    this.#frames.push({ ...frame, names });
  }

  /** A directory goes only if nothing is left in it. */
  *#leave({ name, isDenied }: Frame): Io<void> {
    const left = yield* this.#descent.leave();
    this.#frames.length -= Math.max(1, left);
    if (left !== 1 || !isDenied) return;
    if (yield* succeeds(this.#ground.jail.sys.rmdir(entryPath(this.#descent.directory, name)))) this.removed++;
  }

  *#visit(frame: Frame, name: Name): Io<void> {
    const { jail, access } = this.#ground;
    const { directory } = this.#descent;
    const entry = { directory, below: frame.below, name };
    const isDenied = frame.isDenied || (yield* isEntryDenied(jail, entry, access.policy));
    if (!isDenied && (name.type ?? "directory") !== "directory") return;
    const stat = yield* examine(jail.sys, directory, name);
    if (stat === undefined) return;
    const isMade = this.#isMade(stat);
    if (stat.isDirectory() && (isMade || !isDenied)) yield* this.#enter(frame, name, isDenied);
    const isMeant = isMade || this.#seen.has(stat.identity);
    if (isDenied && isMeant && !stat.isDirectory() && (yield* this.#take(frame, name))) this.removed++;
  }

  /** Without a time of creation nothing is known to be made by the command. */
  #isMade({ bornMs, uid }: Stat): boolean {
    return bornMs !== undefined && bornMs >= this.#since && this.#users.has(uid);
  }

  *#enter({ below }: Frame, { raw, name }: Name, isDenied: boolean): Io<void> {
    const { jail } = this.#ground;
    if (this.#descent.depth >= MAX_LEVELS) return;
    const child = yield* quietly(jail.handles.enter(this.#descent.directory, raw));
    if (child === undefined || typeof child === "string") return;
    if (child.stat.device !== jail.top.stat.device || this.#busy.has(identity(child))) {
      release(child);
      return;
    }
    this.#descent.push(child, raw);
    yield* this.#begin({ name: raw, below: [...below, name], isDenied });
  }

  /** Removes what is no directory: into the trash, if the root has one. @returns whether it is gone */
  *#take({ below }: Frame, { raw, name }: Name): Io<boolean> {
    const { jail, real } = this.#ground;
    const { directory } = this.#descent;
    const object = yield* quietly(jail.handles.pin(directory, raw));
    if (object === undefined) return false;
    try {
      const isMade = this.#isMade(object.stat);
      const isKnown = isMade || this.#seen.has(object.stat.identity);
      if (object.stat.isDirectory() || !isKnown) return false;
      const change = { ...this.#ground, walk: { directory, names: [...real, ...below] } };
      const binned = typeof raw === "string" ? yield* moveToTrash(change, { object, name: raw }, {}) : "not_kept";
      if (typeof binned === "string") {
        return isMade && (yield* succeeds(jail.sys.unlink(entryPath(directory, raw))));
      }
      yield* this.#record([...real, ...below, name], object.stat, binned.keeping);
      binned.stage.release();
      return true;
    } catch (error) {
      // A root that deletes nothing for good keeps it, as others' entries.
      if (error instanceof FileAdapterError || errnoOf(error) !== undefined) return false;
      throw error;
    } finally {
      release(object);
    }
  }

  *#record(path: string[], stat: Stat, keeping: Keeping): Io<void> {
    const { journal, access } = this.#ground;
    const change = { action: "deleted", kind: kindOf(stat), path, before: stateOf(stat), after: null } as const;
    journal?.add(recordOf({ access }, change, keeping.id), yield* keeping.done());
  }
}
