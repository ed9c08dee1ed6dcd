// Gives entries another name: within the root, or out of the staging directory.

import { invalidInput, isADirectory, notAFile, notFound, notSupportedByRoot } from "../../../core/errors/texts.js";
import { namesStamp } from "../../../core/etag.js";
import type { Io } from "../../../core/io.js";
import type { At, GroupChange, Moved, MoveOptions, PlaceOptions, Standing } from "../../../core/ports/backend.js";
import type { EntryState } from "../../../core/ports/changes/change.js";
import { below, identity, type Pinned } from "../../../jail/handles.js";
import { whileMovable } from "../../../jail/staging/rename.js";
import type { Stat } from "../../../jail/stat.js";
import { errnoOf } from "../../../jail/sys.js";
import { requireExpected, requireStamp } from "../../preconditions.js";
import type { GroupGround } from "../group/ground.js";
import { imageOf, type PlacedEntry, type StepRecord } from "../group/intent.js";
import { checkVersion, type Guard, hashFile } from "../guard.js";
import { stampPart } from "../open.js";
import { countTree, freedBy, NONE } from "../quota.js";
import type { Change, WriteRules } from "../target.js";
import { requireAllAllowed } from "../tree-policy.js";
import { makeAlone } from "./alone.js";
import { type Coming, type Describe, Goal, requestedName } from "./goal.js";
import { kindOf, plannedState, stateAfter } from "./report.js";
import { type Committed, End, type Ground, type Plan, type Step } from "./step.js";

type Restore = Extract<GroupChange, { kind: "restore" }>;

const OF_THE_NAME = { followLast: false, onlyTarget: false } as const;

const comingOf = (object: Pinned): Coming => ({
  stat: object.stat,
  isDirectory: object.stat.isDirectory(),
  isFile: object.stat.isFile(),
  identity: identity(object),
});

/** Moves the entry itself (a link, or a whole directory) by one rename. */
export class MoveStep implements Step {
  readonly ends: readonly [End, End];
  readonly isConditional: boolean;
  readonly #ground: Ground;
  readonly #from: End;
  readonly #goal: Goal;
  readonly #options: MoveOptions & Standing;
  #object: Pinned | undefined;
  #sha256: string | undefined;
  /** Both places are one entry by one name. */
  #isUnmoved = false;
  #isOverwritten = false;

