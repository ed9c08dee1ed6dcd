// Makes a group of changes on the host: all of them, or none.

import { notPutBack } from "../../../core/errors/patch-texts.js";
import { UNFLUSHED } from "../../../core/errors/undo-texts.js";
import { type Io, wait } from "../../../core/io.js";
import type { Access, GroupChange, GroupEffect } from "../../../core/ports/backend.js";
import { identity, type Pinned } from "../../../jail/handles.js";
import type { Jail } from "../../../jail/jail.js";
import { finishWithReserve } from "../../../jail/reserve.js";
import { flushDirectories } from "../../../jail/staging/flush.js";
import type { LockRequest } from "../../../jail/staging/locks.js";
import { quietly } from "../../../jail/sys.js";
import type { Held } from "../../quota.js";
import { type Guard, withLockFile } from "../guard.js";
import { mapErrors } from "../root.js";
import { openedJournal, type WriteRules } from "../target.js";
import { Batch, keyOf } from "./batches.js";
import { MakeDirectoryStep, RemoveStep } from "./entry-steps.js";
import { Intent, type StepRecord } from "./intent.js";
import { Member } from "./member.js";
import { MoveStep, RestoreStep } from "./move-step.js";
import { directoryFinder, pathsOf } from "./recovery.js";
import { rollBack } from "./roll-back.js";
import type { Enter, Step } from "./step.js";
import { WriteStep } from "./write-step.js";

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
  const [first] = changes;
  if (first === undefined) return [];
  const { access } = first.kind === "move" ? first.from : first.at;
  const steps = changes.map((change, index) => stepOf(change, index, rules));
  try {
    return yield* new Group(steps, { enter, rules, access }).run();
  } finally {
    steps.forEach(closeEnds);
  }
}

/** Refuses what a group would refuse of changes that depend on no earlier one. */
export function* checkGroup(enter: Enter, rules: WriteRules, changes: readonly GroupChange[]): Io<void> {
  const [first] = changes;
  if (first === undefined) return;
  const { access } = first.kind === "move" ? first.from : first.at;
  const steps = changes.map((change, index) => stepOf(change, index, rules));
  try {
    yield* new Group(steps, { enter, rules, access }).check();
  } finally {
    steps.forEach(closeEnds);
  }
}

function stepOf(change: GroupChange, index: number, rules: WriteRules): Step {
  switch (change.kind) {
    case "write":
      return new WriteStep(change, index, rules);
    case "remove":
      return new RemoveStep(change, index, rules);
    case "mkdir":
      return new MakeDirectoryStep(change, rules);
    case "move":
      return new MoveStep(change, index, rules);
    case "restore":
      return new RestoreStep(change, index, rules);
  }
}

/** A group under way. */
class Group {
  readonly #steps: readonly Step[];
  readonly #enter: Enter;
  readonly #rules: WriteRules;
  readonly #access: Access;
  readonly #recorded: StepRecord[] = [];
  readonly #held: Held[] = [];
  readonly #effects: GroupEffect[] = [];
  readonly #members: Member[] = [];
  #isSettled = true;

  constructor(steps: readonly Step[], { enter, rules, access }: { enter: Enter; rules: WriteRules; access: Access }) {
    this.#steps = steps;
    this.#enter = enter;
    this.#rules = rules;
    this.#access = access;
  }

