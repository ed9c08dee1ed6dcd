// Gives entries another name, as a step of a group: within the root, or out of the staging directory.

import { alreadyExists, conflict, invalidInput, notFound, notSupportedByRoot } from "../../../core/errors/texts.js";
import type { Io } from "../../../core/io.js";
import type { GroupChange, PlaceOptions } from "../../../core/ports/backend.js";
import type { ChangedKind, EntryChange, EntryState } from "../../../core/ports/changes/change.js";
import { below, identity, type Pinned, release } from "../../../jail/handles.js";
import { whileMovable } from "../../../jail/staging/movable.js";
import { inodeOf, type Stat } from "../../../jail/stat.js";
import type { Amount } from "../../quota.js";
import { checkSource, newSpelling } from "../changes/move.js";
import { checkTarget, refuseInside } from "../changes/put.js";
import { isReported, kindOf, plannedState, realPath, stateAfter, stateOf } from "../changes/report.js";
import { checkVersion, type Guard } from "../guard.js";
import { countTree, freedBy } from "../quota.js";
import { createParents, locate, type Target, type WriteRules } from "../target.js";
import { requireAllAllowed } from "../tree-policy.js";
import { type Intent, imageOf, type RealPath, type StepRecord } from "./intent.js";
import {
  type Committed,
  End,
  keepBefore,
  madeFor,
  madePaths,
  pinCurrent,
  putInGroup,
  type Ready,
  requireTopDevice,
  type Step,
} from "./step.js";

type Move = Extract<GroupChange, { kind: "move" }>;
type Restore = Extract<GroupChange, { kind: "restore" }>;

const OF_THE_NAME = { followLast: false, onlyTarget: false } as const;
const NONE: Amount = { bytes: 0, files: 0 };

/** The target of both steps: checked, kept if it is replaced, and put in place without overwriting anything else. */
class Goal {
  readonly end: End;
  readonly #before: string;
  #replaced: EntryState | null = null;
  /** New spelling of the name, where it is the one that the entry has. */
  #spelling: string | undefined;

  constructor(end: End, index: number) {
    this.end = end;
    this.#before = `before-${index}`;
  }

  target(options: PlaceOptions): Target {
    requireTopDevice(this.end.change);
    return locate(this.end.change, this.end.found, options);
  }

  /** Whether the entry at `from` gets nothing but a new spelling of its name. */
  *isRespelling({ change, real }: End, stored: string): Io<boolean> {
    this.#spelling = yield* newSpelling(change, real, this.end.change, stored);
    return this.#spelling !== undefined;
  }

