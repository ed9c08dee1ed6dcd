import { expectationError, requireExpected } from "../../../src/backend/preconditions.js";
import { DEFAULT_LIMITS } from "../../../src/core/call/limits.js";
import type { RelPath } from "../../../src/core/call/path.js";
import type { Clock } from "../../../src/core/clock.js";
import {
  contentTooLarge,
  existsNotDirectory,
  isADirectory,
  notADirectory,
  notEmpty,
  notFound,
  notSupportedHere,
  type Place,
  parentMissing,
  rootDelete,
} from "../../../src/core/errors/texts.js";
import { type Awaitable, after, type Io, isPending, runIo, wait } from "../../../src/core/io.js";
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
  GroupChange,
  GroupEffect,
  ListedPart,
  Listing,
  Moved,
  MoveOptions,
  PlannedChange,
  ReadBytes,
  ReadRange,
  SourceOptions,
  TouchOptions,
  WalkOptions,
  WriteOptions,
  Written,
} from "../../../src/core/ports/backend.js";
import type { EntryChange } from "../../../src/core/ports/changes/change.js";
import type { OpenFile } from "../../../src/core/ports/open-file.js";
import type { TreeSource } from "../../../src/core/ports/tree-source.js";
import { startAfter } from "../../../src/path/order.js";
import { checkAppend } from "./append.js";
import { authoriseParents } from "./authorise-parents.js";
import { collect } from "./collect.js";
import { type MemoryTree, moveNode, placeCopy, sourceOf } from "./place.js";
import { sha256Of } from "./sha256.js";
import {
  childrenOf,
  type DirectoryNode,
  describe,
  emptyDirectory,
  type FileNode,
  leadsToTarget,
  madeFor,
  refusalBelow,
  type Spot,
  sizeOf,
  stateOf,
  type TreeNode,
  targetOf,
  walkNodes,
} from "./tree.js";

/** Files never change in place, so only directories are copied. */
const copyOf = (directory: DirectoryNode): DirectoryNode => ({
  ...directory,
  children: new Map([...directory.children].map(([name, node]) => [name, node.type === "file" ? node : copyOf(node)])),
});

export interface MemoryBackendOptions {
  /** Name of the root, for errors. */
  readonly rootName: string;
  /** Stamps what is written. */
  readonly clock: Clock;
  /** Most bytes one write or append may bring. @default DEFAULT_LIMITS.maxContentSize */
  readonly maxWriteBytes?: number;
}

/**
 * Makes an empty root that lives in this process: the reference every other {@link Backend} is compared with.
 *
 * It holds files and directories, no links, so the real path of a request is always the requested one. Nothing outlives
 * the process, and nothing bounds the whole but its memory.
 *
 * @param options name of the root, clock, and the limit of one write in bytes
 * @returns a backend that only waits for the content it is given
 * @example
 * const backend = createMemoryBackend({ rootName: "scratch", clock: systemClock });
 */
export function createMemoryBackend(options: MemoryBackendOptions): Backend {
  return new MemoryBackend(options);
}

/** The result of a change in which nothing waits. */
function atOnce<T>(result: Awaitable<T>): T {
  if (isPending(result)) throw new TypeError("The content has been loaded");
  return result;
}

class MemoryBackend implements Backend {
  readonly #rootName: string;
  readonly #clock: Clock;
  readonly #maxWriteBytes: number;
  readonly #top: DirectoryNode;

  constructor(options: MemoryBackendOptions) {
    this.#rootName = options.rootName;
    this.#clock = options.clock;
    this.#maxWriteBytes = options.maxWriteBytes ?? DEFAULT_LIMITS.maxContentSize;
    this.#top = emptyDirectory(options.clock.nowMs());
  }

