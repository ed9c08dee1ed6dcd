// The backend of a root that is a drive.

import type { RelPath } from "../../core/call/path.js";
import { notFound, rootDelete } from "../../core/errors/texts.js";
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
import type { DriveChange, DriveSnapshot, OwnerDrives } from "../../drive/engine/engine.js";
import { contentVersion } from "../../drive/engine/log/entry.js";
import { sortByName, startAfter } from "../../path/order.js";
import { omissionOf } from "../path-policy.js";
import { fileSpot, makeDirectoryInDrive, removeInDrive, touchInDrive } from "./entries.js";
import { toCallerError } from "./errors.js";
import { changeAllInDrive, checkAllInDrive } from "./group.js";
import { DriveTree, moveInDrive, placeInDrive } from "./move-copy.js";
import { type DriveDoor, store } from "./store.js";
import { describe, directoryAt, requireFile, sizePart, stampPart, statAt } from "./tree.js";
import { walkBelow } from "./walk.js";

/** Opens the drives of owners. */
export interface DriveSource {
  /**
   * @param owner authenticated DID
   * @throws STORE_UNAVAILABLE, STORE_DAMAGED
   */
  of(owner: string): Promise<OwnerDrives>;
}

/** The drive and its names. */
export interface DriveBackendOptions {
  /** Called once per operation. */
  readonly open: () => Promise<Pick<OwnerDrives, "read" | "change" | "stage" | "log">>;
  readonly drive: string;
  /** For error messages. */
  readonly rootName: string;
  /** The time and the cancellation of the call end what waits for the backend, so that its calls need not. */
  readonly isBounded?: boolean;
}

/**
 * One drive of one owner. A drive has no links, so the real path of a request is the requested one. A missing drive
 * reads as an empty directory; the first change creates it. Nothing is held open between calls.
 */
export class DriveBackend implements Backend {
  readonly #open: DriveBackendOptions["open"];
  readonly #drive: string;
  readonly #rootName: string;
  readonly #isBounded: boolean;

  constructor({ open, drive, rootName, isBounded = false }: DriveBackendOptions) {
    this.#open = open;
    this.#drive = drive;
    this.#rootName = rootName;
    this.#isBounded = isBounded;
  }

