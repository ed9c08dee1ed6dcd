// The common parts of all steps of a group: places that are resolved and locked, checks, a record to undo it, and its
// commit.

import type { FileAdapterError } from "../../../core/errors/errors.js";
import { notSupportedByRoot, type Place } from "../../../core/errors/texts.js";
import { type Sentence, tool } from "../../../core/errors/wording.js";
import type { Io } from "../../../core/io.js";
import type { At, GroupEffect } from "../../../core/ports/backend.js";
import type { EntryChange } from "../../../core/ports/changes/change.js";
import { below, CREATE, identity, type Pinned, READ } from "../../../jail/handles.js";
import type { Jail } from "../../../jail/jail.js";
import type { LockRequest } from "../../../jail/staging/locks.js";
import { NO_LINKS } from "../../../jail/staging/rename.js";
import { closeNow, errnoOf, quietly } from "../../../jail/sys.js";
import { setTimeOfOpen } from "../../../jail/times.js";
import type { Amount } from "../../quota.js";
import { putInPlace } from "../changes/put.js";
import type { Guard } from "../guard.js";
import { keepsFile } from "../history/keep.js";
import { requireWritableTrash } from "../history/to-trash.js";
import { copyBytes } from "../open.js";
import type { Arrival, Way } from "../root.js";
import { type Change, nameKey, openedJournal, type Reached, type WriteRules } from "../target.js";
import type { Intent, RealPath, StepRecord } from "./intent.js";

/** Walks to a path in one jail, which the first walk chooses. */
export type Enter = (at: At, way: Way, jail: Jail | undefined) => Io<Arrival>;

/** A step that is ready: how to undo it, and what it takes of the quota. */
export interface Ready {
  readonly record: StepRecord;
  readonly amount: Amount;
  /** Absent: nothing will change. */
  readonly planned?: EntryChange;
  /** Of the entry that gets the name. */
  readonly inode?: string | undefined;
}

/** Result of a committed step. */
export interface Committed {
  readonly effect: GroupEffect;
  /** Absent: nothing changed. */
  readonly change?: EntryChange;
}

/** One change of a group on the host. */
export interface Step {
  readonly ends: readonly End[];
  /** Missing directories on the way are made. */
  readonly makesParents: boolean;
  /** Bytes that it stages; Infinity: nobody knows. Absent: none. */
  readonly length?: number;
  /** Refuses what can be refused without a lock, before anything is staged. Not called if it depends on earlier steps. */
  check(): Io<void>;
  /** Prepares content in the folder of the intent, without a lock. @param later bytes that later steps stage */
  stage(intent: Intent, later: number): Io<void>;
  /** Under all locks: checks what is there now, and keeps it. @param bin name in the trash for what it takes away, if kept */
  prepare(intent: Intent, bin: string | undefined): Io<Ready>;
  /** The change itself. @param guard called right before */
  commit(intent: Intent, guard: Guard): Io<Committed>;
}

/** One place of a step. */
export class End {
  readonly at: At;
  readonly #way: Way;
  readonly #rules: WriteRules;
  readonly #made: string[][] = [];
  #arrival: Arrival | undefined;

  constructor(at: At, way: Way, rules: WriteRules) {
    this.at = at;
    this.#way = way;
    this.#rules = rules;
  }

  get isOpen(): boolean {
    return this.#arrival !== undefined;
  }

  *open(enter: Enter, jail: Jail | undefined): Io<Jail> {
    this.at.access.scope.checkpoint();
    this.close();
    this.#arrival = yield* enter(this.at, this.#way, jail);
    this.#arrival.walk.settle();
    return this.#arrival.jail;
  }

  close(): void {
    this.#arrival?.walk.close();
    this.#arrival = undefined;
  }

