// Makes a group of changes on the host: all of them, or none.

import { notPutBack, UNFLUSHED } from "../../../core/errors/undo-texts.js";
import { type Io, wait } from "../../../core/io.js";
import type { Access, GroupChange, GroupEffect, Recheck } from "../../../core/ports/backend.js";
import { identity, type Pinned } from "../../../jail/handles.js";
import type { Jail } from "../../../jail/jail.js";
import { finishWithReserve } from "../../../jail/reserve.js";
import { flushDirectories } from "../../../jail/staging/flush.js";
import type { LockRequest } from "../../../jail/staging/locks.js";
import { quietly } from "../../../jail/sys.js";
import type { Held } from "../../quota.js";
import { makeAlone } from "../changes/alone.js";
import { MakeDirectoryStep, RemoveStep } from "../changes/entry-steps.js";
import { MoveStep, RestoreStep } from "../changes/move-step.js";
import { type Enter, recheckEnds, type Step, together } from "../changes/step.js";
import { WriteStep } from "../changes/write-step.js";
import { type Guard, withLockFile } from "../guard.js";
import { mapErrors } from "../root.js";
import type { WriteRules } from "../target.js";
import { askAboutGroup } from "./ask.js";
import { Batch, keyOf } from "./batches.js";
import { GroupGround, requireTopDevice } from "./ground.js";
import { Intent, type StepRecord } from "./intent.js";
import { Member } from "./member.js";
import { directoryFinder, pathsOf } from "./recovery.js";
import { rollBack } from "./roll-back.js";

/**
 * Makes all changes or none. The order: look at every place, stage all content, take every lock, check again and keep
 * what is replaced, record how to undo it, then rename. A failure undoes what was done; after a crash the next process
 * does.
 */
export function* changeGroup(
  enter: Enter,
  rules: WriteRules,
  changes: readonly GroupChange[],
): Io<readonly GroupEffect[]> {
  return (yield* withGroup({ enter, rules, changes }, (group) => group.run())) ?? [];
}

/** Refuses what a group would refuse of changes that depend on no earlier one. */
export function* checkGroup(enter: Enter, rules: WriteRules, changes: readonly GroupChange[]): Io<void> {
  yield* withGroup({ enter, rules, changes }, (group) => group.look());
}

/** @returns `undefined` for no changes */
function* withGroup<T>(
  { enter, rules, changes }: Pick<GroupParts, "enter" | "rules" | "changes">,
  work: (group: Group) => Io<T>,
): Io<T | undefined> {
  const [first] = changes;
  if (first === undefined) return undefined;
  const { access } = first.kind === "move" ? first.from : first.at;
  const ground = new GroupGround(rules);
  const steps = changes.map((change) => stepOf(change, ground, rules));
  try {
    return yield* work(new Group({ steps, changes, ground, enter, rules, access }));
  } finally {
    for (const step of steps) if (step.end !== undefined) yield* step.end();
    steps.forEach(closeEnds);
  }
}

function stepOf(change: GroupChange, ground: GroupGround, rules: WriteRules): Step {
  switch (change.kind) {
    case "write":
      return new WriteStep(change, ground, rules);
    case "remove":
      return new RemoveStep(change, ground, rules);
    case "mkdir":
      return new MakeDirectoryStep(change, rules);
    case "move":
      return new MoveStep(change, ground, rules);
    case "restore":
      return new RestoreStep(change, ground, rules);
  }
}

/**
 * A group of one change that replaces a file is a write: its rename is atomic without what a group needs.
 * @throws NOT_SUPPORTED on another device, as any group
 */
export function* replaceAlone(step: WriteStep): Io<readonly GroupEffect[]> {
  requireTopDevice(step.ends[0].change);
  return [(yield* makeAlone(step)).effect];
}

interface GroupParts {
  readonly steps: readonly Step[];
  readonly changes: readonly GroupChange[];
  readonly ground: GroupGround;
  readonly enter: Enter;
  readonly rules: WriteRules;
  /** Access to the first place. */
  readonly access: Access;
}

