import type { Entry, WalkEntry } from "../core/backend.js";
import { sortByName } from "../path/order.js";

export interface FileNode {
  readonly type: "file";
  readonly content: Buffer;
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

export function walkEntry(name: string, node: TreeNode, options: { depth: number; sizes: boolean }): WalkEntry {
  return { name, type: node.type, size: options.sizes ? sizeOf(node) : undefined, depth: options.depth };
}
