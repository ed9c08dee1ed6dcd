// The backend of a host root: each method walks to its path, authorises the real path, and then works by handle.

import type { RelPath } from "../../core/call/path.js";
import { notAFile, notFound } from "../../core/errors/texts.js";
import { type Awaitable, type Io, runIo, wait } from "../../core/io.js";
import type {
  Access,
  AppendOptions,
  At,
  Backend,
  Body,
  Copied,
  CopyOptions,
  CurrentState,
  FileStat,
  GroupChange,
  GroupEffect,
  ListedPart,
  Listing,
  Moved,
  MoveOptions,
  ReadBytes,
  ReadRange,
  Removed,
  RemoveOptions,
  SourceOptions,
  TouchOptions,
  WalkOptions,
  WriteOptions,
  Written,
} from "../../core/ports/backend.js";
import type { JournalWriter } from "../../core/ports/changes/journal-writer.js";
import type { Observation, ObservedPlace, Observer } from "../../core/ports/changes/observer.js";
import type { OpenFile } from "../../core/ports/open-file.js";
import type { MountedDirectory, MountOptions } from "../../core/ports/sandbox.js";
import type { TreeSource } from "../../core/ports/tree-source.js";
import type { EngineName } from "../../jail/handles.js";
import type { Jail } from "../../jail/jail.js";
import { ALONE } from "./changes/alone.js";
import { appendFile } from "./changes/append.js";
import { CopyStep, copyAlone } from "./changes/copy.js";
import { MakeDirectoryStep, makeDirectoryAlone, RemoveStep, removeAlone } from "./changes/entry-steps.js";
import { MoveStep, moveAlone } from "./changes/move-step.js";
import { currentState, withReport } from "./changes/report.js";
import { HostSource } from "./changes/source.js";
import { type Enter, placeOf, type Step } from "./changes/step.js";
import { touchEntry } from "./changes/touch.js";
import { isReplacement, WriteStep, writeAlone } from "./changes/write-step.js";
import { changeGroup, checkGroup, replaceAlone } from "./group/group.js";
import { listEntries, statArrival } from "./list.js";
import { mountDirectory } from "./mount.js";
import { TreeObservation } from "./observe/tree-observation.js";
import { openFile, readFile } from "./open.js";
import { countTree } from "./quota.js";
import { type Arrival, directoryOf, fileOf, HostRoot, mapErrors, type Way } from "./root.js";
import { sweepRuns } from "./runs/run-mark.js";
import type { Change, Reached, WriteRules } from "./target.js";
import { walkEntries } from "./walk.js";

const CHANGE: Way = { followLast: true, onlyTarget: false };
const LOOK: Way = { followLast: true, onlyTarget: true };
const LOOK_AT_NAME: Way = { followLast: false, onlyTarget: true };

type Work<T> = (arrival: Arrival) => Io<T>;

/** A host directory. All disk access goes through the handles of its jail. */
export class HostBackend implements Backend {
  readonly #root: HostRoot;
  readonly #rules: WriteRules;
  readonly #observations = new Set<TreeObservation>();

  constructor(jail: Jail, rules: WriteRules) {
    this.#root = new HostRoot(jail, (other) => this.#onReplaced(other));
    this.#rules = rules;
  }

  get engine(): EngineName {
    return this.#root.jail.engine;
  }
  get jail(): Jail {
    return this.#root.jail;
  }
  get foldsCase(): boolean {
    return this.#root.jail.foldsCase;
  }