  get change(): Change {
    const { jail, walk } = this.#opened;
    const journal = openedJournal(this.#rules);
    // The group notes its changes itself.
    return { jail, walk, rules: this.#rules, made: this.#made, journal, id: "", ...this.at };
  }

  get found(): Reached {
    return this.#opened.found;
  }

  /** The real path as far as it is known. */
  get real(): RealPath {
    return this.#opened.found.real;
  }

  /** Directories on the way that are missing, as real paths. */
  get missing(): RealPath[] {
    const { found } = this.#opened;
    if (found.state !== "missing") return [];
    const above = found.real.length - found.missing.length;
    return found.missing.slice(1).map((_, index) => found.real.slice(0, above + index + 1));
  }

  /** Lock keys for which other writers of this place wait. */
  get keys(): LockRequest {
    const { walk, found } = this.#opened;
    const name = found.state === "missing" ? found.missing[0] : found.real.at(-1);
    return { shared: walk.identities(), exclusive: [nameKey(walk.directory, name ?? "")] };
  }

  get #opened(): Arrival {
    if (this.#arrival === undefined) throw new TypeError("The place of a step is not open");
    return this.#arrival;
  }
}

/** The directories that a step made on the way, for its report. */
export const madeFor = ({ made }: Change): { made?: string[][] } => (made.length === 0 ? {} : { made: made.splice(0) });

/** Only renames within one file system are atomic. @throws NOT_SUPPORTED */
export function requireTopDevice({ jail, walk, access }: Change): void {
  if (walk.directory.stat.device === jail.top.stat.device) return;
  throw notOnThisMount(access.place);
}

const notOnThisMount = (place: Place): FileAdapterError => {
  const what: Sentence = ["groups of changes (", tool("patch"), ", ", tool("undo"), ") on another mount. "];
  const instead = [tool("write"), ", ", tool("edit"), ", ", tool("move"), " and ", tool("delete")];
  return notSupportedByRoot(place, ...what, "Change the files there one at a time, with ", ...instead);
};

/** {@link putInPlace} within a group. @throws NOT_SUPPORTED for a bind mount, whose device number is that of the root */
export function* putInGroup(...[change, ready, target]: Parameters<typeof putInPlace>): Io<void> {
  try {
    yield* putInPlace(change, ready, target);
  } catch (error) {
    throw errnoOf(error) === "EXDEV" ? notOnThisMount(change.access.place) : error;
  }
}

/** Directories that `parents` makes, as real paths. */
export const madePaths = ({ walk }: Change, parents: readonly string[]): RealPath[] =>
  parents.map((_, index) => [...walk.names, ...parents.slice(0, index + 1)]);

/** Looks up what has a name now. Whoever gets it releases it. */
export const pinCurrent = ({ jail, walk }: Change, name: string): Io<Pinned | undefined> =>
  jail.handles.pin(walk.directory, name);

/**
 * Gives a file that is about to be replaced a second name in the intent, or copies it where that is not possible.
 * @returns `false` if the name now has another file
 */
export function* keepBefore(change: Change, from: { name: string; old: Pinned }, to: string): Io<boolean> {
  const { jail, walk } = change;
  const path = below(walk.directory, from.name);
  if (keepsFile(change, from.old)) yield* requireWritableTrash(change);
  try {
    yield* jail.sys.link(path, to);
  } catch (error) {
    const code = errnoOf(error) ?? "";
    if (code === "ENOENT") return false;
    if (!NO_LINKS.has(code)) throw error;
    yield* copyBefore(change, from.old, to);
    return true;
  }
  if ((yield* jail.sys.lstat(to))?.identity === identity(from.old)) return true;
  yield* quietly(jail.sys.unlink(to));
  return false;
}

/** A copy with the permissions and the time of its original. */
function* copyBefore({ jail, rules }: Change, old: Pinned, to: string): Io<void> {
  const { sys } = jail;
  const source = yield* jail.handles.reopen(old, READ);
  try {
    const fd = yield* sys.open(to, CREATE, 0o600);
    try {
      yield* copyBytes(jail.sys, { from: source, to: fd });
      yield* sys.fchmod(fd, old.stat.mode & 0o777);
      yield* setTimeOfOpen(sys, fd, old.stat.modifiedMs);
      if (rules.durable) yield* sys.fsync(fd);
    } finally {
      closeNow(fd);
    }
  } finally {
    closeNow(source);
  }
}
