// Looks up paths in the tree of a drive.

import type { RelPath } from "../../core/call/path.js";
import { FileAdapterError } from "../../core/errors/errors.js";
import { isADirectory, notADirectory, notFound, parentMissing } from "../../core/errors/texts.js";
import type { Access, At, Entry } from "../../core/ports/backend.js";
import type { Stamp } from "../../core/ports/open-file.js";
import type { DriveReader, DriveSnapshot, DriveStat } from "../../drive/engine/engine.js";
import { isReachableName } from "../../path/grammar.js";

/** Stands for the root directory of a drive that does not exist yet. */
const NO_DRIVE: DriveStat = { type: "directory", size: 0, modified: 0 };

/** The entry at a path; nothing exists below a file. */
export async function statAt(tree: DriveSnapshot, segments: readonly string[]): Promise<DriveStat | undefined> {
  const found = await tree.stat(segments).catch(ignoreMissing);
  return found === undefined && segments.length === 0 ? NO_DRIVE : found;
}

function ignoreMissing(error: unknown): undefined {
  if (error instanceof FileAdapterError && (error.code === "NOT_A_DIRECTORY" || error.code === "NOT_FOUND")) return;
  throw error;
}

/** @returns number of segments that exist, and the entry at the last of them */
async function locate(tree: DriveSnapshot, { segments }: RelPath): Promise<{ depth: number; node: DriveStat }> {
  for (let depth = segments.length; depth > 0; depth--) {
    const node = await statAt(tree, segments.slice(0, depth));
    if (node !== undefined) return { depth, node };
  }
  return { depth: 0, node: NO_DRIVE };
}

/** @throws NOT_FOUND, IS_A_DIRECTORY */
export async function requireFile(tree: DriveSnapshot, { segments }: RelPath, { place }: Access): Promise<DriveStat> {
  const found = await statAt(tree, segments);
  if (found === undefined) throw notFound(place);
  if (found.type === "directory") throw isADirectory(place);
  return found;
}

export async function directoryAt(tree: DriveSnapshot, path: RelPath, access: Access): Promise<void> {
  const found = await statAt(tree, path.segments);
  if (found === undefined) throw notFound(access.place);
  if (found.type === "file") throw notADirectory(access.place);
}

interface PlaceInTree {
  /** Number of segments of its path that exist. */
  readonly depth: number;
  readonly old: DriveStat | undefined;
}

/** @throws NOT_A_DIRECTORY, PARENT_MISSING unless the parent exists, or may be created */
export async function placeAt(tree: DriveSnapshot, { path, access }: At, parents: boolean): Promise<PlaceInTree> {
  const { depth, node } = await locate(tree, path);
  const missing = path.segments.length - depth;
  const place = (segments: readonly string[]) => ({ root: access.place.root, path: segments.join("/") });
  if (missing > 0 && node.type === "file") throw notADirectory(place(path.segments.slice(0, depth)));
  if (missing > 1 && !parents) throw parentMissing(place(path.segments.slice(0, -1)));
  return { depth, old: missing === 0 ? node : undefined };
}

/** The place of a file that exists or may be created. @throws IS_A_DIRECTORY, and as {@link placeAt} */
export async function filePlace(tree: DriveSnapshot, at: At, parents: boolean): Promise<PlaceInTree> {
  const place = await placeAt(tree, at, parents);
  if (place.old?.type === "directory") throw isADirectory(at.access.place);
  return place;
}

export const stampPart = ({ content }: DriveStat): { stamp?: Stamp } =>
  content === undefined ? {} : { stamp: content };

export const sizePart = ({ type, size, modified }: DriveStat) => ({ type, size: type === "file" ? size : 0, modified });

export function describe(entry: DriveStat & { readonly name: string }, directory: RelPath): Entry {
  const isTop = directory.segments.length === 0;
  const isReachable = isReachableName(entry.name, isTop);
  return { name: entry.name, ...sizePart(entry), ...(isReachable ? {} : { unreachable: true }) };
}

/** A tree to be read; its owner releases it. */
export const readerOf = (tree: DriveSnapshot): DriveReader => ({
  stat: (path) => tree.stat(path),
  entries: (path) => tree.entries(path),
  readFile: (...part) => tree.readFile(...part),
  async fetch() {},
  release() {},
});
