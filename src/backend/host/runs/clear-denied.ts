// Clears entries that commands have left under denied names: removes those that they made, and gives the others their
// names back.

import { FileAdapterError } from "../../../core/errors/errors.js";
import type { Identity } from "../../../core/identity.js";
import type { Io } from "../../../core/io.js";
import type { Access } from "../../../core/ports/backend.js";
import type { JournalWriter } from "../../../core/ports/changes/journal-writer.js";
import { examine, forEachPiece, type Name, nameOf } from "../../../jail/directory.js";
import { entryPath, identity, type Pinned, release } from "../../../jail/handles.js";
import type { Stat } from "../../../jail/stat.js";
import { errnoOf, quietly, succeeds } from "../../../jail/sys.js";
import { Descent } from "../../../jail/walk/descent.js";
import { RESERVED_NAME } from "../../../path/grammar.js";
import { kindOf, stateOf } from "../changes/report.js";
import { isEntryDenied } from "../entry-patterns.js";
import { type Keeping, recordOf } from "../history/note.js";
import { moveToTrash } from "../history/to-trash.js";
import type { WriteRules } from "../target.js";
import { giveBack, type Look, reach, type SeenAt } from "./give-back.js";
import type { RunDirectory } from "./scan.js";

/** Deeper directories are reached by no operation, and are hidden as a whole. */
const MAX_LEVELS = 512;

export type ClearAccess = Pick<Access, "place" | "verb" | "policy" | "scope" | "origin">;

export interface ClearGround extends RunDirectory {
  readonly access: ClearAccess;
  readonly rules: WriteRules;
  readonly journal: JournalWriter | undefined;
  /** User that commands may run as if this process is root. */
  readonly user: number;
}

export interface ClearTimes {
  /** When the first of the commands began, in milliseconds since the epoch. */
  readonly since: number;
  /** The state before each of the commands, earliest first. */
  readonly looks: readonly Look[];
  /** Identities of directories in which other commands still run. */
  readonly busy: ReadonlySet<string>;
}

interface Frame {
  readonly name: string | Buffer;
  readonly below: readonly string[];
  /** Depth of the nearest directory that is not denied: this one, or one above that the commands have made. */
  readonly visible: number;
  readonly names: Name[];
}

export class ClearDenied {
  removed = 0;
  /** Identities of the entries that have visible names again. */
  readonly returned = new Set<Identity>();
  readonly #ground: ClearGround;
  readonly #times: ClearTimes;
  readonly #users: ReadonlySet<number>;
  #descent: Descent;
  readonly #frames: Frame[] = [];
  /** Directories that have visible names again, and in which nothing was looked at so far. */
  readonly #later: (readonly string[])[] = [];

