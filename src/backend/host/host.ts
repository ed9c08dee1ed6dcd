import type { RelPath } from "../../core/call/path.js";
import { notAFile, notFound, rootDelete } from "../../core/errors/texts.js";
import { type Awaitable, type Io, runIo } from "../../core/io.js";
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
  OpenFile,
  ReadBytes,
  ReadRange,
  SourceOptions,
  WalkOptions,
  WriteOptions,
  Written,
} from "../../core/ports/backend.js";
import type { MountedDirectory, MountOptions } from "../../core/ports/mount.js";
import type { TreeSource } from "../../core/ports/tree-source.js";
import { readEntries, readNames } from "../../jail/directory.js";
import { type Pinned, READ } from "../../jail/handles.js";
import type { Jail } from "../../jail/jail.js";
import { closeNow } from "../../jail/sys.js";
import type { Walk } from "../../jail/walk/walk.js";
import { named } from "../errno.js";
import { arrive, directoryOf, fileOf } from "./arrive.js";
import { appendFile } from "./changes/append.js";
import { placeCopy } from "./changes/copy.js";
import { makeDirectory } from "./changes/directory.js";
import { moveEntry } from "./changes/move.js";
import { removeEntry } from "./changes/removal.js";
import { HostSource } from "./changes/source.js";
import { replaceFile } from "./changes/write.js";
import { mountDirectory } from "./mount.js";
import { openFile, stamped } from "./open.js";
import { ReadBuffers, ReadResult } from "./read-buffers.js";
import type { Change, Reached, WriteRules } from "./target.js";
import { walkEntries } from "./walk.js";

/** How a call gets to where it works: a change also needs the directories on the way. */
interface Way {
  readonly followLast: boolean;
  readonly onlyTarget: boolean;
}

const CHANGE: Way = { followLast: true, onlyTarget: false };
const CHANGE_OF_NAME: Way = { followLast: false, onlyTarget: false };
const LOOK: Way = { followLast: true, onlyTarget: true };

/** Work on a walk that has arrived somewhere; `real` has been authorised. */
type Arrived<T> = (walk: Walk, found: Reached) => Io<T>;

/** A directory of the host, seen through its jail. Everything it does to the disk, it does by the jail's handles. */
export class HostBackend implements Backend {
  readonly #jail: Jail;
  readonly #rules: WriteRules;
  readonly #buffers: ReadBuffers;

  /** @param buffers shared by the roots of one adapter */
  constructor(jail: Jail, rules: WriteRules, buffers = new ReadBuffers()) {
    this.#jail = jail;
    this.#rules = rules;
    this.#buffers = buffers;
  }

  list(path: RelPath, page: { offset: number; limit: number }, access: Access): Awaitable<Listing> {
    return this.#look(path, access, (_walk, found) => this.#list(directoryOf(found, access), page, access));
  }

  walk(path: RelPath, options: WalkOptions, access: Access): Awaitable<void> {
    return this.#look(path, access, (_walk, found) =>
      walkEntries(this.#jail, directoryOf(found, access), { ...options, access }),
    );
  }

  stat(path: RelPath, access: Access): Awaitable<FileStat | undefined> {
    return this.#look(path, access, (walk, found) => this.#stat(walk, found));
  }

  read(path: RelPath, plan: (size: number) => ReadRange, access: Access): Awaitable<ReadBytes> {
    return this.#look(path, access, (_walk, found) => this.#read(fileOf(found, access), plan, access));
  }

  open(path: RelPath, access: Access): Awaitable<OpenFile> {
    return this.#look(path, access, (_walk, found) => openFile(this.#jail, fileOf(found, access), access));
  }

  write(path: RelPath, body: Body, options: WriteOptions, access: Access): Awaitable<Written> {
    return this.#change({ path, access }, (change, found) => replaceFile(change, found, { body, ...options }));
  }

  append(path: RelPath, body: Body, options: AppendOptions, access: Access): Awaitable<Written> {
    return this.#change({ path, access }, (change, found) => appendFile(change, found, { body, ...options }));
  }

  mkdir(path: RelPath, options: WriteOptions, access: Access): Awaitable<{ created: boolean }> {
    return this.#change({ path, access }, (change, found) => makeDirectory(change, found, options));
  }

  remove(
    path: RelPath,
    options: ChangeOptions & { recursive: boolean },
    access: Access,
  ): Awaitable<{ existed: boolean }> {
    if (path.segments.length === 0) throw rootDelete(access.place.root);
    const remove = (change: Change, found: Reached): Io<{ existed: boolean }> =>
      this.#removable(change, found, removeEntry(change, found, options));
    return this.#change({ path, access }, remove, CHANGE_OF_NAME);
  }

