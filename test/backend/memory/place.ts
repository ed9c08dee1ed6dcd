import { isDeepStrictEqual } from "node:util";
import { omissionOf, refusalOf } from "../../../src/backend/path-policy.js";
import { expectationError, requireExpected } from "../../../src/backend/preconditions.js";
import type { RelPath } from "../../../src/core/call/path.js";
import type { Clock } from "../../../src/core/clock.js";
import type { FileAdapterError } from "../../../src/core/errors/errors.js";
import {
  alreadyExists,
  invalidInput,
  isADirectory,
  notADirectory,
  notFound,
  parentMissing,
} from "../../../src/core/errors/texts.js";
import { type Awaitable, after, type Io, wait } from "../../../src/core/io.js";
import type {
  Access,
  At,
  Copied,
  CopyOptions,
  Moved,
  MoveOptions,
  PlaceOptions,
  PlannedChange,
  SourceOptions,
} from "../../../src/core/ports/backend.js";
import type { EntryChange, EntryState } from "../../../src/core/ports/changes/change.js";
import type { SourceEntry, TreeSource } from "../../../src/core/ports/tree-source.js";
import { authoriseParents } from "./authorise-parents.js";
import { sha256Of } from "./sha256.js";
import {
  childrenOf,
  type DirectoryNode,
  emptyDirectory,
  type FileNode,
  madeFor,
  refusalBelow,
  stateOf,
  type TreeNode,
} from "./tree.js";

/** A tree and what changes in it need. */
export interface MemoryTree {
  readonly top: DirectoryNode;
  readonly rootName: string;
  readonly clock: Clock;
}

/** Where something is to be put. */
interface Goal {
  /** Directories on the way that are there. */
  readonly depth: number;
  readonly old: TreeNode | undefined;
}

/** Opens a tree as it is now. */
export function sourceOf({ top }: MemoryTree, { path, access }: At, { there }: SourceOptions): TreeSource {
  access.scope.checkpoint();
  access.real(path.segments);
  const node = nodeAt(top, path.segments);
  if (node === undefined) throw notFound(access.place);
  const seen = filesIn(node);
  const left = { symlinks: 0, policy: 0, unreadable: 0 };
  let refusal: FileAdapterError | undefined;
  const below = entriesBelow(node, [], (directory, name) => {
    const omission = omissionOf(access, there, { below: directory, name });
    refusal ??= omission;
    if (omission !== undefined) left.policy++;
    return omission === undefined;
  });
  return {
    ...{ top: entryOf(node, [], access), left },
    get refusal() {
      return refusal;
    },
    next() {
      access.scope.checkpoint();
      const step = below.next();
      return step.done === true ? undefined : entryOf(step.value.node, step.value.below, access);
    },
    isUnchanged: () => isDeepStrictEqual(filesIn(nodeAt(top, path.segments)), seen),
    close() {},
  };
}

/** All that is in a tree, by what it holds. */
function filesIn(node: TreeNode | undefined): string[] {
  if (node === undefined) return [];
  const below = [...entriesBelow(node, [], () => true)];
  const all = [{ node, below: [] }, ...below];
  return all.map(({ node: one, below: names }) =>
    JSON.stringify([names, one.type === "file" ? [one.sha256, one.modified] : null]),
  );
}

type Placed = { readonly node: TreeNode; readonly below: readonly string[] };

function* entriesBelow(
  node: TreeNode,
  below: readonly string[],
  isWanted: (directory: readonly string[], name: string) => boolean,
): Generator<Placed> {
  if (node.type === "file") return;
  for (const { name, node: child } of childrenOf(node)) {
    if (!isWanted(below, name)) continue;
    yield { node: child, below: [...below, name] };
    yield* entriesBelow(child, [...below, name], isWanted);
  }
}

function entryOf(node: TreeNode, below: readonly string[], access: Access): SourceEntry {
  return {
    ...{ type: node.type, below },
    open() {
      if (node.type === "directory") throw isADirectory(access.place);
      const { content, modified } = node;
      const read = (offset: number, length: number) => Buffer.from(content.subarray(offset, offset + length));
      return { size: content.length, modified, read, close() {} };
    },
  };
}

