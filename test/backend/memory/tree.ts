import { refusalOf } from "../../../src/backend/path-policy.js";
import type { RelPath } from "../../../src/core/call/path.js";
import type { FileAdapterError } from "../../../src/core/errors/errors.js";
import type { Sha256 } from "../../../src/core/etag.js";
import { type Io, wait } from "../../../src/core/io.js";
import type { Access, Entry, WalkContent, WalkEntry, WalkOptions } from "../../../src/core/ports/backend.js";
import type { EntryChange, EntryState } from "../../../src/core/ports/changes/change.js";
import { sortByName } from "../../../src/path/order.js";

export interface FileNode {
  readonly type: "file";
  readonly content: Buffer;
  readonly sha256: Sha256;
  modified: number;
}

export interface DirectoryNode {
  readonly type: "directory";
  readonly children: Map<string, TreeNode>;
  modified: number;
}

export type TreeNode = FileNode | DirectoryNode;

export const emptyDirectory = (modified: number): DirectoryNode => ({
  type: "directory",
  children: new Map(),
  modified,
});

export const sizeOf = (node: TreeNode): number => (node.type === "file" ? node.content.length : 0);

export const stateOf = (node: TreeNode): EntryState => ({
  ...{ size: sizeOf(node), modified: node.modified },
  ...(node.type === "file" ? { sha256: node.sha256 } : {}),
});

/** Directories made for the path's segments from index `from` to `to` (exclusive). */
export function madeFor({ segments }: RelPath, { from, to }: { from: number; to: number }): Pick<EntryChange, "made"> {
  const made = segments.slice(from, to).map((_, index) => segments.slice(0, from + index + 1));
  return made.length === 0 ? {} : { made };
}

export function childrenOf(directory: DirectoryNode): { name: string; node: TreeNode }[] {
  return sortByName(Array.from(directory.children, ([name, node]) => ({ name, node })));
}

export function describe(name: string, node: TreeNode): Entry {
  return { name, type: node.type, size: sizeOf(node), modified: node.modified };
}

export interface NodeWalk extends WalkOptions {
  readonly access: Pick<Access, "scope" | "policy">;
}

/** A directory that a walk is in. */
interface WalkSpot {
  /** From the place of the call to the directory. */
  readonly below: readonly string[];
  /** The directory itself is. */
  readonly isDenied: boolean;
}

/** Visits what is below a directory, as {@link WalkOptions} say. */
export function* walkNodes(directory: DirectoryNode, walk: NodeWalk): Io<void> {
  yield* visitBelow(directory, { below: [], isDenied: false }, walk);
}

function* visitBelow(directory: DirectoryNode, spot: WalkSpot, walk: NodeWalk): Io<"on" | "stop"> {
  const { access, sizes, content } = walk;
  tellRules(directory, spot, walk);
  for (const { name, node } of childrenOf(directory)) {
    access.scope.checkpoint();
    yield* access.scope.breathe();
    const isDenied = spot.isDenied || access.policy?.denies(spot.below, name) === true;
    const visit = isDenied ? walk.visitDenied : walk.visit;
    const entry = walkEntry(name, node, { depth: spot.below.length + 1, sizes });
    const answer = yield* wait(visit?.(entry) ?? "skip");
    if (answer === "stop") return "stop";
    if (node.type === "directory") {
      const inside = { below: [...spot.below, name], isDenied };
      if (answer === "enter" && (yield* visitBelow(node, inside, walk)) === "stop") return "stop";
    } else if (answer === "read" && content !== undefined) {
      if ((yield* wait(content.take(entry, contentOf(node, content.maxBytes)))) === "stop") return "stop";
    }
  }
  return "on";
}

function tellRules(directory: DirectoryNode, { below, isDenied }: WalkSpot, { rules, access }: NodeWalk): void {
  if (rules === undefined || isDenied) return;
  const contents = rules.names.map((name) => {
    const node = directory.children.get(name);
    const isRead = node?.type === "file" && access.policy?.denies(below, name) !== true;
    return isRead ? contentOf(node, rules.maxBytes) : undefined;
  });
  rules.found(below.length, contents);
}

function contentOf(node: FileNode, maxBytes: number): WalkContent {
  // A copy: whoever takes it may do as they like with the bytes.
  return node.content.length > maxBytes ? "too large" : Buffer.from(node.content);
}

function walkEntry(name: string, node: TreeNode, { depth, sizes }: { depth: number; sizes: boolean }): WalkEntry {
  const size = sizes ? sizeOf(node) : undefined;
  const more = sizes && node.type === "file" ? { modified: node.modified } : {};
  return { name, type: node.type, size, depth, ...more };
}

/** Why a node at the place of the call must stay: something below it is denied or protected. */
export function refusalBelow(
  node: TreeNode,
  access: Access,
  below: readonly string[] = [],
): FileAdapterError | undefined {
  if (node.type === "file") return undefined;
  for (const [name, child] of node.children) {
    const refusal = refusalOf(access, below, name) ?? refusalBelow(child, access, [...below, name]);
    if (refusal !== undefined) return refusal;
  }
  return undefined;
}

/** How far a path leads into the tree. */
export interface Spot {
  /** The directory in which the way ended. */
  readonly directory: DirectoryNode;
  /** The segment looked up there, and its index in the path: the last index when the target's parent exists. */
  readonly name: string;
  readonly index: number;
  /** What stands under that name: the target, or what keeps the path from leading further. */
  readonly node: TreeNode | undefined;
}

export const leadsToTarget = (spot: Spot, path: RelPath): boolean => spot.index === path.segments.length - 1;

export const targetOf = (spot: Spot, path: RelPath): TreeNode | undefined =>
  leadsToTarget(spot, path) ? spot.node : undefined;