  constructor(
    { from, to, options }: { readonly from: At; readonly to: At; readonly options: MoveOptions & Standing },
    ground: Ground,
    rules: WriteRules,
  ) {
    if (from.path.segments.length === 0 && ground.isGroup) throw rootMoved();
    this.#ground = ground;
    this.#from = new End(from, OF_THE_NAME, rules);
    const goal = new End(to, OF_THE_NAME, rules);
    this.#goal = new Goal(goal, options, ground);
    this.#options = options;
    this.ends = [this.#from, goal];
    this.isConditional = options.expected !== undefined || options.expectedFrom !== undefined;
  }

  *check(): Io<void> {
    const { change, found, real } = this.#from;
    if (found.state !== "found") throw notFound(change.access.place);
    if (real.length === 0) throw rootMoved();
    this.#ground.requireNear(change);
    const { name } = this.#goal.target;
    const { place: end } = this.#goal;
    const isSame = end.found.state === "found" && end.real.join("/") === real.join("/");
    this.#isUnmoved = !this.#ground.isGroup && isSame && requestedName(end.change, name) === real.at(-1);
    if (this.#isUnmoved) return;
    yield* this.#goal.check(comingOf(found.object), this.#from);
    // Files of an overlay have other device numbers than its directories; whether they can be renamed, the rename tells.
    const isElsewhere = found.object.stat.device !== end.change.walk.directory.stat.device;
    if (isElsewhere && found.object.stat.isDirectory())
      throw Object.assign(new Error("another device"), { code: "EXDEV", syscall: "rename" });
  }

  *prepare(): Io<Plan> {
    const { change, real } = this.#from;
    const object = yield* this.#from.current();
    if (object === undefined) throw notFound(change.access.place);
    this.#ground.requireNear(change);
    this.#object = object;
    checkVersion(change, object, this.#options.version);
    const sha256 = yield* checkSource(change, object, this.#options);
    this.#sha256 = sha256;
    if (this.#isUnmoved) return { amount: NONE };
    yield* requireAllAllowed(change, object);
    yield* requireAllAllowed(this.#goal.place.change, object);
    return yield* this.#goal.prepare(comingOf(object), describeMove(object.stat, real, sha256), { from: this.#from });
  }

  get record(): StepRecord {
    if (this.#object === undefined) return {};
    const { made, ...to } = this.#goal.record;
    const what = imageOf(this.#object.stat, this.#sha256);
    return { ...(made === undefined ? {} : { made }), moved: { from: [...this.#from.real], what, ...to } };
  }

  *commit(guard: Guard): Io<Committed> {
    if (this.#isUnmoved) return { effect: { existed: false } };
    const { change, real, name } = this.#from;
    const object = this.#object;
    if (object === undefined) throw new TypeError("A step is prepared before its commit");
    const { stat } = object;
    const path = below(change.walk.directory, name);
    const entry = { path, isDirectory: stat.isDirectory(), copies: false };
    const committed = yield* this.#goal.commit(entry, guard, {
      describe: describeMove(stat, real, this.#sha256),
      after: (now) => stateAfter(this.#goal.place.change, now, { placed: stat, sha256: this.#sha256 }),
    });
    this.#isOverwritten = committed.effect.existed;
    return committed;
  }

  end(): Io<void> {
    return this.#goal.end();
  }

  get moved(): Moved {
    const { stat } = this.#object ?? {};
    return {
      overwritten: this.#isOverwritten,
      ...(this.#sha256 === undefined ? {} : { sha256: this.#sha256 }),
      ...(stat?.isFile() === true && !this.#isUnmoved ? stampPart(stat) : {}),
    };
  }
}

const rootMoved = (): Error => invalidInput("The root itself cannot be moved", "/path", "a path below the root");

/** @returns `undefined`: the target is on another device */
export function* moveAlone(step: MoveStep): Io<Moved | undefined> {
  try {
    yield* makeAlone(step);
    return step.moved;
  } catch (error) {
    if (errnoOf(error) !== "EXDEV") throw error;
    for (const { at } of step.ends) at.access.scope.retract();
    return undefined;
  }
}

const describeMove =
  (stat: Stat, from: readonly string[] | undefined, sha256?: string): Describe =>
  ({ path, made = [], before, after = plannedState(stat, sha256) }) => ({
    action: from === undefined ? "created" : "moved",
    kind: kindOf(stat),
    path,
    ...(from && { from: [...from] }),
    ...(made.length > 0 && { made }),
    before,
    after,
  });

/**
 * @returns the hash, if a precondition required it
 * @throws CONFLICT, IS_A_DIRECTORY, NOT_A_FILE
 */
function* checkSource(from: Change, object: Pinned, { expectedFrom }: MoveOptions): Io<string | undefined> {
  if (expectedFrom === undefined) return undefined;
  if (object.stat.isDirectory()) throw isADirectory(from.access.place);
  if (!object.stat.isFile()) throw notAFile(from.access.place);
  if (namesStamp(expectedFrom)) {
    requireStamp(expectedFrom, object.stat.version, from.access);
    return undefined;
  }
  const sha256 = (yield* hashFile(from, object)).digest("hex");
  requireExpected(expectedFrom, sha256, from.access);
  return sha256;
}

/** Gives an entry that is kept in the staging directory a place in the root. Only a group does. */
export class RestoreStep implements Step {
  readonly ends: readonly [End];
  readonly isConditional = true;
  readonly isKept = true;
  readonly #ground: GroupGround;
  readonly #goal: Goal;
  readonly #restore: Restore;
  #stat: Stat | undefined;

  constructor(restore: Restore, ground: GroupGround, rules: WriteRules) {
    this.#restore = restore;
    this.#ground = ground;
    const options: PlaceOptions = { ...restore.options, overwrite: false };
    const end = new End(restore.at, OF_THE_NAME, rules);
    this.#goal = new Goal(end, options, ground);
    this.ends = [end];
  }

  check(): Io<void> {
    return this.#goal.check({ stat: undefined, isDirectory: true, isFile: false, identity: undefined });
  }

  *prepare(): Io<Plan> {
    const from = yield* this.#open();
    try {
      const { object } = from;
      const { jail, rules } = this.#goal.place.change;
      this.#stat = object.stat;
      yield* requireAllAllowed(this.#goal.place.change, object);
      const isTree = object.stat.isDirectory();
      const amount = isTree && rules.usage !== undefined ? yield* countTree(jail, object, true) : freedBy(object.stat);
      return yield* this.#goal.prepare(comingOf(object), describeMove(object.stat, undefined), { added: amount });
    } finally {
      from.close();
    }
  }

  get record(): StepRecord {
    if (this.#stat === undefined) return {};
    const { made, ...to } = this.#goal.record;
    const moved = { from: this.#restore.kept, isKept: true as const, what: imageOf(this.#stat), ...to };
    return { ...(made === undefined ? {} : { made }), moved };
  }

  *commit(guard: Guard): Io<Committed> {
    const from = yield* this.#open();
    try {
      const { object, directory } = from;
      const path = below(directory, this.#restore.kept.at(-1) ?? "");
      const entry = { path, isDirectory: object.stat.isDirectory(), copies: false };
      const put = this.#goal.commit(entry, guard, {
        describe: describeMove(object.stat, undefined),
        after: (now): Io<EntryState> => stateAfter(this.#goal.place.change, now, { placed: object.stat }),
      });
      return yield* whileMovable(this.#ground.intent.jail.sys, object, put);
    } finally {
      from.close();
    }
  }

  *#open(): Io<PlacedEntry> {
    const { kept, is } = this.#restore;
    const found = yield* this.#ground.intent.findKept(kept);
    if (found !== undefined && (is ?? kindOf(found.object.stat)) === kindOf(found.object.stat)) return found;
    found?.close();
    throw notSupportedByRoot(this.#goal.place.change.access.place, "restoring what is no longer kept");
  }
}