/** Reads the whole source, then puts it in place at once. */
export function* placeCopy(tree: MemoryTree, at: At, source: TreeSource, options: CopyOptions): Io<Copied> {
  const { path, access } = at;
  access.scope.checkpoint();
  access.real(path.segments);
  const isFile = source.top.type === "file";
  const first = goalAt(tree, at, options);
  requireFree(first.old, { ...options, isFile }, access);
  authoriseParents(path, { from: first.depth, to: path.segments.length - 1 }, access);
  const modified = tree.clock.nowMs();
  const top = isFile ? yield* loadFile(source.top, modified) : emptyDirectory(modified);
  const counts = { files: isFile ? 1 : 0, bytes: top.type === "file" ? top.content.length : 0 };
  if (top.type === "directory") yield* loadBelow(top, source, { access, counts, modified });
  options.approve?.(top.type === "file" ? top.sha256 : undefined);
  // Others may have changed the tree meanwhile.
  const goal = goalAt(tree, at, options);
  requireFree(goal.old, { ...options, isFile }, access);
  authoriseParents(path, { from: goal.depth, to: first.depth }, access);
  const { replaced, before } = replacedBy(at, { old: goal.old, coming: top });
  const change: EntryChange = {
    ...{ action: before === null ? "created" : "modified", kind: top.type, path: path.segments },
    ...madeFor(path, { from: goal.depth, to: path.segments.length - 1 }),
    ...(isFile ? {} : { files: counts.files }),
    ...{ before, after: stateOf(top) },
  };
  const planned = [...replaced, { change, at }];
  yield* wait(access.approve?.(planned));
  access.scope.commit();
  put(tree, path, top);
  tell(planned);
  return { ...counts, overwritten: goal.old !== undefined, ...(top.type === "file" ? { sha256: top.sha256 } : {}) };
}

function* loadBelow(
  top: DirectoryNode,
  source: TreeSource,
  { access, counts, modified }: { access: Access; counts: { files: number; bytes: number }; modified: number },
): Io<void> {
  for (let entry = yield* wait(source.next()); entry !== undefined; entry = yield* wait(source.next())) {
    access.scope.checkpoint();
    const name = entry.below.at(-1) ?? "";
    const directory = nodeAt(top, entry.below.slice(0, -1));
    const refusal = refusalOf(access, entry.below.slice(0, -1), name);
    if (refusal !== undefined) throw refusal;
    if (directory?.type !== "directory") throw notFound(access.place);
    const node = entry.type === "file" ? yield* loadFile(entry, modified) : emptyDirectory(modified);
    directory.children.set(name, node);
    if (node.type === "file") counts.files++;
    if (node.type === "file") counts.bytes += node.content.length;
  }
}

function* loadFile(entry: SourceEntry, modified: number): Io<FileNode> {
  const file = yield* wait(entry.open());
  try {
    const content = yield* wait(file.read(0, file.size));
    return { type: "file", content, sha256: sha256Of(content), modified };
  } finally {
    file.close();
  }
}

export function moveNode(tree: MemoryTree, from: At, to: At, options: MoveOptions): Awaitable<Moved> {
  const { access } = from;
  access.scope.checkpoint();
  access.real(from.path.segments);
  to.access.real(to.path.segments);
  const node = nodeAt(tree.top, from.path.segments);
  if (node === undefined) throw notFound(access.place);
  const { expectedFrom } = options;
  if (expectedFrom !== undefined) {
    if (node.type === "directory") throw isADirectory(access.place);
    requireExpected(expectedFrom, node.sha256, access);
  }
  const seen = node.type === "file" ? { sha256: node.sha256 } : {};
  if (from.path.text === to.path.text) return { overwritten: false, ...seen };
  if (to.path.text.startsWith(`${from.path.text}/`) || from.path.text === "") {
    throw invalidInput("'to' lies inside 'path'", "/to", "a path outside of 'path'");
  }
  for (const end of [from, to]) {
    const refusal = refusalBelow(node, end.access);
    if (refusal !== undefined) throw refusal;
  }
  const goal = goalAt(tree, to, options);
  requireFree(goal.old, { ...options, isFile: node.type === "file" }, to.access);
  authoriseParents(to.path, { from: goal.depth, to: to.path.segments.length - 1 }, to.access);
  const { replaced, before } = replacedBy(to, { old: goal.old, coming: node });
  const change: EntryChange = {
    ...{ action: "moved", kind: node.type, path: to.path.segments, from: from.path.segments },
    ...madeFor(to.path, { from: goal.depth, to: to.path.segments.length - 1 }),
    ...{ before, after: stateOf(node) },
  };
  const planned = [...replaced, { change, at: to, from }];
  const approve = access.approve ?? to.access.approve;
  return after(approve?.(planned), () => {
    access.scope.commit();
    const parent = nodeAt(tree.top, from.path.segments.slice(0, -1));
    if (parent?.type === "directory") {
      parent.children.delete(from.path.segments.at(-1) ?? "");
      parent.modified = tree.clock.nowMs();
    }
    put(tree, to.path, node);
    tell(planned);
    return { overwritten: goal.old !== undefined, ...seen };
  });
}

