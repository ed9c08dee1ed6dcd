// The backend of a root that is a drive.

import type { RelPath } from "../../core/call/path.js";
import { notFound } from "../../core/errors/texts.js";
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
  ReadBackend,
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
import type { OpenFile } from "../../core/ports/open-file.js";
import type { TreeSource } from "../../core/ports/tree-source.js";
import type { DriveReader, DriveSnapshot, OwnerDrives } from "../../drive/engine/engine.js";
import { contentVersion } from "../../drive/engine/log/entry.js";
import { omissionOf } from "../path-policy.js";
import { pageOf, walkBelow } from "../tree-walk.js";
import { changeInDrive, checkInDrive, type DriveDoor, type Plan, type Step } from "./change.js";
import { mkdirStep, removeStep, restoreStep, touchStep } from "./entries.js";
import { toCallerError } from "./errors.js";
import { DriveTree, moveStep, placeStep } from "./move-copy.js";
import { describe, directoryAt, readerOf, requireFile, sizePart, stampPart, statAt } from "./tree.js";
import { writeStep } from "./write.js";

export interface DriveSource {
  /**
   * @param owner authenticated DID
   * @throws STORE_UNAVAILABLE, STORE_DAMAGED
   */
  of(owner: string): Promise<OwnerDrives>;
}

export interface DriveBackendOptions {
  /** Called once per operation. */
  readonly open: () => Promise<Pick<OwnerDrives, "read" | "change" | "stage" | "log">>;
  readonly drive: string;
  /** The time and the cancellation of the call end what waits for the backend, so that its calls need not. */
  readonly isBounded?: boolean;
}

/**
 * One drive of one owner. A drive has no links, so the real path of a request is the requested one. A missing drive
 * reads as an empty directory; the first change creates it. Nothing is held open between calls.
 */
export class DriveBackend implements Backend {
  readonly #options: DriveBackendOptions;

  constructor(options: DriveBackendOptions) {
    this.#options = options;
  }