  /** Where links count only by what they lead to, one that leads nowhere is not there to be removed either. */
  *#removable<T>({ path, access }: Change, found: Reached, remove: Io<T>): Io<T> {
    const isLink = found.state === "found" && found.object.stat.isSymbolicLink();
    if (isLink && access.rules !== undefined) yield* this.#walk(path, access, { way: LOOK, work: function* () {} });
    return yield* remove;
  }

  move(from: At, to: At, options: MoveOptions): Awaitable<Moved | undefined> {
    const { place, scope } = from.access;
    return runIo(named(place, this.#counted(this.#move(from, to, options))), scope);
  }

  *#move(from: At, to: At, options: MoveOptions): Io<Moved | undefined> {
    const both = { jail: this.#jail, rules: this.#rules };
    return yield* this.#walk(from.path, from.access, {
      way: CHANGE_OF_NAME,
      work: (walk, found) =>
        named(
          to.access.place,
          this.#walk(to.path, to.access, {
            way: CHANGE_OF_NAME,
            work: (otherWalk, otherFound) =>
              moveEntry(
                { change: { ...both, ...from, walk }, found },
                { change: { ...both, ...to, walk: otherWalk }, found: otherFound },
                options,
              ),
          }),
        ),
    });
  }

  source(path: RelPath, options: SourceOptions, access: Access): Awaitable<TreeSource> {
    return runIo(named(access.place, this.#source(path, options, access)), access.scope);
  }

  *#source(path: RelPath, { followLast, there }: SourceOptions, access: Access): Io<TreeSource> {
    access.scope.checkpoint();
    const { place, links, rules } = access;
    const walk = this.#jail.walk(path, { place, scope: access.scope, links, rules, followLast });
    try {
      const found = yield* arrive(walk, path, access);
      if (found.state !== "found") throw notFound(access.place);
      const { object, real } = found;
      if (!object.stat.isDirectory() && !object.stat.isFile()) throw notAFile(access.place);
      return new HostSource({
        jail: this.#jail,
        walk,
        object,
        name: real.at(-1) ?? "",
        access,
        ...(there === undefined ? {} : { there }),
      });
    } catch (error) {
      walk.close();
      throw error;
    }
  }

  place(path: RelPath, source: TreeSource, options: CopyOptions, access: Access): Awaitable<Copied> {
    return this.#change({ path, access }, (change, found) => placeCopy(change, found, source, options), CHANGE_OF_NAME);
  }

  mount(path: RelPath, options: MountOptions, access: Access): Promise<MountedDirectory> {
    return mountDirectory({ jail: this.#jail, rules: this.#rules, path, access }, options);
  }

  close(): Promise<void> {
    return this.#jail.close();
  }

  /**
   * Walks to the path and authorises where it really leads, before anything is said about what is there: the answer for
   * a target behind a link must not tell a caller without rights there whether it exists.
   */
  #look<T>(path: RelPath, access: Access, work: Arrived<T>): Awaitable<T> {
    return runIo(named(access.place, this.#walk(path, access, { work, way: LOOK })), access.scope);
  }

  #change<T>(at: At, work: (change: Change, found: Reached) => Io<T>, way = CHANGE): Awaitable<T> {
    const { path, access } = at;
    const [jail, rules] = [this.#jail, this.#rules];
    const options = {
      way,
      work: (walk: Walk, found: Reached) => work({ jail, rules, walk, path, access }, found),
    };
    return runIo(named(access.place, this.#counted(this.#walk(path, access, options))), access.scope);
  }

  /** What the root holds has to be known before any of it changes. */
  *#counted<T>(work: Io<T>): Io<T> {
    const counting = this.#rules.usage?.counting;
    if (counting !== undefined) yield counting;
    return yield* work;
  }

  *#walk<T>(path: RelPath, access: Access, { work, way }: { work: Arrived<T>; way: Way }): Io<T> {
    access.scope.checkpoint();
    const { place, links, rules } = access;
    const walk = this.#jail.walk(path, { place, scope: access.scope, links, rules, ...way });
    try {
      const found = yield* arrive(walk, path, access);
      return yield* work(walk, found);
    } finally {
      walk.close();
    }
  }

  *#list(directory: Pinned, page: { offset: number; limit: number }, access: Access): Io<Listing> {
    const { sys, foldsCase } = this.#jail;
    const top = directory === this.#jail.top;
    const all = yield* readNames(sys, directory, { top, foldsCase, scope: access.scope });
    const { policy } = access;
    const allowed = policy === undefined ? all : all.filter(({ name }) => !policy.denies([], name));
    const names = allowed.slice(page.offset, page.offset + page.limit);
    return {
      total: allowed.length,
      ...(allowed.length === all.length ? {} : { denied: all.length - allowed.length }),
      entries: yield* readEntries(sys, directory, { names, top, scope: access.scope }),
    };
  }

  *#stat(walk: Walk, found: Reached): Io<FileStat | undefined> {
    if (found.state !== "found") return undefined;
    const { stat, path } = found.object;
    const { type } = stat;
    return {
      type,
      size: type === "file" ? stat.size : 0,
      modified: stat.modifiedMs,
      readOnly: !(yield* this.#jail.sys.mayWrite(path)),
      symlink: walk.lastIsLink,
      created: stat.createdMs,
      ...(type === "file" ? stamped(stat) : {}),
    };
  }

  *#read(file: Pinned, plan: (size: number) => ReadRange, access: Access): Io<ReadBytes> {
    const { handles, sys } = this.#jail;
    const range = plan(file.stat.size);
    const fd = yield* handles.reopen(file, READ);
    try {
      const parts: Buffer[] = [];
      let done = 0;
      // One byte more than expected shows the end in the same call; a file that grows is read on, up to the range.
      let expected = Math.max(0, Math.min(range.length, file.stat.size - range.offset));
      for (;;) {
        const buffer = this.#buffers.take(Math.min(range.length - done, expected + 1));
        const count = buffer.length === 0 ? 0 : yield* sys.read(fd, buffer, 0, range.offset + done);
        if (count > 0) parts.push(buffer.subarray(0, count));
        done += count;
        if (count < buffer.length || done >= range.length) break;
        expected = 65_536;
        yield* access.scope.breathe();
      }
      const bytes = parts.length === 1 ? (parts[0] as Buffer) : Buffer.concat(parts);
      const size = Math.max(file.stat.size, bytes.length === 0 ? 0 : range.offset + bytes.length);
      const { stamp } = stamped(file.stat);
      return new ReadResult(bytes, { size, stamp }, this.#buffers);
    } finally {
      closeNow(fd);
    }
  }
}
