// Removes entries, and makes directories.

import { existsNotDirectory, isADirectory, notAFile, rootDelete, symlinkEscape } from "../../../core/errors/texts.js";
import type { Io } from "../../../core/io.js";
import type { At, Removed, RemoveOptions, Standing, WriteOptions } from "../../../core/ports/backend.js";
import type { EntryChange } from "../../../core/ports/changes/change.js";
import { type Pinned, release, statBelow } from "../../../jail/handles.js";
import { errnoOf, quietly } from "../../../jail/sys.js";
import { expectationError, requireExpected } from "../../preconditions.js";
import type { Amount } from "../../quota.js";
import { imageOf, type StepRecord } from "../group/intent.js";
import { checkExpected, checkVersion, type Guard } from "../guard.js";
import { newDirectory } from "../history/note.js";
import type { Displaced } from "../history/to-trash.js";
import { countTree, freedBy, NONE } from "../quota.js";
import { type Change, makeOne, type WriteRules } from "../target.js";
import { requireAllAllowed, requireEmpty } from "../tree-policy.js";
import { makeAlone } from "./alone.js";
import { purge } from "./removal.js";
import { isReported, realPath, removalOf, stateOf } from "./report.js";
import { type Committed, End, type Ground, madePaths, type Plan, type Step, type Taken } from "./step.js";

/** Removes an entry itself: a link rather than its target; a directory tree by one rename. */
export class RemoveStep implements Step {
  readonly ends: readonly [End];
  readonly isConditional: boolean;
  readonly #ground: Ground;
  readonly #end: End;
  readonly #options: RemoveOptions & Standing;
  #object: Pinned | undefined;
  #planned: EntryChange | undefined;
  #to: Displaced | undefined;
  #taken: Taken | undefined;

