import type { Access, Entry, WalkOptions } from "../core/backend.js";
import type { RelPath } from "../core/path.js";
import type { Sha256 } from "../core/version.js";
import { sortByName } from "../path/order.js";

export interface FileNode {
  readonly type: "file";
  readonly content: Buffer;
  readonly sha256: Sha256;
  readonly modified: number;
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

export function childrenOf(directory: DirectoryNode): { name: string; node: TreeNode }[] {
  return sortByName(Array.from(directory.children, ([name, node]) => ({ name, node })));
}

export function describe(name: string, node: TreeNode): Entry {
  return { name, type: node.type, size: sizeOf(node), modified: node.modified };
}

export interface NodeWalk extends WalkOptions {
  readonly access: Pick<Access, "scope" | "policy">;
  /** From the place of the call to the directory. */
  readonly below: readonly string[];
  /** The directory itself is. */
  readonly isDenied: boolean;
}

export function walkNodes(directory: DirectoryNode, walk: NodeWalk): "on" | "stop" {
  const { access, below, sizes } = walk;
  const depth = below.length + 1;
  for (const { name, node } of childrenOf(directory)) {
    access.scope.checkpoint();
    const isDenied = walk.isDenied || access.policy?.denies(below, name) === true;
    const visit = isDenied ? walk.visitDenied : walk.visit;
    const answer = visit?.({ name, type: node.type, size: sizes ? sizeOf(node) : undefined, depth }) ?? "skip";
    if (answer === "stop") return "stop";
    if (answer !== "enter" || node.type !== "directory") continue;
    if (walkNodes(node, { ...walk, below: [...below, name], isDenied }) === "stop") return "stop";
  }
  return "on";
}

/** Whether the policy denies anything below a node, which is at the place of the call. */
export function holdsDenied(node: TreeNode, access: NodeWalk["access"]): boolean {
  if (node.type === "file" || access.policy === undefined) return false;
  const walk: WalkOptions = { visit: () => "enter", visitDenied: () => "stop", sizes: false };
  return walkNodes(node, { ...walk, access, below: [], isDenied: false }) === "stop";
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
