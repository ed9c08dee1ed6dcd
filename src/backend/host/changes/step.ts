// A step: one change of the host as a plan, then a commit; alone or in a group. See docs/design.md, "A change".

import { type Awaitable, type Io, wait } from "../../../core/io.js";
import type { At, GroupEffect, PlannedChange, Recheck } from "../../../core/ports/backend.js";
import type { EntryChange, EntryState } from "../../../core/ports/changes/change.js";
import type { NotUndoable } from "../../../core/ports/changes/journal.js";
import { identity, type Pinned, release, statBelow } from "../../../jail/handles.js";
import type { Jail } from "../../../jail/jail.js";
import type { LockRequest } from "../../../jail/staging/locks.js";
import type { PreparedEntry } from "../../../jail/staging/rename.js";
import type { StagedFile } from "../../../jail/staging/staging.js";
import type { Amount } from "../../quota.js";
import type { StepRecord } from "../group/intent.js";
import type { Guard } from "../guard.js";
import type { Keeping } from "../history/note.js";
import type { Displaced, Doomed, Hidden } from "../history/to-trash.js";
import type { Arrival, Way } from "../root.js";
import {
  type Change,
  createParents,
  locate,
  nameKey,
  openedJournal,
  type Reached,
  type Target,
  type WriteRules,
} from "../target.js";
import type { Filled } from "./content.js";

/** Walks to a path in one jail, which the first walk chooses. */
export type Enter = (at: At, way: Way, jail: Jail | undefined) => Io<Arrival>;

/** A prepared step: the effects that its commit will have. */
export interface Plan {
  /** Absent: nothing changes, or the change is not reported. */
  readonly change?: EntryChange | undefined;
  /** Inode of the entry that gets the name. */
  readonly inode?: string | undefined;
  /** Quota that it takes. */
  readonly amount: Amount;
  /** The file that goes when another gets its name. */
  readonly replaced?: Pinned | undefined;
  /** Present if the commit itself notes its effects entry by entry, since only then it knows where removed entries are kept. */
  readonly notes?: "in commit" | undefined;
}

export interface Committed {
  readonly effect: GroupEffect;
  /** Absent: nothing changed, or the change is not reported. */
  readonly change?: EntryChange | undefined;
  /** The note, if the commit made it itself. */
  readonly keeping?: Keeping | undefined;
}

/** New content, as a request for approval shows it. */
export interface StagedContent {
  readonly after: EntryState;
  /** @returns `undefined`: it is longer */
  read(most: number): Awaitable<Buffer | undefined>;
}

/** One change of the host. */
export interface Step {
  /** Its places; the last one is where it is reported. */
  readonly ends: readonly [End, ...End[]];
  /** Alone, too, no other process may change the root between its check and its commit. */
  readonly isConditional: boolean;
  /** Bytes that it stages; Infinity: unknown. Absent: none. */
  readonly length?: number;
  /** Makes the checks that need no lock, before content is staged. Not called if it depends on earlier steps. */
  check(): Io<void>;
  /** New content, once it is staged. */
  readonly staged?: StagedContent | undefined;
  /** The new entry was kept by the root: an approval does not look at its content. */
  readonly isKept?: true;
  /** Prepares content, without a lock. @param later bytes that later steps stage */
  stage?(later: number): Io<void>;
  /** Checks the entries at its places and makes the plan; called under all locks. */
  prepare(): Io<Plan>;
  /** How to undo it, once it is prepared. */
  readonly record: StepRecord;
  /** The change itself. @param guard called right before */
  commit(guard: Guard): Io<Committed>;
  /** Removes leftovers from the staging directory. Called without locks, whether the step was made or not. */
  end?(): Io<void>;
}

/** An entry that has been removed. */
export interface Taken {
  /** Out of sight, to be emptied. */
  readonly hidden?: Hidden | undefined;
  readonly keeping?: Keeping | undefined;
  readonly isTrashed?: boolean | undefined;
  /** Why it is not in the trash. */
  readonly reason?: NotUndoable | undefined;
}

/** The directory in which steps prepare and keep: for a step alone the staging directory, for a group the folder of its intent. */
export interface Ground {
  /** All of its steps are made, or none: nothing is replaced that was not planned to be. */
  readonly isGroup: boolean;
  /** @throws NOT_SUPPORTED for a place that it cannot serve */
  requireNear(change: Change): void;
  /** The site that content is written for. A step of a group may not have its place yet. */
  siteOf(end: End): Filled;
  /** Creates an empty file for content. @param mode permissions while it is prepared */
  create(end: End, mode: number | undefined): Io<StagedFile>;
  /** Takes a file whose content is complete; it is flushed before anything gets a name. */
  complete(end: End, file: StagedFile): Io<void>;
  discard(end: End, file: StagedFile, isPut: boolean): Io<void>;
  /**
   * Refuses a removal that could not be kept, and opens the place of the removed entry. @returns `undefined`: chosen at the removal
   * @throws QUOTA_EXCEEDED, DENIED_BY_POLICY, PERMISSION_DENIED
   */
  placeFor(change: Change, doomed: Doomed): Io<Displaced | undefined>;
  /** Takes an entry out of its directory. This is the commit of its removal. @param to as chosen before */
  take(change: Change, doomed: Doomed, to: Displaced | undefined): Io<Taken>;
  /** Keeps a file until the end of the group. @returns its name there; `undefined`: it is not kept here */
  keepBefore(change: Change, name: string, old: Pinned): Io<string | undefined>;
  /** Gives a file a name on another mount, which a rename has refused. @throws `refusal` if that cannot be */
  putElsewhere(change: Change, file: PreparedEntry, put: (path: string) => Io<void>, refusal: unknown): Io<void>;
}