  constructor(
    { at, options }: { readonly at: At; readonly options: RemoveOptions & Standing },
    ground: Ground,
    rules: WriteRules,
  ) {
    if (at.path.segments.length === 0) throw rootDelete(at.access.place.root);
    this.#options = options;
    this.#ground = ground;
    this.#end = new End(at, { followLast: false, onlyTarget: false }, rules);
    this.ends = [this.#end];
    this.isConditional = options.expected !== undefined;
  }

  *check(): Io<void> {
    const { change, found } = this.#end;
    if (found.state !== "found") return yield* this.#refuseMissing();
    this.#checkType(change, found.object);
    this.#ground.requireNear(change);
    if (this.#mustBeEmpty) yield* requireEmpty(change, found.object);
    // A step alone removes whichever entry has the name at the commit.
    this.#end.isStale = this.#ground.isGroup || this.isConditional;
  }

  *prepare(): Io<Plan> {
    const { change } = this.#end;
    const object = yield* this.#end.current();
    if (object === undefined) return yield* this.#refuseMissing();
    this.#ground.requireNear(change);
    const { recursive, version, expected } = this.#options;
    this.#checkType(change, object);
    checkVersion(change, object, version);
    yield* checkExpected(change, object, expected);
    if (recursive) yield* requireAllAllowed(change, object);
    else if (this.#mustBeEmpty) yield* requireEmpty(change, object);
    this.#to = yield* this.#ground.placeFor(change, { object, name: this.#end.name, options: this.#options });
    this.#object = object;
    this.#planned = isReported(change) ? removalOf(change, this.#end.name, object.stat) : undefined;
    return { change: this.#planned, amount: yield* this.#freed(change, object), notes: "in commit" };
  }

  get record(): StepRecord {
    const { real } = this.#end;
    if (this.#object === undefined || this.#to === undefined) return {};
    const { name: kept, isBinned } = this.#to;
    const taken = { path: [...real], what: imageOf(this.#object.stat), kept };
    return { taken: isBinned ? { ...taken, isBinned } : taken };
  }

  *commit(guard: Guard): Io<Committed> {
    const { change, name } = this.#end;
    const object = this.#object;
    if (object === undefined) throw new TypeError("A step is prepared before its commit");
    yield* guard();
    change.access.scope.commit();
    this.#taken = yield* this.#ground.take(change, { object, name, options: this.#options }, this.#to);
    const { keeping } = this.#taken;
    return { effect: { existed: true }, change: this.#planned, keeping };
  }

  *end(): Io<void> {
    if (this.#taken === undefined && this.#to?.keeping !== undefined) yield* this.#to.keeping.undo();
    this.#to?.stage.release();
    const { hidden } = this.#taken ?? {};
    if (hidden !== undefined) yield* purge(this.#end.change, hidden);
  }

  get removed(): Removed {
    const { keeping, isTrashed, reason } = this.#taken ?? {};
    if (isTrashed === true && keeping !== undefined) return { existed: true, trashed: true, id: keeping.id };
    return reason === undefined || reason === "off" ? { existed: true } : { existed: true, trashed: false, reason };
  }

  *#refuseMissing(): Io<never> {
    yield* checkExpected(this.#end.change, undefined, this.#options.expected);
    throw Object.assign(new Error("nothing to remove"), { code: "ENOENT", syscall: "unlink" });
  }

  #checkType({ access }: Change, { stat }: Pinned): void {
    if (stat.isSymbolicLink() && access.links === "refuse") throw symlinkEscape(access.place);
    const isDirectory = stat.isDirectory();
    if (isDirectory && (this.isConditional || access.rules?.removesFilesOnly === true))
      throw isADirectory(access.place);
    if (this.isConditional && !stat.isFile()) throw notAFile(access.place);
  }

  /** For a step alone rmdir itself tells: the directory may hold only staging files of dead processes. */
  get #mustBeEmpty(): boolean {
    return this.#ground.isGroup && !this.#options.recursive;
  }

  *#freed({ jail, rules }: Change, object: Pinned): Io<Amount> {
    if (rules.usage === undefined) return NONE;
    const freed = object.stat.isDirectory() ? yield* countTree(jail, object, true) : freedBy(object.stat);
    return { bytes: -freed.bytes, files: -freed.files };
  }
}

/** Removes an entry alone; a missing entry counts as removed. */
export function* removeAlone(step: RemoveStep): Io<Removed> {
  try {
    yield* makeAlone(step);
  } catch (error) {
    if (errnoOf(error) === "ENOENT") return { existed: false };
    throw error;
  }
  return step.removed;
}

const RACES = 5;

/** Makes a directory; one that is there is taken as it is. */
export class MakeDirectoryStep implements Step {
  readonly ends: readonly [End];
  /** Making it decides whether it was there. */
  readonly isConditional = false;
  readonly #end: End;
  readonly #options: WriteOptions;
  #made: readonly (readonly string[])[] = [];

  constructor({ at, options }: { readonly at: At; readonly options: WriteOptions }, rules: WriteRules) {
    this.#options = options;
    this.#end = new End(at, { followLast: true, onlyTarget: false }, rules);
    this.ends = [this.#end];
  }

  *check(): Io<void> {
    const { change } = this.#end;
    const { old } = this.#end.target(this.#options);
    if (old === undefined) {
      if (this.#options.expected !== undefined) requireExpected(this.#options.expected, undefined, change.access);
    } else if (old.stat.isDirectory()) this.#accept(change);
    else throw existsNotDirectory(change.access.place);
  }

  *prepare(): Io<Plan> {
    yield* this.check();
    const { parents, name, old } = this.#end.target(this.#options);
    if (old !== undefined) return { amount: NONE };
    this.#made = madePaths(this.#end.change, [...parents, name]);
    const made = this.#made.slice(0, -1);
    const planned = newDirectory(this.#made.at(-1) ?? []);
    return { amount: NONE, change: made.length === 0 ? planned : { ...planned, made } };
  }

  get record(): StepRecord {
    return { made: this.#made };
  }

  *commit(guard: Guard): Io<Committed> {
    const { change, name } = this.#end;
    if (this.#end.target(this.#options).old !== undefined) return { effect: { existed: true } };
    yield* guard();
    change.access.scope.commit();
    yield* this.#end.makeParents();
    for (let attempt = 1; ; attempt++) {
      if (yield* makeOne(change, name)) return { effect: { existed: false }, change: yield* madeNow(change, name) };
      const other = yield* change.jail.handles.enter(change.walk.directory, name);
      if (typeof other !== "string") {
        release(other);
        this.#accept(change);
        return { effect: { existed: true } };
      }
      // The entry in the way has been removed by another process.
      if (other !== "missing" || attempt === RACES) throw existsNotDirectory(change.access.place);
    }
  }

  #accept({ access }: Change): void {
    if (this.#options.expected !== undefined) throw expectationError(this.#options.expected, undefined, access);
  }
}

export function* makeDirectoryAlone(step: MakeDirectoryStep): Io<{ created: boolean }> {
  return { created: !(yield* makeAlone(step)).effect.existed };
}

function* madeNow(change: Change, name: string): Io<EntryChange | undefined> {
  if (!isReported(change)) return undefined;
  const stat = yield* quietly(statBelow(change.jail.sys, change.walk.directory, name));
  const planned = newDirectory(realPath(change, name));
  return stat?.isDirectory() === true ? { ...planned, after: stateOf(stat) } : planned;
}