  list(path: RelPath, page: ListedPart, access: Access): Promise<Listing> {
    return this.#read(path, access, async (tree) => {
      await directoryAt(tree, path, access);
      const { shown, counts } = pageOf(await tree.entries(path.segments), page, access);
      const entries = shown.map((entry) => ({
        ...describe(entry, path),
        ...(page.stamps === true ? stampPart(entry) : {}),
      }));
      return { entries, ...counts };
    });
  }

  walk(path: RelPath, options: WalkOptions, access: Access): Promise<void> {
    return this.#read(path, access, async (tree) => {
      await directoryAt(tree, path, access);
      await walkBelow(tree, path.segments, { ...options, access });
    });
  }

  stat(path: RelPath, access: Access): Promise<FileStat | undefined> {
    return this.#read(path, access, async (tree) => {
      const found = await statAt(tree, path.segments);
      if (found === undefined) return undefined;
      return { ...sizePart(found), readOnly: false, symlink: false, ...stampPart(found) };
    });
  }

  state(path: RelPath, access: Access): Promise<CurrentState | undefined> {
    return this.#read(path, access, async (tree) => {
      const found = await statAt(tree, path.segments);
      if (found === undefined) return undefined;
      const { type: kind, size, modified, content } = found;
      return { kind, size, modified, ...(content === undefined ? {} : { version: contentVersion(content) }) };
    });
  }

  async onOneState<T>(files: readonly At[], work: (state: ReadBackend) => Promise<T>): Promise<T> {
    const [first] = files;
    if (first === undefined) return work(this);
    const { access } = first;
    const tree = await this.#withCallerErrors({ access, verb: access.verb }, async () => {
      const opened = await this.#tree();
      await opened.fetch(files.map(({ path }) => path.segments));
      return opened;
    });
    // Read until the work has ended, even if the caller was answered before.
    return access.scope.race(work(this.#on(tree)).finally(() => tree.release()));
  }

  read(path: RelPath, plan: (size: number) => ReadRange, access: Access): Promise<ReadBytes> {
    return this.#read(path, access, async (tree) => {
      const found = await requireFile(tree, path, access);
      const { offset, length } = plan(found.size);
      const { bytes, size } = await tree.readFile(path.segments, offset, length);
      return found.content === undefined ? { bytes, size } : { bytes, size, stamp: found.content };
    });
  }

  open(path: RelPath, access: Access): Promise<OpenFile> {
    return this.#run(path, { access, verb: "read" }, async () => {
      const tree = await this.#tree();
      try {
        const found = await requireFile(tree, path, access);
        // A call that has already been answered would never release it.
        access.scope.checkpoint();
        const { size, modified } = found;
        const read = async (offset: number, length: number, into?: Buffer) => {
          const work = () => tree.readFile(path.segments, offset, length, into);
          return (await this.#run(path, { access, verb: "read" }, work)).bytes;
        };
        return { size, modified, read, close: () => tree.release(), ...stampPart(found) };
      } catch (error) {
        tree.release();
        throw error;
      }
    });
  }

  write(path: RelPath, body: Body, options: WriteOptions, access: Access): Promise<Written> {
    return this.#change(writeStep(this.#door, { path, access }, body, { ...options, verb: "write" }), "write");
  }

  append(path: RelPath, body: Body, options: AppendOptions, access: Access): Promise<Written> {
    return this.#change(writeStep(this.#door, { path, access }, body, { ...options, verb: "append" }), "append");
  }

  mkdir(path: RelPath, options: WriteOptions, access: Access): Promise<{ created: boolean }> {
    return this.#change(mkdirStep({ path, access }, options), "create");
  }

  async remove(path: RelPath, options: RemoveOptions, access: Access): Promise<Removed> {
    return this.#change(removeStep({ path, access }, options), "delete");
  }

  touch(path: RelPath, { modified }: TouchOptions, access: Access): Promise<void> {
    return this.#change(touchStep({ path, access }, modified), "write");
  }

  move(from: At, to: At, options: MoveOptions): Promise<Moved> {
    return this.#change(moveStep(from, to, options), "move");
  }

  source(path: RelPath, { there }: SourceOptions, access: Access): Promise<TreeSource> {
    const run = <T>(work: () => Promise<T>): Promise<T> => this.#withCallerErrors({ access, verb: "read" }, work);
    return this.#run(path, { access, verb: "read" }, async () => {
      const tree = await this.#tree();
      try {
        const found = await statAt(tree, path.segments);
        if (found === undefined) throw notFound(access.place);
        const omission = (below: readonly string[], name: string) => omissionOf(access, there, { below, name });
        return new DriveTree({ ...{ tree, found, omission, run }, at: { path, access }, look: this.#door.look });
      } catch (error) {
        tree.release();
        throw error;
      }
    });
  }

  place(path: RelPath, source: TreeSource, options: CopyOptions, access: Access): Promise<Copied> {
    return this.#change(placeStep(this.#door, { path, access }, source, options), access.verb);
  }

  async changeAll(changes: readonly GroupChange[]): Promise<readonly GroupEffect[]> {
    const steps = changes.map((change) => this.#stepOf(change));
    const plans = await this.#changeAll(steps, "change");
    return plans.map(({ existed, sha256 }) => (sha256 === undefined ? { existed } : { existed, sha256 }));
  }

  async checkAll(changes: readonly GroupChange[]): Promise<void> {
    const [first, ...others] = changes.map((change) => this.#stepOf(change));
    if (first === undefined) return;
    const deed = { access: first.at.access, verb: "change" };
    await this.#withCallerErrors(deed, () => checkInDrive(this.#door, [first, ...others]));
  }

  async close(): Promise<void> {}

  #stepOf(change: GroupChange): Step<unknown> {
    switch (change.kind) {
      case "write":
        return writeStep(this.#door, change.at, change.body, { ...change.options, verb: "write" });
      case "remove":
        return removeStep(change.at, { ...change.options, mustExist: true });
      case "move":
        return moveStep(change.from, change.to, change.options);
      case "mkdir":
        return mkdirStep(change.at, change.options);
      case "restore":
        return restoreStep(this.#door, change);
    }
  }

  async #change<T>(step: Step<T>, verb: string): Promise<T> {
    const [plan] = await this.#changeAll([step], verb);
    if (plan === undefined) throw new TypeError("A change that was made has a plan");
    return plan.answer();
  }

  async #changeAll<T>(steps: readonly Step<T>[], verb: string): Promise<readonly Plan<T>[]> {
    const [first] = steps;
    if (first === undefined) return [];
    return this.#withCallerErrors({ access: first.at.access, verb }, () => changeInDrive(this.#door, steps));
  }

  get #door(): DriveDoor {
    const { open, drive } = this.#options;
    return {
      name: drive,
      look: (look) => this.#look(look),
      change: async (work) => (await open()).change(drive, work),
      stage: async (content) => (await open()).stage(content),
      logged: async (id) => (await open()).log.entry(id),
      on: (tree) => this.#on(tree),
    };
  }

  /** The drive as a tree has it; the owner of the tree releases it. */
  #on(tree: DriveSnapshot): DriveBackend {
    const { open, drive } = this.#options;
    const openThen = async () => ({ ...(await open()), read: async () => readerOf(tree) });
    return new DriveBackend({ open: openThen, drive, isBounded: true });
  }

  /** The drive now; the caller releases it. */
  async #tree(): Promise<DriveReader> {
    const { open, drive } = this.#options;
    return (await open()).read(drive);
  }

  #read<T>(path: RelPath, access: Access, look: (tree: DriveSnapshot) => Promise<T>): Promise<T> {
    return this.#run(path, { access, verb: "read" }, () => this.#look(look));
  }

  /** Every access to the drive passes here: nothing about a path is disclosed before its real place is authorised. */
  async #run<T>(path: RelPath, deed: { access: Access; verb: string }, work: () => Promise<T>): Promise<T> {
    deed.access.scope.checkpoint();
    deed.access.real(path.segments);
    return this.#withCallerErrors(deed, work);
  }

  async #withCallerErrors<T>({ access, verb }: { access: Access; verb: string }, work: () => Promise<T>): Promise<T> {
    const { drive, isBounded } = this.#options;
    access.scope.checkpoint();
    try {
      return await (isBounded === true ? work() : access.scope.race(work()));
    } catch (error) {
      throw toCallerError(error, { place: access.place, drive, verb });
    }
  }

  async #look<T>(look: (tree: DriveSnapshot) => Promise<T>): Promise<T> {
    const tree = await this.#tree();
    try {
      return await look(tree);
    } finally {
      tree.release();
    }
  }
}