class Group {
  readonly #parts: GroupParts;
  readonly #held: Held[] = [];
  readonly #effects: GroupEffect[] = [];
  readonly #members: Member[] = [];
  #recheck: Recheck | undefined;
  #isSettled = true;

  constructor(parts: GroupParts) {
    this.#parts = parts;
  }

  *run(): Io<readonly GroupEffect[]> {
    const { access, rules, ground } = this.#parts;
    const { scope, place } = access;
    yield* wait(rules.openJournal?.());
    const { jail, keys, batches } = yield* this.look();
    const { durable, intents: register } = rules;
    const intent = yield* Intent.begin({ jail, durable, register }, place);
    ground.begin(intent);
    try {
      yield* this.#stage();
      yield* intent.flush();
      scope.checkpoint();
      const lock = yield* jail.locks.hold(keys);
      try {
        const make = (guard: Guard): Io<void> => this.#make(intent, { jail, batches, guard });
        yield* finishWithReserve(withLockFile(jail, { parent: jail.top, scope }, make));
      } finally {
        lock.release();
      }
      for (const held of this.#held) held.keep();
      for (const member of this.#members) yield* member.report();
    } catch (error) {
      for (const held of this.#held) held.undo();
      // Until its links are gone, files that stay as they were have two names, and would not count as freed when deleted.
      yield* wait(intent.end(this.#isSettled)?.catch(() => {}));
      throw error;
    }
    intent.end(this.#isSettled);
    scope.settle();
    return this.#effects;
  }

  *#stage(): Io<void> {
    const { steps, access } = this.#parts;
    const later: number[] = [];
    steps.reduceRight((sum, { length = 0 }, index) => {
      later[index] = sum;
      return sum + length;
    }, 0);
    for (const [index, step] of steps.entries()) {
      yield* access.scope.breathe();
      if (step.stage !== undefined) yield* withStepErrors(step, step.stage(later[index] ?? 0));
    }
  }

  /** Walks to every place, authorises it, and checks what does not depend on earlier steps. */
  *look(): Io<{ jail: Jail; keys: LockRequest; batches: readonly (readonly Step[])[] }> {
    const { steps, changes, access, enter } = this.#parts;
    const requests: LockRequest[] = [];
    const batches: Step[][] = [];
    let batch: Batch | undefined;
    let jail: Jail | undefined;
    for (const [index, step] of steps.entries()) {
      yield* access.scope.breathe();
      for (const end of step.ends) {
        jail = yield* withStepErrors(step, end.open(enter, jail));
        requests.push(end.keys);
      }
      const change = changes[index];
      const makesParents = change !== undefined && change.kind !== "remove" && change.options.parents;
      const made = makesParents ? step.ends.flatMap(({ missing }) => missing) : [];
      // A link that an earlier step takes away leads nowhere for this one.
      const paths = step.ends.flatMap(({ real, at }) => [real, at.path.segments]);
      const touched = { paths, made, makesParents };
      if (batch?.add(touched) !== true) {
        batch = new Batch();
        batch.add(touched);
        batches.push([]);
      }
      batches.at(-1)?.push(step);
      if (batches.length > 1) closeEnds(step);
      else yield* withStepErrors(step, step.check());
    }
    if (jail === undefined) throw new TypeError("A group has steps");
    return { jail, keys: together(requests), batches };
  }

  *#make(
    intent: Intent,
    { jail, batches, guard }: { jail: Jail; batches: readonly (readonly Step[])[]; guard: Guard },
  ): Io<void> {
    const { access } = this.#parts;
    let current: readonly Step[] = [];
    try {
      for (const batch of batches) {
        yield* access.scope.breathe();
        current.forEach(closeEnds);
        current = batch;
        yield* this.#makeBatch(intent, { jail, batch, guard });
      }
      if (!(yield* intent.settle())) access.behind?.(UNFLUSHED);
      this.#isSettled = true;
    } catch (error) {
      throw yield* this.#undo(intent, { jail, batch: current, error });
    }
  }

  *#makeBatch(intent: Intent, { jail, batch, guard }: { jail: Jail; batch: readonly Step[]; guard: Guard }): Io<void> {
    const { steps, changes, access, rules, enter } = this.#parts;
    const members: Member[] = [];
    const sum = { bytes: 0, files: 0 };
    if (steps.length > 1 && this.#members.length === 0) access.beginGroup?.();
    for (const step of batch) {
      yield* access.scope.breathe();
      for (const end of step.ends) if (!end.isOpen) yield* withStepErrors(step, end.open(enter, jail));
      const plan = yield* withStepErrors(step, step.prepare());
      for (const end of step.ends) end.drop();
      members.push(new Member(step, plan));
      sum.bytes += plan.amount.bytes;
      sum.files += plan.amount.files;
    }
    if (rules.usage !== undefined) this.#held.push(rules.usage.reserve(sum, access.place));
    if (this.#members.length === 0) this.#recheck = yield* askAboutGroup(steps, changes, members);
    access.scope.checkpoint();
    this.#isSettled = false;
    const records = members.map(({ record }) => record);
    if (!this.#isOneRename(records)) yield* intent.record(records);
    this.#members.push(...members);
    for (const member of members) yield* withStepErrors(member.step, member.note(intent));
    for (const member of members) {
      if (this.#recheck !== undefined) yield* recheckEnds(this.#recheck, member.step);
      const committed = yield* withStepErrors(member.step, member.step.commit(guard));
      this.#effects.push(committed.effect);
      member.commit(committed);
    }
    if (rules.durable) yield* mapErrors(access.place, flushDirectories(jail, changedDirectories(batch)));
  }

  /** A single file that gets its content by one rename is never half done: there is nothing to undo after a crash. */
  #isOneRename([first]: readonly StepRecord[]): boolean {
    return this.#parts.steps.length === 1 && first?.put !== undefined && (first.made ?? []).length === 0;
  }

  /** @returns the error for the caller, which says what could not be put back */
  *#undo(intent: Intent, { jail, batch, error }: { jail: Jail; batch: readonly Step[]; error: unknown }): Io<unknown> {
    const ends = batch.flatMap((step) => step.ends).filter(({ isOpen }) => isOpen);
    const open = new Map(ends.map((end) => [keyOf(end.real), end.change.walk]));
    const byWalk = directoryFinder(jail);
    const { durable, onRaced } = this.#parts.rules;
    const rolling = rollBack(
      {
        ...{ jail, durable, folder: intent.folder, stage: intent.stage },
        // The directories that are open are the ones that were changed, even if they have been moved since.
        *directoryOf(path) {
          const walk = open.get(keyOf(path));
          if (walk?.names.length === path.length - 1) return { directory: walk.directory, close() {} };
          return yield* byWalk(path);
        },
      },
      this.#members.map(({ done }) => done),
    );
    const records = this.#members.map(({ record }) => record);
    const left = (yield* quietly(rolling)) ?? records.flatMap(pathsOf);
    this.#isSettled = left.length === 0;
    if (left.length === 0) {
      for (const member of this.#members) yield* member.forget();
      yield* quietly(intent.settle());
      return error;
    }
    // Entries that others have changed meanwhile are not restored; their former content stays for the operator. The next
    // start must not go on: by then they may have been deleted for good reason.
    if (!intent.isRecorded) yield* quietly(intent.record(records));
    yield* intent.setAside();
    onRaced?.(left);
    return notPutBack(error, left);
  }
}

function closeEnds({ ends }: Step): void {
  for (const end of ends) end.close();
}

/** The directories in which names have changed, each once. */
function changedDirectories(batch: readonly Step[]): Pinned[] {
  const directories = batch.flatMap(({ ends }) => ends.map(({ change }) => change.walk.directory));
  return [...new Map(directories.map((directory) => [identity(directory), directory])).values()];
}

/** Failed system calls of a step are errors on its place. */
const withStepErrors = <T>({ ends }: Step, work: Io<T>): Io<T> => {
  const [end] = ends;
  return end === undefined ? work : mapErrors(end.at.access.place, work);
};