/** One place of a step. */
export class End {
  readonly at: At;
  readonly way: Way;
  readonly #rules: WriteRules;
  /** Others may have changed the place since the walk. */
  isStale = true;
  #change: Change | undefined;
  #found: Reached | undefined;
  #target: Target | undefined;
  #now: Pinned | undefined;

  constructor(at: At, way: Way, rules: WriteRules) {
    this.at = at;
    this.way = way;
    this.#rules = rules;
  }

  get isOpen(): boolean {
    return this.#change !== undefined;
  }

  /** Walks there, for a group. */
  *open(enter: Enter, jailOfGroup: Jail | undefined): Io<Jail> {
    this.at.access.scope.checkpoint();
    this.close();
    const { jail, walk, found } = yield* enter(this.at, this.way, jailOfGroup);
    const journal = openedJournal(this.#rules);
    const id = journal?.newId() ?? "";
    this.arrive({ jail, walk, rules: this.#rules, made: [], journal, id, ...this.at }, found);
    return jail;
  }

  /** @param found by the walk of the change, which is closed with this @param target authorised already */
  arrive(change: Change, found: Reached, target?: Target): void {
    change.walk.settle();
    this.#change = change;
    this.#found = found;
    this.#target = target;
  }

  close(): void {
    this.drop();
    this.#change?.walk.close();
    this.#change = undefined;
    this.#found = undefined;
    this.#target = undefined;
  }

  get change(): Change {
    if (this.#change === undefined) throw notOpen();
    return this.#change;
  }

  get found(): Reached {
    if (this.#found === undefined) throw notOpen();
    return this.#found;
  }

  /** The real path as far as it is known. */
  get real(): readonly string[] {
    return this.found.real;
  }

  get name(): string {
    return this.#target?.name ?? this.real.at(-1) ?? "";
  }

  /** @throws as {@link locate} */
  target(options: { readonly parents: boolean }): Target {
    this.#target ??= locate(this.change, this.found, options);
    return this.#target;
  }

  /** Directories above the target are still to be made. */
  get isBelowMissing(): boolean {
    return (this.#target?.parents.length ?? 0) > 0;
  }

  *makeParents(): Io<void> {
    const target = this.#target;
    if (target === undefined || target.parents.length === 0) return;
    yield* createParents(this.change, target.parents);
    this.#target = { ...target, parents: [] };
    this.isStale = true;
  }

  /** The entry that has the name now; released with the next look, or by {@link drop}. */
  *current(): Io<Pinned | undefined> {
    this.drop();
    const { found, change } = this;
    const isInReach = this.#target === undefined ? found.state === "found" : !this.isBelowMissing;
    if (!isInReach) return undefined;
    if (!this.isStale) return found.state === "found" ? found.object : undefined;
    this.#now = yield* change.jail.handles.pin(change.walk.directory, this.name);
    return this.#now;
  }

  drop(): void {
    if (this.#now !== undefined) release(this.#now);
    this.#now = undefined;
  }

  /** Directories on the way that are missing, as real paths. */
  get missing(): (readonly string[])[] {
    const { found } = this;
    if (found.state !== "missing") return [];
    const above = found.real.length - found.missing.length;
    return found.missing.slice(1).map((_, index) => found.real.slice(0, above + index + 1));
  }

  /** Lock keys for which other writers of this place wait; those below a tree that itself gets another name wait too. */
  get keys(): LockRequest {
    const { found } = this;
    const { walk } = this.change;
    const missing = this.#target?.parents ?? (found.state === "missing" ? found.missing : []);
    const exclusive = [nameKey(walk.directory, missing[0] ?? this.name)];
    const isTree = found.state === "found" && !this.way.followLast && found.object.stat.isDirectory();
    if (isTree) exclusive.push(identity(found.object));
    return { shared: walk.identities(), exclusive };
  }
}

const notOpen = (): Error => new TypeError("The place of a step is not open");

/** Lock keys of several places together. */
export function together(requests: readonly LockRequest[]): LockRequest {
  const [only] = requests;
  if (only !== undefined && requests.length === 1) return only;
  const exclusive = new Set(requests.flatMap((request) => request.exclusive));
  const shared = new Set(requests.flatMap((request) => request.shared));
  return { shared: [...shared].filter((key) => !exclusive.has(key)), exclusive: [...exclusive] };
}

/** A step, as a request for approval shows it. @param change as planned */
export function plannedOf(step: Step, change: EntryChange): PlannedChange {
  const { staged, isKept = false, ends } = step;
  const { at } = placeOf(step);
  const from = ends.length > 1 ? ends[0].at : undefined;
  return { change, at, from, isKept, content: (most) => staged?.read(most) };
}

/** Asks whether planned changes may be made. @throws APPROVAL_REQUIRED, APPROVAL_DENIED, CONFLICT; nothing has changed then */
export function* requireApproval(changes: readonly PlannedChange[]): Io<Recheck | undefined> {
  const [first] = changes;
  const approve = first?.from?.access.approve ?? first?.at.access.approve;
  return approve && (yield* wait(approve(changes)));
}

/** @throws as {@link Recheck} */
export function* recheckEnds(recheck: Recheck, { ends }: Step): Io<void> {
  for (const { at, change, isBelowMissing, name } of ends) {
    recheck(at, isBelowMissing ? undefined : yield* statBelow(change.jail.sys, change.walk.directory, name));
  }
}

/** The place at which a step is reported. */
export function placeOf({ ends }: Step): End {
  const end = ends.at(-1);
  if (end === undefined) throw new TypeError("A step has a place");
  return end;
}

/** Directories that `parents` makes, as real paths. */
export const madePaths = ({ walk }: Change, parents: readonly string[]): (readonly string[])[] =>
  parents.map((_, index) => [...walk.names, ...parents.slice(0, index + 1)]);
