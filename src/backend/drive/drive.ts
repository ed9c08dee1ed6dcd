// The backend of a root that is a drive.

import type { RelPath } from "../../core/call/path.js";
import {
  existsNotDirectory,
  isADirectory,
  notADirectory,
  notEmpty,
  notFound,
  parentMissing,
  rootDelete,
} from "../../core/errors/texts.js";
import type {
  Access,
  AppendOptions,
  At,
  Backend,
  Body,
  ChangeOptions,
  Copied,
  CopyOptions,
  FileStat,
  Listing,
  Moved,
  MoveOptions,
  ReadBytes,
  ReadRange,
  SourceOptions,
  WalkOptions,
  WriteOptions,
  Written,
} from "../../core/ports/backend.js";
import type { OpenFile } from "../../core/ports/open-file.js";
import type { TreeSource } from "../../core/ports/tree-source.js";
import type { DriveChange, DriveSnapshot, DriveStat, OwnerDrives } from "../../drive/engine/engine.js";
import { sortByName } from "../../path/order.js";
import { expectationError, requireExpected } from "../expected.js";
import { authoriseParents } from "../parents.js";
import { omissionOf } from "../refusal.js";
import { checkExpected } from "./conditions.js";
import { asCallerError } from "./errors.js";
import { DriveTree, moveInDrive, placeInDrive } from "./place.js";
import { madeFor, newState, reported, stateOf } from "./report.js";
import { type DriveDoor, store } from "./store.js";
import { describe, directoryAt, locate, makeDirectories, type Spot, sizePart, stampPart, statAt } from "./tree.js";
import { requireAllAllowed, walkBelow } from "./walk.js";

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
  readonly open: () => Promise<Pick<OwnerDrives, "read" | "change" | "stage">>;
  readonly drive: string;
  /** For error messages. */
  readonly rootName: string;
}

/**
 * One drive of one owner. A drive has no links, so the real path of a request is the requested one. A missing drive
 * reads as an empty directory; the first change creates it. Nothing is held open between calls.
 */
export class DriveBackend implements Backend {
  readonly #open: DriveBackendOptions["open"];
  readonly #drive: string;
  readonly #rootName: string;

  constructor({ open, drive, rootName }: DriveBackendOptions) {
    this.#open = open;
    this.#drive = drive;
    this.#rootName = rootName;
  }