  /** @returns what goes into the record, and what the replaced file frees */
  *prepare(object: Pinned, options: PlaceOptions, intent: Intent, from?: End) {
    const { change } = this.end;
    const target = this.target(options);
    const isNew = target.parents.length > 0 || (from !== undefined && (yield* this.isRespelling(from, target.name)));
    refuseInside(change, identity(object));
    yield* requireAllAllowed(change, object);
    const old = isNew ? undefined : yield* pinCurrent(change, target.name);
    try {
      if (old !== undefined && identity(old) === identity(object)) throw alreadyExists(change.access.place);
      yield* checkTarget(change, old, { ...options, isFile: object.stat.isFile() });
      const freed = freedBy(old?.stat);
      if (old !== undefined && !(yield* keepBefore(change, { name: target.name, old }, intent.pathOf(this.#before)))) {
        throw conflict(change.access.place, { verb: change.access.verb, expected: "no change meanwhile" });
      }
      this.#replaced = old === undefined ? null : stateOf(old.stat);
      return {
        freed: { bytes: -freed.bytes, files: -freed.files },
        made: madePaths(change, target.parents),
        to: [...change.walk.names, ...target.parents, this.#spelling ?? target.name],
        state: this.#replaced,
        before: old === undefined ? {} : { before: this.#before },
      };
    } finally {
      if (old !== undefined) release(old);
    }
  }

  /** @param how `from`: real path, where the entry had one */
  *put(
    path: string,
    object: Pinned,
    { options, guard, from }: { options: PlaceOptions; guard: Guard; from?: readonly string[] },
  ): Io<Committed> {
    const { change } = this.end;
    const target = this.target(options);
    const name = this.#spelling ?? target.name;
    yield* createParents(change, target.parents);
    const ready = { path, isDirectory: object.stat.isDirectory() };
    const existed = this.#replaced !== null;
    const how = { parents: false, overwrite: existed, expected: existed ? undefined : ("nothing" as const) };
    if (this.#spelling === undefined) yield* putInGroup(change, ready, { name, old: undefined, guard, options: how });
    else {
      yield* guard();
      yield* change.jail.sys.rename(path, below(change.walk.directory, name));
    }
    const effect = { existed };
    if (!isReported(change)) return { effect };
    const after = yield* stateAfter(change, name, { placed: object.stat });
    const action = from === undefined ? ("created" as const) : ("moved" as const);
    const what = { action, kind: kindOf(object.stat), path: realPath(change, name), ...(from && { from }) };
    return { effect, change: { ...what, ...madeFor(change), before: this.#replaced, after } };
  }
}

interface Planned {
  readonly to: RealPath;
  readonly from?: RealPath;
  readonly made: readonly RealPath[];
  readonly before: EntryState | null;
}

const planOf = (stat: Stat, { to, from, made, before }: Planned): EntryChange => ({
  ...{ action: from === undefined ? "created" : "moved", kind: kindOf(stat), path: to, ...(from && { from }) },
  ...{ ...(made.length > 0 && { made }), before, after: plannedState(stat) },
});

export class MoveStep implements Step {
  readonly ends: readonly End[];
  readonly makesParents: boolean;
  readonly #from: End;
  readonly #goal: Goal;
  readonly #options: Move["options"];

  constructor({ from, to, options }: Move, index: number, rules: WriteRules) {
    if (from.path.segments.length === 0) {
      throw invalidInput("The root itself cannot be moved", "/path", "a path below the root");
    }
    this.#from = new End(from, OF_THE_NAME, rules);
    this.#goal = new Goal(new End(to, OF_THE_NAME, rules), index);
    this.#options = options;
    this.ends = [this.#from, this.#goal.end];
    this.makesParents = options.parents;
  }

  *check(): Io<void> {
    const { change, found } = this.#from;
    if (found.state !== "found") throw notFound(change.access.place);
    requireTopDevice(change);
    const { old, name } = this.#goal.target(this.#options);
    const isFile = found.object.stat.isFile();
    refuseInside(this.#goal.end.change, identity(found.object));
    if (!(yield* this.#goal.isRespelling(this.#from, name)))
      yield* checkTarget(this.#goal.end.change, old, { ...this.#options, isFile });
  }

  *stage(): Io<void> {}

  *prepare(intent: Intent): Io<Ready> {
    const { change, real } = this.#from;
    const object = yield* this.#object();
    try {
      checkVersion(change, object, this.#options.version);
      const sha256 = yield* checkSource(change, object, this.#options);
      yield* requireAllAllowed(change, object);
      const { freed, made, to, before, state } = yield* this.#goal.prepare(object, this.#options, intent, this.#from);
      const moved = { from: [...real], to, what: imageOf(object.stat, sha256), ...before };
      const planned = planOf(object.stat, { to, from: [...real], made, before: state });
      return { amount: freed, planned, inode: inodeOf(object.stat), record: { made, moved } };
    } finally {
      release(object);
    }
  }

  *commit(_: Intent, guard: Guard): Io<Committed> {
    const { change, real } = this.#from;
    const object = yield* this.#object();
    try {
      return yield* this.#goal.put(below(change.walk.directory, real.at(-1) ?? ""), object, {
        options: this.#options,
        guard,
        from: [...real],
      });
    } finally {
      release(object);
    }
  }

  *#object(): Io<Pinned> {
    const { change, found, real } = this.#from;
    const object = found.state === "found" ? yield* pinCurrent(change, real.at(-1) ?? "") : undefined;
    if (object === undefined) throw notFound(change.access.place);
    return object;
  }
}

/** Gives an entry that is kept in the staging directory a place in the root. */
export class RestoreStep implements Step {
  readonly ends: readonly End[];
  readonly makesParents: boolean;
  readonly #goal: Goal;
  readonly #kept: readonly string[];
  readonly #kind: ChangedKind | undefined;
  readonly #options: PlaceOptions;

  constructor({ kept, is, at, options }: Restore, index: number, rules: WriteRules) {
    this.#kept = kept;
    this.#kind = is;
    this.#options = { ...options, overwrite: false };
    this.#goal = new Goal(new End(at, OF_THE_NAME, rules), index);
    this.ends = [this.#goal.end];
    this.makesParents = options.parents;
  }

  *check(): Io<void> {
    yield* checkTarget(this.#goal.end.change, this.#goal.target(this.#options).old, {
      ...this.#options,
      isFile: false,
    });
  }

  *stage(): Io<void> {}

  *prepare(intent: Intent): Io<Ready> {
    const from = yield* this.#open(intent);
    try {
      const { object } = from;
      const { made, to, state } = yield* this.#goal.prepare(object, this.#options, intent);
      const record: StepRecord = { made, moved: { from: this.#kept, isKept: true, to, what: imageOf(object.stat) } };
      const planned = planOf(object.stat, { to, made, before: state });
      return { amount: yield* this.#added(object), planned, inode: inodeOf(object.stat), record };
    } finally {
      from.close();
    }
  }

  *commit(intent: Intent, guard: Guard): Io<Committed> {
    const from = yield* this.#open(intent);
    try {
      const path = below(from.directory, this.#kept.at(-1) ?? "");
      const put = this.#goal.put(path, from.object, { options: this.#options, guard });
      return yield* whileMovable(intent.jail.sys, from.object, put);
    } finally {
      from.close();
    }
  }

  *#added(object: Pinned): Io<Amount> {
    const { jail, rules } = this.#goal.end.change;
    if (rules.usage === undefined) return NONE;
    return object.stat.isDirectory() ? yield* countTree(jail, object, true) : freedBy(object.stat);
  }

  *#open(intent: Intent) {
    const { access } = this.#goal.end.change;
    const found = yield* intent.findKept(this.#kept);
    if (found !== undefined && (this.#kind ?? kindOf(found.object.stat)) === kindOf(found.object.stat)) return found;
    found?.close();
    throw notSupportedByRoot(access.place, "restoring what is no longer kept");
  }
}