  list(path: RelPath, page: ListedPart, access: Access): Awaitable<Listing> {
    return this.#look(path, access, ({ jail, found }) =>
      listEntries(jail, directoryOf(found, access), { ...page, access }),
    );
  }

  walk(path: RelPath, options: WalkOptions, access: Access): Awaitable<void> {
    return this.#look(path, access, ({ jail, found }) =>
      walkEntries(jail, directoryOf(found, access), { ...options, access }),
    );
  }

  stat(path: RelPath, access: Access): Awaitable<FileStat | undefined> {
    return this.#look(path, access, (arrival) => statArrival(arrival));
  }

  state(path: RelPath, access: Access): Awaitable<CurrentState | undefined> {
    const work = this.#walk(path, access, { way: LOOK_AT_NAME, work: currentState });
    return runIo(mapErrors(access.place, work), access.scope);
  }

  read(path: RelPath, plan: (size: number) => ReadRange, access: Access): Awaitable<ReadBytes> {
    return this.#look(path, access, ({ jail, found }) => readFile(jail, fileOf(found, access), plan, access));
  }

  open(path: RelPath, access: Access): Awaitable<OpenFile> {
    return this.#look(path, access, ({ jail, found }) => openFile(jail, fileOf(found, access), access));
  }

  write(path: RelPath, body: Body, options: WriteOptions, access: Access): Awaitable<Written> {
    const step = new WriteStep({ at: { path, access }, body, options }, ALONE, this.#rules);
    return this.#make(step, () => writeAlone(step));
  }

  append(path: RelPath, body: Body, options: AppendOptions, access: Access): Awaitable<Written> {
    return this.#change({ path, access }, (change, found) => appendFile(change, found, { body, ...options }));
  }

  mkdir(path: RelPath, options: WriteOptions, access: Access): Awaitable<{ created: boolean }> {
    const step = new MakeDirectoryStep({ at: { path, access }, options }, this.#rules);
    return this.#make(step, () => makeDirectoryAlone(step));
  }

  remove(path: RelPath, options: RemoveOptions, access: Access): Awaitable<Removed> {
    const step = new RemoveStep({ at: { path, access }, options }, ALONE, this.#rules);
    return this.#make(step, () => this.#remove(step));
  }

  touch(path: RelPath, options: TouchOptions, access: Access): Awaitable<void> {
    return this.#change({ path, access }, (change, found) => touchEntry(change, found, options));
  }

  /** If links count only by their targets, a dangling link does not exist for removal either. */
  *#remove(step: RemoveStep): Io<Removed> {
    const [{ at, change, found }] = step.ends;
    const isLink = found.state === "found" && found.object.stat.isSymbolicLink();
    if (isLink && at.access.rules !== undefined)
      (yield* this.#root.enter(at.path, at.access, LOOK, change.jail)).walk.close();
    return yield* removeAlone(step);
  }

  move(from: At, to: At, options: MoveOptions): Awaitable<Moved | undefined> {
    const step = new MoveStep({ from, to, options }, ALONE, this.#rules);
    return this.#make(step, () => moveAlone(step));
  }

  source(path: RelPath, options: SourceOptions, access: Access): Awaitable<TreeSource> {
    return runIo(mapErrors(access.place, this.#source(path, options, access)), access.scope);
  }

  *#source(path: RelPath, { followLast, there, leftOut }: SourceOptions, access: Access): Io<TreeSource> {
    access.scope.checkpoint();
    const { jail, walk, found } = yield* this.#root.enter(path, access, { followLast, onlyTarget: false });
    try {
      if (found.state !== "found") throw notFound(access.place);
      const { object, real } = found;
      if (!object.stat.isDirectory() && !object.stat.isFile()) throw notAFile(access.place);
      return new HostSource({ jail, walk, object, name: real.at(-1) ?? "", access, there, leftOut });
    } catch (error) {
      walk.close();
      throw error;
    }
  }

  place(path: RelPath, source: TreeSource, options: CopyOptions, access: Access): Awaitable<Copied> {
    const step = new CopyStep({ path, access }, source, options, this.#rules);
    return this.#make(step, () => copyAlone(step));
  }

  changeAll(changes: readonly GroupChange[]): Awaitable<readonly GroupEffect[]> {
    const [first, second] = changes;
    if (first === undefined) return [];
    // A flush of the directory can fail behind the rename: a group then puts back what was there.
    if (second === undefined && isReplacement(first) && !this.#rules.durable) {
      const step = new WriteStep(first, ALONE, this.#rules);
      return this.#make(step, () => replaceAlone(step));
    }
    return this.#asGroup(first, (enter) => this.#afterCounting(changeGroup(enter, this.#rules, changes)));
  }

  checkAll = (changes: readonly GroupChange[]): Awaitable<void> =>
    changes[0] && this.#asGroup(changes[0], (enter) => checkGroup(enter, this.#rules, changes));

  async mount(path: RelPath, options: MountOptions, access: Access): Promise<MountedDirectory> {
    return mountDirectory({ enter: () => this.#root.enter(path, access, LOOK), rules: this.#rules, access }, options);
  }

  observe(place: ObservedPlace, observer: Observer): Observation {
    const onClosed = () => this.#observations.delete(made);
    const made = new TreeObservation(() => this.#root.jail, place, { observer, onClosed });
    this.#observations.add(made);
    return made;
  }

  close(): Promise<void> {
    for (const one of this.#observations) one.close();
    return this.#root.close();
  }

  #onReplaced(jail: Jail): void {
    if (!jail.readOnly) jail.trackBackground(runIo(sweepRuns(jail)));
    for (const one of this.#observations) one.restart();
    const { usage } = this.#rules;
    if (usage === undefined) return;
    const counting = (async () => runIo(countTree(jail, jail.top, false)))();
    jail.trackBackground(counting);
    usage.recount(counting);
  }

  /**
   * Walks to the path and authorises the real path before anything is disclosed: behind a link, a caller without rights
   * to the target must not learn whether it exists.
   */
  #look<T>(path: RelPath, access: Access, work: Work<T>): Awaitable<T> {
    return runIo(mapErrors(access.place, this.#walk(path, access, { work, way: LOOK })), access.scope);
  }

  /** Appends and times: changes in place. */
  #change<T>(at: At, work: (change: Change, found: Reached) => Io<T>): Awaitable<T> {
    const { path, access } = at;
    const make = this.#walk(path, access, { way: CHANGE, work: (arrival) => this.#inPlace(at, arrival, work) });
    return this.#begin(access, make);
  }

  *#inPlace<T>(at: At, arrival: Arrival, work: (change: Change, found: Reached) => Io<T>): Io<T> {
    const change = this.#changeAt(at, arrival, yield* this.#openJournal());
    return yield* this.#afterCounting(withReport(change, () => work(change, arrival.found)));
  }

  #changeAt(at: At, { jail, walk }: Arrival, journal: JournalWriter | undefined): Change {
    return { jail, rules: this.#rules, walk, ...at, made: [], journal };
  }

  #make<T>(step: Step, work: () => Io<T>): Awaitable<T> {
    const [{ at }] = step.ends;
    return this.#begin(at.access, this.#arrive(step, work));
  }

  *#arrive<T>(step: Step, work: () => Io<T>): Io<T> {
    const journal = yield* this.#openJournal();
    let jail: Jail | undefined;
    try {
      for (const end of step.ends) {
        const { path, access } = end.at;
        access.scope.checkpoint();
        const arrival = yield* mapErrors(access.place, this.#root.enter(path, access, end.way, jail));
        end.arrive(this.#changeAt(end.at, arrival, journal), arrival.found);
        ({ jail } = arrival);
      }
      const { change } = placeOf(step);
      return yield* mapErrors(change.access.place, this.#afterCounting(withReport(change, work)));
    } finally {
      for (const end of step.ends) end.close();
    }
  }

  #begin<T>({ place, scope }: Access, work: Io<T>): Awaitable<T> {
    return runIo(mapErrors(place, this.#afterRecovery(this.#afterCounting(work))), scope);
  }

  #openJournal(): Io<JournalWriter | undefined> {
    return wait(this.#rules.openJournal?.());
  }

  #asGroup<T>(first: GroupChange, work: (enter: Enter) => Io<T>): Awaitable<T> {
    const { place, scope } = (first.kind === "move" ? first.from : first.at).access;
    const done = work((at, way, jail) => this.#root.enter(at.path, at.access, way, jail));
    return runIo(mapErrors(place, this.#afterRecovery(done)), scope);
  }

  /** No change begins before the work that a dead process left half done is recovered: its lock file is then still there. */
  *#afterRecovery<T>(work: Io<T>): Io<T> {
    const { jail } = this.#root;
    if (!jail.isClosing && (yield* jail.staging.isLocked())) yield* jail.recover(false);
    return yield* work;
  }

  *#afterCounting<T>(work: Io<T>): Io<T> {
    const counting = this.#rules.usage?.counting;
    if (counting !== undefined) yield counting;
    return yield* work;
  }

  *#walk<T>(path: RelPath, access: Access, { work, way }: { work: Work<T>; way: Way }): Io<T> {
    access.scope.checkpoint();
    const arrival = yield* this.#root.enter(path, access, way);
    try {
      return yield* work(arrival);
    } finally {
      arrival.walk.close();
    }
  }
}
