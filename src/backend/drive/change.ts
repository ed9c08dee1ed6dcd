// Changes a drive: each step is a plan, and all of them are committed with one swap of the drive's root.

import type { RelPath } from "../../core/call/path.js";
import type { Sha256 } from "../../core/etag.js";
import type { Access, At, Looks, PlannedChange } from "../../core/ports/backend.js";
import type { EntryChange, EntryState } from "../../core/ports/changes/change.js";
import type { NotUndoable } from "../../core/ports/changes/journal.js";
import type {
  DriveChange,
  DriveMoment,
  DriveSnapshot,
  DriveStat,
  LogEntry,
  LogTicket,
  StagedContent,
} from "../../drive/engine/engine.js";
import { toCallerError } from "./errors.js";

export interface DriveDoor {
  readonly name: string;
  look<T>(look: (tree: DriveSnapshot) => Promise<T>): Promise<T>;
  /** `work` may run again if another process changed the drive meanwhile. */
  change<T>(work: (tree: DriveChange) => Promise<T>): Promise<T>;
  stage(content: AsyncIterable<Uint8Array>): Promise<StagedContent>;
  /** The drive as a tree has it. */
  on(tree: DriveSnapshot): Looks;
  logged(id: string): Promise<LogEntry | undefined>;
}

export interface Step<T> {
  readonly at: At;
  /** Where a move starts. */
  readonly from?: At | undefined;
  /** The new entry comes from the log: an approval does not look at its content. */
  readonly isKept?: true | undefined;
  /** Makes the checks that need no content, on a snapshot; called for a single step. A plan without parts is the answer. */
  first?(tree: DriveSnapshot): Promise<Plan<T> | Ahead>;
  /** Loads what the change needs, since content that is still arriving must not block other changes. */
  stage?(): Promise<void>;
  /** Checks everything on the tree that is changed; asked again if another process was faster. */
  plan(tree: DriveChange): Promise<Plan<T>>;
}

/** The facts of a change that are known before its content has arrived. */
interface Ahead {
  /** Segments of the path that exist; the directories between them and the entry are made. */
  readonly depth: number;
  readonly parts?: undefined;
}

export interface Plan<T> extends Omit<Ahead, "parts"> {
  /** Empty: nothing is to be changed. */
  readonly parts: readonly Part[];
  /** Something is at the place already. */
  readonly existed: boolean;
  readonly sha256?: Sha256 | undefined;
  /** Asked once the change is committed. */
  answer(): T;
}

export interface Part {
  /** Absent: the change is not reported. */
  readonly change?: EntryChange;
  /** Why the former content is not kept. */
  readonly reason?: NotUndoable | undefined;
  make(tree: DriveChange): Promise<unknown>;
  /** Names the entry of the log; absent if no records of the call are kept. */
  ticket?: LogTicket | undefined;
}

/** A part that was made on the tree, between two moments of it. */
interface Made extends Pick<Step<unknown>, "at" | "from" | "isKept"> {
  readonly part: Part;
  readonly access: Access;
  readonly change: EntryChange | undefined;
  readonly since: DriveMoment;
  readonly until: DriveMoment;
}

/** The plan of a change that has been made already, or need not be. */
export const nothingToDo = <T>(existed: boolean, answer: T): Plan<T> => ({
  depth: 0,
  parts: [],
  existed,
  answer: () => answer,
});

/** Ends a change that is not to be made. */
class Discarded extends Error {}

/** Throws as {@link changeInDrive} would: makes every change on a tree that is not put in place. */
export async function checkInDrive(drive: DriveDoor, steps: readonly Step<unknown>[]): Promise<void> {
  try {
    await changeInDrive(drive, steps, () => {
      throw new Discarded();
    });
  } catch (error) {
    if (!(error instanceof Discarded)) throw error;
  }
}

/**
 * Makes all changes with one swap of the drive's root, or none.
 * @param commit lets everything pass that is about to be put in place
 */
export async function changeInDrive<T>(
  drive: DriveDoor,
  steps: readonly Step<T>[],
  commit: (tree: DriveChange, made: readonly Made[], drive: DriveDoor) => Promise<void> | void = commitAll,
): Promise<readonly Plan<T>[]> {
  for (const { path, access } of steps.flatMap(({ from, at }) => (from === undefined ? [at] : [from, at]))) {
    access.scope.checkpoint();
    access.real(path.segments);
  }
  const ways = new Ways();
  const [alone] = steps.length === 1 ? steps : [];
  if (alone?.first !== undefined) {
    const first = await drive.look(alone.first);
    if (first.parts !== undefined && first.parts.length === 0) return [first];
    ways.authorise(alone.at, first);
  }
  for (const step of steps) await step.stage?.();
  const made: Made[] = [];
  const plans = await drive.change(async (tree) => {
    made.length = 0;
    const done: Plan<T>[] = [];
    for (const step of steps) done.push(await makeOne(tree, step, { made, ways, drive }));
    await commit(tree, made, drive);
    return done;
  });
  for (const { at } of steps) at.access.scope.settle();
  for (const { access, change, part } of made) {
    const id = part.ticket?.id;
    if (change !== undefined) access.changed?.(id === undefined ? change : { ...change, id });
  }
  return plans;
}