  list(path: RelPath, page: { offset: number; limit: number }, access: Access): Promise<Listing> {
    return this.#read(path, access, async (tree) => {
      await directoryAt(tree, path, access);
      const entries = sortByName(await tree.entries(path.segments));
      const allowed = entries.filter(({ name }) => access.policy?.denies([], name) !== true);
      const shown = allowed.slice(page.offset, page.offset + page.limit);
      const left = allowed.length === entries.length ? {} : { denied: entries.length - allowed.length };
      return { entries: shown.map((entry) => describe(entry, path)), total: allowed.length, ...left };
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

  read(path: RelPath, plan: (size: number) => ReadRange, access: Access): Promise<ReadBytes> {
    return this.#read(path, access, async (tree) => {
      const found = await statAt(tree, path.segments);
      if (found === undefined) throw notFound(access.place);
      if (found.type === "directory") throw isADirectory(access.place);
      const { offset, length } = plan(found.size);
      const { bytes, size } = await tree.readFile(path.segments, offset, length);
      return { bytes, size, ...stampPart(found) };
    });
  }

  open(path: RelPath, access: Access): Promise<OpenFile> {
    return this.#run(path, { access, verb: "read" }, async () => {
      const tree = await (await this.#open()).read(this.#drive);
      try {
        const found = await statAt(tree, path.segments);
        if (found === undefined) throw notFound(access.place);
        if (found.type === "directory") throw isADirectory(access.place);
        // A call that has already been answered would never release it.
        access.scope.checkpoint();
        const { size, modified } = found;
        const read = async (offset: number, length: number) =>
          (await this.#run(path, { access, verb: "read" }, () => tree.readFile(path.segments, offset, length))).bytes;
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
    return this.#run(path, { access, verb: "create" }, async () => {
      const last = path.segments.length - 1;
      const check = async (tree: DriveSnapshot): Promise<Spot> => {
        const spot = await locate(tree, path);
        this.#requireParent(spot, path, options.parents);
        if (spot.depth > last && spot.node.type === "file") throw existsNotDirectory(access.place);
        return spot;
      };
      const { expected } = options;
      const there = (): { created: false } => {
        if (expected !== undefined) throw expectationError(expected, undefined, access);
        return { created: false };
      };
      const first = await this.#look(check);
      if (first.depth > last) return there();
      if (expected !== undefined) requireExpected(expected, undefined, access);
      authoriseParents(path, { from: first.depth, to: last }, access);
      return reported(this.#door, access, async (tree, note) => {
        const spot = await check(tree);
        if (spot.depth > last) return there();
        authoriseParents(path, { from: spot.depth, to: first.depth }, access);
        await makeDirectories(tree, path, { from: spot.depth, to: last + 1 });
        access.scope.commit();
        const [created, kind] = ["created", "directory"] as const;
        const made = madeFor(path, { from: spot.depth, to: last });
        note({ action: created, kind, path: path.segments, ...made, before: null, after: newState(0) });
        return { created: true };
      });
    });
  }

  async remove(
    path: RelPath,
    { recursive, expected }: ChangeOptions & { recursive: boolean },
    access: Access,
  ): Promise<{ existed: boolean }> {
    if (path.segments.length === 0) throw rootDelete(this.#rootName);
    return this.#run(path, { access, verb: "delete" }, async () => {
      const check = async (tree: DriveSnapshot): Promise<DriveStat | undefined> => {
        const found = await statAt(tree, path.segments);
        const takesFiles = expected !== undefined || access.rules?.removesFilesOnly === true;
        if (takesFiles && found?.type === "directory") throw isADirectory(access.place);
        await checkExpected({ tree, segments: path.segments, access }, found, expected);
        if (found?.type === "directory" && !recursive && (await tree.entries(path.segments)).length > 0)
          throw notEmpty(access.place);
        if (found?.type === "directory") await requireAllAllowed(tree, path.segments, access);
        return found;
      };
      if ((await this.#look(check)) === undefined) return { existed: false };
      return reported(this.#door, access, async (tree, note) => {
        const found = await check(tree);
        if (found === undefined) return { existed: false };
        const existed = await tree.remove(path.segments, { recursive });
        access.scope.commit();
        const [action, before] = ["deleted" as const, stateOf(found)];
        note({ action, kind: found.type, path: path.segments, before, after: null });
        return { existed };
      });
    });
  }

  move(from: At, to: At, options: MoveOptions): Promise<Moved> {
    return this.#run(from.path, { access: from.access, verb: "move" }, () =>
      // Errors without a place concern the target.
      this.#run(to.path, { access: to.access, verb: "move" }, () => moveInDrive(this.#door, from, to, options)),
    );
  }

  source(path: RelPath, { there }: SourceOptions, access: Access): Promise<TreeSource> {
    const run = <T>(work: () => Promise<T>): Promise<T> => this.#told({ access, verb: "read" }, work);
    return this.#run(path, { access, verb: "read" }, async () => {
      const tree = await (await this.#open()).read(this.#drive);
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
    return this.#run(path, { access, verb: access.verb }, () =>
      placeInDrive(this.#door, { path, access }, source, options),
    );
  }

  async close(): Promise<void> {}

  #store(path: RelPath, body: Body, how: AppendOptions & { verb: "write" | "append" }, access: Access) {
    const check = async (tree: DriveSnapshot): Promise<Spot> => {
      const spot = await locate(tree, path);
      this.#requireParent(spot, path, how.parents);
      if (spot.depth === path.segments.length && spot.node.type === "directory") throw isADirectory(access.place);
      return spot;
    };
    return this.#run(path, { access, verb: how.verb }, () => store(this.#door, { path, body, how, check }, access));
  }

  get #door(): DriveDoor {
    return {
      look: (look) => this.#look(look),
      change: (work) => this.#change(work),
      stage: async (content) => (await this.#open()).stage(content),
    };
  }

  /** @throws unless the target's parent exists, or may be created */
  #requireParent({ depth, node }: Spot, path: RelPath, parents: boolean): void {
    const missing = path.segments.length - depth;
    const place = (segments: readonly string[]) => ({ root: this.#rootName, path: segments.join("/") });
    if (missing > 0 && node.type === "file") throw notADirectory(place(path.segments.slice(0, depth)));
    if (missing > 1 && !parents) throw parentMissing(place(path.segments.slice(0, -1)));
  }

  #read<T>(path: RelPath, access: Access, look: (tree: DriveSnapshot) => Promise<T>): Promise<T> {
    return this.#run(path, { access, verb: "read" }, () => this.#look(look));
  }

  /** Every access to the drive passes here: nothing about a path is disclosed before its real place is authorised. */
  async #run<T>(path: RelPath, deed: { access: Access; verb: string }, work: () => Promise<T>): Promise<T> {
    deed.access.scope.checkpoint();
    deed.access.real(path.segments);
    return this.#told(deed, work);
  }

  async #told<T>({ access, verb }: { access: Access; verb: string }, work: () => Promise<T>): Promise<T> {
    access.scope.checkpoint();
    try {
      return await access.scope.race(work());
    } catch (error) {
      throw asCallerError(error, { place: access.place, drive: this.#drive, verb });
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
