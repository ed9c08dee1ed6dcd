// Looks up paths in the tree of a drive.

import type { RelPath } from "../../core/call/path.js";
import { FileAdapterError } from "../../core/errors/errors.js";
import { isADirectory, notADirectory, notFound } from "../../core/errors/texts.js";
import type { Access, Entry } from "../../core/ports/backend.js";
import type { Stamp } from "../../core/ports/open-file.js";
import type { DriveChange, DriveSnapshot } from "../../drive/engine/engine.js";
import { isReachableName } from "../../path/grammar.js";

type Found = NonNullable<Awaited<ReturnType<DriveSnapshot["stat"]>>>;

/** How far a path exists in a tree. */
export interface Spot {
  /** Number of path segments that exist. */
  readonly depth: number;
  /** The entry at the last existing segment. */
  readonly node: Found;
}

/** Stands for the root directory of a drive that does not exist yet. */
const NO_DRIVE: Found = { type: "directory", size: 0, modified: 0 };

/** The entry at a path; nothing exists below a file. */
export async function statAt(tree: DriveSnapshot, segments: readonly string[]): Promise<Found | undefined> {
  const found = await tree.stat(segments).catch(ignoreMissing);
  return found === undefined && segments.length === 0 ? NO_DRIVE : found;
}

function ignoreMissing(error: unknown): undefined {
  if (error instanceof FileAdapterError && (error.code === "NOT_A_DIRECTORY" || error.code === "NOT_FOUND")) return;
  throw error;
}

export async function locate(tree: DriveSnapshot, { segments }: RelPath): Promise<Spot> {
  for (let depth = segments.length; depth > 0; depth--) {
    const node = await statAt(tree, segments.slice(0, depth));
    if (node !== undefined) return { depth, node };
  }
  return { depth: 0, node: NO_DRIVE };
}

/** @throws NOT_FOUND, IS_A_DIRECTORY */
export async function requireFile(tree: DriveSnapshot, { segments }: RelPath, { place }: Access): Promise<Found> {
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

/**
 * Creates the directories named by the path's segments from index `from` (inclusive) to `to` (exclusive), topmost
 * first.
 */
export async function makeDirectories(tree: DriveChange, path: RelPath, { from, to }: { from: number; to: number }) {
  for (let index = from; index < to; index++) await tree.makeDirectory(path.segments.slice(0, index + 1));
}

/** The version stamp of a file's content, as a part of an answer. */
export const stampPart = ({ content }: Found): { stamp?: Stamp } => (content === undefined ? {} : { stamp: content });

export const sizePart = ({ type, size, modified }: Found) => ({ type, size: type === "file" ? size : 0, modified });

export function describe(entry: Found & { readonly name: string }, directory: RelPath): Entry {
  const isTop = directory.segments.length === 0;
  const isReachable = isReachableName(entry.name, isTop);
  return { name: entry.name, ...sizePart(entry), ...(isReachable ? {} : { unreachable: true }) };
}