  list(path: RelPath, page: ListedPart, access: Access): Promise<Listing> {
    return this.#read(path, access, async (tree) => {
      await directoryAt(tree, path, access);
      const entries = sortByName(await tree.entries(path.segments));
      const allowed = entries.filter(({ name }) => access.policy?.denies([], name) !== true);
      const start = startAfter(allowed, page.after) + page.offset;
      const shown = allowed.slice(start, start + page.limit);
      const left = allowed.length === entries.length ? {} : { denied: entries.length - allowed.length };
      return {
        entries: shown.map((entry) => ({
          ...describe(entry, path),
          ...(page.stamps === true ? stampPart(entry) : {}),
        })),
        total: allowed.length,
        start,
        ...left,
      };
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
    const { tree, owner } = await this.#withCallerErrors({ access, verb: access.verb }, async () => {
      const owner = await this.#open();
      const tree = await owner.read(this.#drive);
      await tree.fetch(files.map(({ path }) => path.segments));
      return { tree, owner };
    });
    const shared = { ...tree, release() {} };
    const open = async () => ({ ...owner, read: async () => shared });
    const state = new DriveBackend({ open, drive: this.#drive, rootName: this.#rootName, isBounded: true });
    // Read until the work has ended, even if the caller was answered before.
    return access.scope.race(work(state).finally(() => tree.release()));
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
      const tree = await (await this.#open()).read(this.#drive);
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
    return this.#store(path, body, { ...options, verb: "write" }, access);
  }

  append(path: RelPath, body: Body, options: AppendOptions, access: Access): Promise<Written> {
    return this.#store(path, body, { ...options, verb: "append" }, access);
  }

  mkdir(path: RelPath, options: WriteOptions, access: Access): Promise<{ created: boolean }> {
    return this.#run(path, { access, verb: "create" }, () =>
      makeDirectoryInDrive(this.#storeDoor, { path, access }, options),
    );
  }

  async remove(path: RelPath, options: RemoveOptions, access: Access): Promise<Removed> {
    if (path.segments.length === 0) throw rootDelete(this.#rootName);
    return this.#run(path, { access, verb: "delete" }, () => removeInDrive(this.#storeDoor, { path, access }, options));
  }

  touch(path: RelPath, options: TouchOptions, access: Access): Promise<void> {
    return this.#run(path, { access, verb: "write" }, () => touchInDrive(this.#storeDoor, { path, access }, options));
  }

  move(from: At, to: At, options: MoveOptions): Promise<Moved> {
    return this.#run(from.path, { access: from.access, verb: "move" }, () =>
      // Errors without a place concern the target.
      this.#run(to.path, { access: to.access, verb: "move" }, () => moveInDrive(this.#storeDoor, from, to, options)),
    );
  }

  source(path: RelPath, { there }: SourceOptions, access: Access): Promise<TreeSource> {
    const run = <T>(work: () => Promise<T>): Promise<T> => this.#withCallerErrors({ access, verb: "read" }, work);
    return this.#run(path, { access, verb: "read" }, async () => {
      const tree = await (await this.#open()).read(this.#drive);
      try {
        const found = await statAt(tree, path.segments);
        if (found === undefined) throw notFound(access.place);
        const omission = (below: readonly string[], name: string) => omissionOf(access, there, { below, name });
        return new DriveTree({ ...{ tree, found, omission, run }, at: { path, access }, look: this.#storeDoor.look });
      } catch (error) {
        tree.release();
        throw error;
      }
    });
  }

  place(path: RelPath, source: TreeSource, options: CopyOptions, access: Access): Promise<Copied> {
    return this.#run(path, { access, verb: access.verb }, () =>
      placeInDrive(this.#storeDoor, { path, access }, source, options),
    );
  }

  async changeAll(changes: readonly GroupChange[]): Promise<readonly GroupEffect[]> {
    return (await this.#asGroup(changes, changeAllInDrive)) ?? [];
  }

  async checkAll(changes: readonly GroupChange[]): Promise<void> {
    await this.#asGroup(changes, checkAllInDrive);
  }

  async #asGroup<T>(
    changes: readonly GroupChange[],
    work: (drive: DriveDoor, name: string, changes: readonly GroupChange[]) => Promise<T>,
  ): Promise<T | undefined> {
    const [first] = changes;
    if (first === undefined) return undefined;
    const { access } = first.kind === "move" ? first.from : first.at;
    return this.#withCallerErrors({ access, verb: "change" }, () => work(this.#storeDoor, this.#drive, changes));
  }

  async close(): Promise<void> {}

  #store(path: RelPath, body: Body, how: AppendOptions & { verb: "write" | "append" }, access: Access) {
    const check = (tree: DriveSnapshot) => fileSpot(tree, { path, access }, how.parents);
    return this.#run(path, { access, verb: how.verb }, () =>
      store(this.#storeDoor, { path, body, how, check }, access),
    );
  }

  get #storeDoor(): DriveDoor {
    return {
      look: (look) => this.#look(look),
      change: (work) => this.#change(work),
      stage: async (content) => (await this.#open()).stage(content),
      logged: async (id) => (await this.#open()).log.entry(id),
    };
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
    access.scope.checkpoint();
    try {
      return await (this.#isBounded ? work() : access.scope.race(work()));
    } catch (error) {
      throw toCallerError(error, { place: access.place, drive: this.#drive, verb });
    }
  }

  async #change<T>(work: (tree: DriveChange) => Promise<T>): Promise<T> {
    return (await this.#open()).change(this.#drive, work);
  }

  async #look<T>(look: (tree: DriveSnapshot) => Promise<T>): Promise<T> {
    const tree = await (await this.#open()).read(this.#drive);
    try {
      return await look(tree);
    } finally {
      tree.release();
    }
  }
}