  list(path: RelPath, page: ListedPart, access: Access): Listing {
    const { startsWith = "" } = page;
    const all = childrenOf(this.#directory(path, access)).filter(({ name }) => name.startsWith(startsWith));
    const allowed = all.filter(({ name }) => access.policy?.denies([], name) !== true);
    const start = startAfter(allowed, page.after) + page.offset;
    const shown = allowed.slice(start, start + page.limit);
    return {
      entries: shown.map(({ name, node }) => describe(name, node)),
      total: allowed.length,
      start,
      ...(allowed.length === all.length ? {} : { denied: all.length - allowed.length }),
    };
  }

  walk(path: RelPath, options: WalkOptions, access: Access): Awaitable<void> {
    return runIo(walkNodes(this.#directory(path, access), { ...options, access }), access.scope);
  }

  stat(path: RelPath, access: Access): FileStat | undefined {
    const node = targetOf(this.#resolve(path, access), path);
    if (node === undefined) return undefined;
    return {
      ...{ type: node.type, size: sizeOf(node), modified: node.modified, readOnly: false, symlink: false },
      ...(node.type === "file" ? { stamp: node.sha256 } : {}),
    };
  }

  read(path: RelPath, plan: (size: number) => ReadRange, access: Access): ReadBytes {
    const node = targetOf(this.#resolve(path, access), path);
    if (node === undefined) throw notFound(access.place);
    if (node.type === "directory") throw isADirectory(access.place);
    const { offset, length } = plan(node.content.length);
    // A copy: whoever reads may do as they like with the bytes.
    const bytes = Buffer.from(node.content.subarray(offset, offset + length));
    return { bytes, size: node.content.length, stamp: node.sha256 };
  }

  open(path: RelPath, access: Access): OpenFile {
    const node = targetOf(this.#resolve(path, access), path);
    if (node === undefined) throw notFound(access.place);
    if (node.type === "directory") throw isADirectory(access.place);
    const { content, modified, sha256: stamp } = node;
    return {
      ...{ size: content.length, modified, stamp },
      read(offset, length) {
        access.scope.checkpoint();
        return Buffer.from(content.subarray(offset, offset + length));
      },
      close() {},
    };
  }

  write(path: RelPath, body: Body, options: WriteOptions, access: Access): Awaitable<Written> {
    return runIo(this.#store(path, body, { ...options, keep: false }, access), access.scope);
  }

  append(path: RelPath, body: Body, options: AppendOptions, access: Access): Awaitable<Written> {
    return runIo(this.#store(path, body, { ...options, keep: true }, access), access.scope);
  }

  mkdir(path: RelPath, options: WriteOptions, access: Access): Awaitable<{ created: boolean }> {
    const spot = this.#resolve(path, access);
    this.#requireParent(spot, path, options.parents);
    if (spot.node?.type === "file") throw existsNotDirectory(access.place);
    const { expected } = options;
    if (spot.node !== undefined && expected !== undefined) throw expectationError(expected, undefined, access);
    if (spot.node !== undefined) return { created: false };
    if (expected !== undefined) requireExpected(expected, undefined, access);
    authoriseParents(path, { from: spot.index, to: path.segments.length - 1 }, access);
    const node = emptyDirectory(this.#clock.nowMs());
    const made = madeFor(path, { from: spot.index, to: path.segments.length - 1 });
    const change: EntryChange = {
      ...{ action: "created", kind: "directory", path: path.segments },
      ...{ ...made, before: null, after: stateOf(node) },
    };
    return after(access.approve?.([{ change, at: { path, access } }]), () => {
      access.scope.commit();
      this.#put(spot, path, node);
      access.changed?.(change);
      return { created: true };
    });
  }

  remove(
    path: RelPath,
    options: ChangeOptions & { recursive: boolean },
    access: Access,
  ): Awaitable<{ existed: boolean }> {
    if (path.segments.length === 0) throw rootDelete(this.#rootName);
    const spot = this.#resolve(path, access);
    const node = targetOf(spot, path);
    const { expected } = options;
    if (expected !== undefined) {
      if (node?.type === "directory") throw isADirectory(access.place);
      requireExpected(expected, node?.sha256, access);
    }
    if (node === undefined) return { existed: false };
    if (node.type === "directory" && access.rules?.removesFilesOnly === true) throw isADirectory(access.place);
    if (node.type === "directory" && node.children.size > 0 && !options.recursive) throw notEmpty(access.place);
    const refusal = refusalBelow(node, access);
    if (refusal !== undefined) throw refusal;
    const before = stateOf(node);
    const change: EntryChange = { action: "deleted", kind: node.type, path: path.segments, before, after: null };
    return after(access.approve?.([{ change, at: { path, access } }]), () => {
      access.scope.commit();
      spot.directory.children.delete(spot.name);
      spot.directory.modified = this.#clock.nowMs();
      access.changed?.(change);
      return { existed: true };
    });
  }

  touch(path: RelPath, { modified }: TouchOptions, access: Access): void {
    const node = targetOf(this.#resolve(path, access), path);
    if (node === undefined) throw notFound(access.place);
    if (modified !== undefined) node.modified = modified;
  }

  move(from: At, to: At, options: MoveOptions): Awaitable<Moved> {
    return moveNode(this.#tree, from, to, options);
  }

  source(path: RelPath, options: SourceOptions, access: Access): TreeSource {
    return sourceOf(this.#tree, { path, access }, options);
  }

  place(path: RelPath, source: TreeSource, options: CopyOptions, access: Access): Awaitable<Copied> {
    return runIo(placeCopy(this.#tree, { path, access }, source, options), access.scope);
  }

  async changeAll(changes: readonly GroupChange[]): Promise<readonly GroupEffect[]> {
    const loaded: GroupChange[] = [];
    for (const change of changes) {
      if (change.kind !== "write") loaded.push(change);
      else {
        const bytes = await runIo(this.#load(change.body, change.at.access));
        loaded.push({ ...change, body: { load: () => bytes } });
      }
    }
    // Nothing waits from here on, so nobody sees a part of it.
    const before = copyOf(this.#top);
    const plans: PlannedChange[] = [];
    const restore = (): void => {
      plans.length = 0;
      this.#top.children.clear();
      for (const [name, node] of copyOf(before).children) this.#top.children.set(name, node);
    };
    const make = (): GroupEffect[] =>
      loaded.map((change) => {
        const quiet = ({ path, access }: At): At => {
          const from = change.kind === "move" ? change.from : undefined;
          const at = change.kind === "move" ? change.to : change.at;
          const changed: NonNullable<Access["changed"]> = (made) => plans.push({ change: made, at, from });
          return { path, access: { ...access, approve: undefined, changed } };
        };
        return this.#changeOne(change, quiet);
      });
    try {
      let effects = make();
      const [first] = loaded;
      const { access } = first?.kind === "move" ? first.from : (first?.at ?? {});
      if (access?.approve !== undefined && plans.length > 0) {
        const asked = [...plans];
        restore();
        await access.approve(asked);
        effects = make();
      }
      access?.beginGroup?.();
      for (const { at, change } of plans) at.access.changed?.(change);
      return effects;
    } catch (error) {
      restore();
      throw error;
    }
  }

  #changeOne(change: GroupChange, quiet: (at: At) => At): GroupEffect {
    if (change.kind === "restore") throw notSupportedHere("kept entries");
    if (change.kind === "move") {
      return { existed: atOnce(this.move(quiet(change.from), quiet(change.to), change.options)).overwritten };
    }
    const { path, access } = quiet(change.at);
    if (change.kind === "mkdir") return { existed: !atOnce(this.mkdir(path, change.options, access)).created };
    if (change.kind === "remove") {
      if (!atOnce(this.remove(path, change.options, access)).existed) throw notFound(access.place);
      return { existed: true };
    }
    const written = atOnce(this.write(path, change.body, change.options, access));
    return { existed: !written.created, ...(written.sha256 === undefined ? {} : { sha256: written.sha256 }) };
  }

  close(): void {}

  get #tree(): MemoryTree {
    return { top: this.#top, rootName: this.#rootName, clock: this.#clock };
  }

  /** The one way from a request into the tree: nothing is told about a path before its real place is authorised. */
  #resolve(path: RelPath, access: Access): Spot {
    access.scope.checkpoint();
    const spot = this.#lookUp(path);
    access.real(path.segments);
    return spot;
  }

  #lookUp(path: RelPath): Spot {
    // The root has no name and no parent; index -1 is the last index of its empty path.
    let spot: Spot = { directory: this.#top, name: "", index: -1, node: this.#top };
    for (const [index, name] of path.segments.entries()) {
      const directory = spot.node;
      if (directory?.type !== "directory") break;
      spot = { directory, name, index, node: directory.children.get(name) };
    }
    return spot;
  }

  #directory(path: RelPath, access: Access): DirectoryNode {
    const node = targetOf(this.#resolve(path, access), path);
    if (node === undefined) throw notFound(access.place);
    if (node.type === "file") throw notADirectory(access.place);
    return node;
  }

  /** After this, `spot.node` is the target itself or nothing. */
  #requireParent(spot: Spot, path: RelPath, parents: boolean): void {
    if (leadsToTarget(spot, path)) return;
    if (spot.node !== undefined) throw notADirectory(this.#place(path.segments.slice(0, spot.index + 1)));
    if (!parents) throw parentMissing(this.#place(path.segments.slice(0, -1)));
  }

  *#store(path: RelPath, body: Body, options: AppendOptions & { keep: boolean }, access: Access): Io<Written> {
    const first = this.#resolve(path, access);
    const found = this.#requireFilePlace(first, path, options.parents, access);
    // What the mere presence of a file decides is refused before its content is asked for.
    if (found === undefined || options.expected === "nothing") checkAppend(found, options, access);
    authoriseParents(path, { from: first.index, to: path.segments.length - 1 }, access);

    const loaded = yield* this.#load(body, access);

    // Others may have changed the tree while the content was on its way.
    const spot = this.#lookUp(path);
    const old = this.#requireFilePlace(spot, path, options.parents, access);
    authoriseParents(path, { from: spot.index, to: first.index }, access);
    const size = options.keep ? (old?.content.length ?? 0) : 0;
    const bytes = (size < 2 ? undefined : body.addedTo?.(old?.content.subarray(0, 2) ?? loaded, size)) ?? loaded;
    const repeated = checkAppend(old, { ...options, data: bytes }, access);
    if (repeated !== undefined) return repeated;
    const content = options.keep && old !== undefined ? Buffer.concat([old.content, bytes]) : bytes;
    const sha256 = sha256Of(content);
    const node: FileNode = { type: "file", content, sha256, modified: this.#clock.nowMs() };
    const isAppended = options.keep && old !== undefined;
    const change: EntryChange = {
      ...{ action: old === undefined ? "created" : "modified", kind: "file", path: path.segments },
      ...madeFor(path, { from: spot.index, to: path.segments.length - 1 }),
      ...{ before: old === undefined ? null : stateOf(old), after: stateOf(node) },
      ...(isAppended ? { addition: { offset: old.content.length, sha256: sha256Of(bytes) } } : {}),
    };
    yield* wait(access.approve?.([{ change, at: { path, access }, content: () => bytes }]));
    access.scope.commit();
    this.#put(spot, path, node);
    access.changed?.(change);
    return { bytes: bytes.length, created: old === undefined, sha256, size: content.length };
  }

  #requireFilePlace(spot: Spot, path: RelPath, parents: boolean, access: Access): FileNode | undefined {
    this.#requireParent(spot, path, parents);
    if (spot.node?.type === "directory") throw isADirectory(access.place);
    return spot.node;
  }

  *#load(body: Body, access: Access): Io<Buffer> {
    const refuseMoreThanLimit = (size: number): void => {
      if (size > this.#maxWriteBytes) throw contentTooLarge(access.place, size, this.#maxWriteBytes);
    };
    const loaded = yield* wait(body.load());
    if (!Buffer.isBuffer(loaded)) return yield* wait(collect(loaded, refuseMoreThanLimit, access));
    refuseMoreThanLimit(loaded.length);
    // A copy: the buffer is still the caller's.
    return Buffer.from(loaded);
  }

  /** Puts `node` at the end of the path, inside the directories still missing on the way. All at once. */
  #put(spot: Spot, path: RelPath, node: TreeNode): void {
    const { modified } = node;
    const branch = path.segments
      .slice(spot.index + 1)
      .reduceRight<TreeNode>(
        (child, name) => ({ type: "directory", children: new Map([[name, child]]), modified }),
        node,
      );
    spot.directory.children.set(spot.name, branch);
    spot.directory.modified = modified;
  }

  #place(segments: readonly string[]): Place {
    return { root: this.#rootName, path: segments.join("/") };
  }
}