/** A tree that is replaced, or gives way to a file, is deleted first. @returns what the new entry follows upon */
function replacedBy(
  at: At,
  { old, coming }: { old: TreeNode | undefined; coming: TreeNode },
): { readonly replaced: readonly PlannedChange[]; readonly before: EntryState | null } {
  if (old === undefined) return { replaced: [], before: null };
  const before = stateOf(old);
  if (old.type === "file" && coming.type === "file") return { replaced: [], before };
  const change: EntryChange = { action: "deleted", kind: old.type, path: at.path.segments, before, after: null };
  return { replaced: [{ change, at }], before: null };
}

function tell(planned: readonly PlannedChange[]): void {
  if (planned.length > 1) planned[0]?.at.access.beginGroup?.();
  for (const { at, change } of planned) at.access.changed?.(change);
}

function nodeAt(top: DirectoryNode, segments: readonly string[]): TreeNode | undefined {
  let node: TreeNode | undefined = top;
  for (const name of segments) node = node?.type === "directory" ? node.children.get(name) : undefined;
  return node;
}

/** @throws NOT_A_DIRECTORY, PARENT_MISSING */
function goalAt({ top, rootName }: MemoryTree, { path }: At, { parents }: PlaceOptions): Goal {
  const above = path.segments.slice(0, -1);
  const place = (segments: readonly string[]) => ({ root: rootName, path: segments.join("/") });
  for (let depth = 1; depth <= above.length; depth++) {
    const node = nodeAt(top, above.slice(0, depth));
    if (node?.type === "file") throw notADirectory(place(above.slice(0, depth)));
    if (node !== undefined) continue;
    if (!parents) throw parentMissing(place(above));
    return { depth: depth - 1, old: undefined };
  }
  return { depth: above.length, old: nodeAt(top, path.segments) };
}

/** @throws CONFLICT, ALREADY_EXISTS */
function requireFree(
  old: TreeNode | undefined,
  { expected, overwrite, replaces = false, isFile }: PlaceOptions & { isFile: boolean },
  access: Access,
): void {
  if (old !== undefined && overwrite && replaces && expected !== "nothing") {
    access.require("crud/delete");
    if (old.type === "directory") {
      if (expected !== undefined) throw alreadyExists(access.place);
      const refusal = refusalBelow(old, access);
      if (refusal !== undefined) throw refusal;
    } else if (expected !== undefined) requireExpected(expected, old.sha256, access);
    return;
  }
  if (old?.type === "directory") {
    if (expected === "nothing") throw expectationError(expected, undefined, access);
    throw alreadyExists(access.place);
  }
  const isReplaced = overwrite && isFile;
  if (old !== undefined && !isReplaced && expected !== "nothing") throw alreadyExists(access.place);
  if (expected !== undefined) requireExpected(expected, old?.sha256, access);
}

/** Puts a node at a path, inside the directories still missing on the way. */
function put({ top, clock }: MemoryTree, { segments }: RelPath, node: TreeNode): void {
  const modified = clock.nowMs();
  let directory = top;
  for (const name of segments.slice(0, -1)) {
    const next = directory.children.get(name);
    const child = next?.type === "directory" ? next : emptyDirectory(modified);
    if (next !== child) {
      directory.children.set(name, child);
      directory.modified = modified;
    }
    directory = child;
  }
  directory.children.set(segments.at(-1) ?? "", node);
  directory.modified = modified;
}