/** Makes a step on a tree that nobody sees yet. */
async function makeOne<T>(
  tree: DriveChange,
  step: Step<T>,
  { made, ways, drive }: { readonly made: Made[]; readonly ways: Ways; readonly drive: DriveDoor },
): Promise<Plan<T>> {
  const { access } = step.at;
  access.scope.checkpoint();
  try {
    const plan = await step.plan(tree);
    let since = tree.moment();
    let parents = plan.parts.length === 0 ? [] : ways.authorise(step.at, plan);
    for (const directory of parents) await tree.makeDirectory(directory);
    for (const part of plan.parts) {
      await part.make(tree);
      const until = tree.moment();
      const change = part.change && withParents(part.change, parents);
      made.push({ ...{ at: step.at, from: step.from, isKept: step.isKept }, part, access, change, since, until });
      since = until;
      parents = [];
    }
    return plan;
  } catch (error) {
    throw toCallerError(error, { place: access.place, drive: drive.name, verb: access.verb });
  }
}

/** Everything that changes a drive's entries passes here, as a whole, right before the swap that makes it. */
async function commitAll(tree: DriveChange, made: readonly Made[], drive: DriveDoor): Promise<void> {
  await ask(tree, made, drive);
  for (const { access } of made) access.scope.commit();
  if (made.length > 1) made[0]?.access.beginGroup?.();
  for (const { part, access, change, since, until } of made) {
    const { origin } = access;
    // `Object.assign`: two spreads of objects take ten times as long.
    if (change !== undefined)
      part.ticket = origin && tree.note(Object.assign({}, origin, change), since, until, part.reason);
  }
}

/** Asks for approval, against the drive as it was before. @throws APPROVAL_REQUIRED, APPROVAL_DENIED, CONFLICT */
async function ask(tree: DriveChange, made: readonly Made[], drive: DriveDoor): Promise<void> {
  const [first] = made;
  const approve = first?.from?.access.approve ?? first?.access.approve;
  if (approve === undefined) return;
  const planned: PlannedChange[] = [];
  for (const { change, at, from, isKept = false } of made) {
    if (change === undefined) continue;
    const start = change.from === undefined ? undefined : from;
    planned.push({ change, at, from: start, isKept, content: (most) => contentIn(tree, change, most) });
  }
  if (planned.length > 0) await approve(planned, drive.on(tree.before()));
}

/** New content, or what is added to the old one; `undefined`: it is longer, or a later change has taken it elsewhere. */
async function contentIn(
  tree: DriveChange,
  { path, after, addition }: EntryChange,
  most: number,
): Promise<Buffer | undefined> {
  const offset = addition?.offset ?? 0;
  const size = (after?.size ?? 0) - offset;
  if (size > most) return undefined;
  return tree.readFile(path, offset, size).then(
    ({ bytes }) => bytes,
    () => undefined,
  );
}

/** The directories that changes make on the way to their places; each is authorised once. */
class Ways {
  readonly #authorised = new Map<RelPath, number>();

  /** @returns the directories, topmost first @throws CAPABILITY_DENIED */
  authorise({ path, access }: At, { depth }: Pick<Ahead, "depth">): (readonly string[])[] {
    const { segments } = path;
    const known = this.#authorised.get(path) ?? segments.length - 1;
    const parents: (readonly string[])[] = [];
    for (let index = depth; index < segments.length - 1; index++) {
      const directory = segments.slice(0, index + 1);
      parents.push(directory);
      if (index >= known) continue;
      access.scope.checkpoint();
      access.create(directory, directory);
    }
    this.#authorised.set(path, Math.min(known, depth));
    return parents;
  }
}

const withParents = (change: EntryChange, made: readonly (readonly string[])[]): EntryChange =>
  made.length === 0 ? change : { ...change, made };

export function stateOf({ size: bytes, modified, type }: DriveStat, sha256?: string): EntryState {
  const size = type === "file" ? bytes : 0;
  return sha256 === undefined ? { size, modified } : { size, modified, sha256 };
}

/** The state of an entry that is written now. */
export const newState = (size: number, sha256?: string): EntryState =>
  stateOf({ type: "file", size, modified: Date.now() }, sha256);