  constructor(ground: ClearGround, times: ClearTimes) {
    [this.#ground, this.#times] = [ground, times];
    const { jail, directory, user } = ground;
    const own = process.geteuid?.();
    const users = own === 0 ? [jail.top.stat.uid, user] : [own];
    // Commands never run as root.
    this.#users = new Set(users.filter((one) => one !== undefined && one !== 0) as number[]);
    this.#descent = new Descent(jail.handles, directory);
  }

  *run(): Io<void> {
    const { directory } = this.#ground;
    yield* this.#clear(directory, []);
    for (let names = this.#later.pop(); names !== undefined; names = this.#later.pop()) {
      const start = yield* reach(this.#ground, names);
      if (start === undefined) continue;
      try {
        yield* this.#clear(start, names);
      } finally {
        if (start !== directory) release(start);
      }
    }
  }

  *#clear(start: Pinned, below: readonly string[]): Io<void> {
    const { jail, access } = this.#ground;
    this.#descent = new Descent(jail.handles, start);
    this.#frames.length = 0;
    try {
      yield* this.#begin({ name: "", below, visible: below.length });
      for (let frame = this.#frames.at(-1); frame !== undefined; frame = this.#frames.at(-1)) {
        yield* access.scope.breathe();
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
  *#leave({ name, below, visible }: Frame): Io<void> {
    const left = yield* this.#descent.leave();
    this.#frames.length -= Math.max(1, left);
    if (left !== 1 || visible === below.length) return;
    if (yield* succeeds(this.#ground.jail.sys.rmdir(entryPath(this.#descent.directory, name)))) this.removed++;
  }

  *#visit(frame: Frame, name: Name): Io<void> {
    const { jail, access } = this.#ground;
    const { directory } = this.#descent;
    const isInDenied = frame.visible < frame.below.length;
    const entry = { directory, below: frame.below, name };
    const isDenied = isInDenied || (yield* isEntryDenied(jail, entry, access.policy));
    if (!isDenied && (name.type ?? "directory") !== "directory") return;
    const stat = yield* examine(jail.sys, directory, name);
    if (stat === undefined) return;
    const isMade = this.#isMade(stat);
    if (isDenied && !isMade) yield* this.#giveBack(frame, name, stat);
    else if (stat.isDirectory()) yield* this.#enter(frame, name, isDenied);
    else if (isDenied && (yield* this.#take(frame, name))) this.removed++;
  }

  /** Whether a command made the entry; `false` if the file system keeps no time of creation. */
  #isMade({ bornMs, uid }: Stat): boolean {
    return bornMs !== undefined && bornMs >= this.#times.since && this.#users.has(uid);
  }

  *#enter({ below, visible }: Frame, { raw, name }: Name, isDenied: boolean): Io<void> {
    const { jail } = this.#ground;
    if (below.length >= MAX_LEVELS) return;
    const child = yield* quietly(jail.handles.enter(this.#descent.directory, raw));
    if (child === undefined || typeof child === "string") return;
    if (child.stat.device !== jail.top.stat.device || this.#times.busy.has(identity(child))) {
      release(child);
      return;
    }
    this.#descent.push(child, raw);
    const names = [...below, name];
    yield* this.#begin({ name: raw, below: names, visible: isDenied ? visible : names.length });
  }

  /** Links with denied names are not hidden, so there are never too many. */
  *#giveBack({ below, visible }: Frame, { raw, name }: Name, { type }: Stat): Io<void> {
    const { jail } = this.#ground;
    const { directory } = this.#descent;
    const object = type === "symlink" ? undefined : yield* quietly(jail.handles.pin(directory, raw));
    if (object === undefined) return;
    try {
      const { stat } = object;
      const seen = this.#times.busy.has(identity(object)) ? undefined : this.#find(stat, name);
      if (seen === undefined || stat.device !== jail.top.stat.device) return;
      const entry = { directory, raw, object, above: below.slice(0, visible) };
      const place = yield* giveBack(this.#ground, entry, seen);
      if (place === undefined) return;
      this.returned.add(identity(object));
      if (stat.isDirectory()) this.#later.push(place);
    } finally {
      release(object);
    }
  }

  /** Finds the former name of an entry, by the first command that knew it. */
  #find(stat: Stat, name: string): SeenAt | undefined {
    for (const look of this.#times.looks) {
      const seen = look.find({ stat, directory: this.#descent.directory, name });
      if (seen !== undefined) return seen === "denied" ? undefined : seen;
    }
    return undefined;
  }

  /** Removes what a command has made and is no directory: into the trash, if the root has one. @returns whether it is gone */
  *#take({ below }: Frame, { raw, name }: Name): Io<boolean> {
    const { jail, real } = this.#ground;
    const { directory } = this.#descent;
    const object = yield* quietly(jail.handles.pin(directory, raw));
    if (object === undefined) return false;
    try {
      if (object.stat.isDirectory() || !this.#isMade(object.stat)) return false;
      const change = { ...this.#ground, walk: { directory, names: [...real, ...below] } };
      const binned =
        typeof raw === "string"
          ? yield* moveToTrash(change, { object, name: raw, options: { recursive: false } })
          : "not_kept";
      if (typeof binned === "string") return yield* succeeds(jail.sys.unlink(entryPath(directory, raw)));
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