  *run(): Io<readonly GroupEffect[]> {
    const { scope, place } = this.#access;
    const { jail, keys, batches } = yield* this.#look();
    const ground = { jail, durable: this.#rules.durable, register: this.#rules.intents };
    yield* wait(this.#rules.openJournal?.());
    const intent = yield* Intent.begin(ground, place);
    try {
      yield* this.#stage(intent);
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

  *check(): Io<void> {
    yield* this.#look();
  }

  *#stage(intent: Intent): Io<void> {
    const later: number[] = [];
    this.#steps.reduceRight((sum, { length = 0 }, index) => {
      later[index] = sum;
      return sum + length;
    }, 0);
    for (const [index, step] of this.#steps.entries()) {
      yield* withStepErrors(step, step.stage(intent, later[index] ?? 0));
    }
  }

  /** Walks to every place, authorises it, and checks what does not depend on earlier steps. */
  *#look(): Io<{ jail: Jail; keys: LockRequest; batches: readonly (readonly Step[])[] }> {
    const shared = new Set<string>();
    const exclusive = new Set<string>();
    const batches: Step[][] = [];
    let batch: Batch | undefined;
    let jail: Jail | undefined;
    for (const step of this.#steps) {
      for (const end of step.ends) {
        jail = yield* withStepErrors(step, end.open(this.#enter, jail));
        for (const key of end.keys.shared) shared.add(key);
        for (const key of end.keys.exclusive) exclusive.add(key);
      }
      const { makesParents } = step;
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
    const keys = { shared: [...shared].filter((key) => !exclusive.has(key)), exclusive: [...exclusive] };
    return { jail, keys, batches };
  }

  *#make(
    intent: Intent,
    { jail, batches, guard }: { jail: Jail; batches: readonly (readonly Step[])[]; guard: Guard },
  ): Io<void> {
    let current: readonly Step[] = [];
    try {
      for (const batch of batches) {
        current.forEach(closeEnds);
        current = batch;
        yield* this.#makeBatch(intent, { jail, batch, guard });
      }
      if (!(yield* intent.settle())) this.#access.behind?.(UNFLUSHED);
      this.#isSettled = true;
    } catch (error) {
      throw yield* this.#undo(intent, { jail, batch: current, error });
    }
  }

  *#makeBatch(intent: Intent, { jail, batch, guard }: { jail: Jail; batch: readonly Step[]; guard: Guard }): Io<void> {
    const records: StepRecord[] = [];
    const members: Member[] = [];
    const journal = openedJournal(this.#rules);
    const sum = { bytes: 0, files: 0 };
    for (const step of batch) {
      for (const end of step.ends) if (!end.isOpen) yield* withStepErrors(step, end.open(this.#enter, jail));
      const { access } = (step.ends.at(-1) ?? { at: { access: this.#access } }).at;
      const member = new Member(intent, journal, { access, rules: this.#rules });
      const ready = yield* withStepErrors(step, step.prepare(intent, member.bin));
      const { record, amount } = ready;
      records.push(record);
      member.ready = ready;
      members.push(member);
      sum.bytes += amount.bytes;
      sum.files += amount.files;
    }
    if (this.#rules.usage !== undefined) this.#held.push(this.#rules.usage.reserve(sum, this.#access.place));
    this.#access.scope.checkpoint();
    this.#isSettled = false;
    if (!this.#isOneRename(records)) yield* intent.record(records);
    this.#recorded.push(...records);
    if (this.#steps.length > 1 && this.#members.length === 0) this.#access.beginGroup?.();
    this.#members.push(...members);
    for (const member of members) yield* member.note();
    for (const [index, step] of batch.entries()) {
      const { effect, change } = yield* withStepErrors(step, step.commit(intent, guard));
      this.#effects.push(effect);
      const member = members[index];
      if (member !== undefined) member.change = change;
    }
    if (this.#rules.durable) yield* mapErrors(this.#access.place, flushDirectories(jail, changedDirectories(batch)));
  }

  /** A single file that gets its content by one rename is never half done: there is nothing to undo after a crash. */
  #isOneRename([first]: readonly StepRecord[]): boolean {
    return this.#steps.length === 1 && first?.put !== undefined && (first.made ?? []).length === 0;
  }

  /** @returns the error for the caller, which says what could not be put back */
  *#undo(intent: Intent, { jail, batch, error }: { jail: Jail; batch: readonly Step[]; error: unknown }): Io<unknown> {
    const ends = batch.flatMap((step) => step.ends).filter(({ isOpen }) => isOpen);
    const open = new Map(ends.map((end) => [keyOf(end.real), end.change.walk]));
    const byWalk = directoryFinder(jail);
    const { durable } = this.#rules;
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
      this.#recorded,
    );
    const left = (yield* quietly(rolling)) ?? this.#recorded.flatMap(pathsOf);
    this.#isSettled = left.length === 0;
    if (left.length === 0) {
      for (const member of this.#members) yield* member.forget();
      yield* quietly(intent.settle());
      return error;
    }
    // Entries that others have changed meanwhile are not restored; their former content stays for the operator. The next
    // start must not go on: by then they may have been deleted for good reason.
    if (!intent.isRecorded) yield* quietly(intent.record(this.#recorded));
    yield* intent.setAside();
    this.#rules.onRaced?.(left);
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
