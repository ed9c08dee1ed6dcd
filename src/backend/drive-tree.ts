import type { Access, Entry, Stamp, WalkEntry, WalkOptions } from "../core/backend.js";
import { FileAdapterError } from "../core/errors.js";
import type { RelPath } from "../core/path.js";
import { deniedByPolicy, notADirectory, notFound } from "../core/texts.js";
import type { DriveChange, DriveSnapshot } from "../drive/engine/engine.js";
import { isReachableName } from "../path/grammar.js";
import { sortByName } from "../path/order.js";

type Found = NonNullable<Awaited<ReturnType<DriveSnapshot["stat"]>>>;

/** How far a path leads into a tree. */
export interface Spot {
  /** Segments of the path that are there. */
  readonly depth: number;
  /** What stands at the last of them. */
  readonly node: Found;
}

/** What the root of a drive is that is not there. */
const NO_DRIVE: Found = { type: "directory", size: 0, modified: 0 };

/** What stands at a path; below a file nothing does. */
export async function statAt(tree: DriveSnapshot, segments: readonly string[]): Promise<Found | undefined> {
  const found = await tree.stat(segments).catch(nothingBelowFiles);
  return found === undefined && segments.length === 0 ? NO_DRIVE : found;
}

function nothingBelowFiles(error: unknown): undefined {
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

export async function directoryAt(tree: DriveSnapshot, path: RelPath, access: Access): Promise<void> {
  const found = await statAt(tree, path.segments);
  if (found === undefined) throw notFound(access.place);
  if (found.type === "file") throw notADirectory(access.place);
}

/** The directories of which the path's segments from index `from` to before `to` are the names, topmost first. */
export async function makeDirectories(tree: DriveChange, path: RelPath, { from, to }: { from: number; to: number }) {
  for (let index = from; index < to; index++) await tree.makeDirectory(path.segments.slice(0, index + 1));
}

/** What names the content of a file, as a part of an answer. */
export const stamped = ({ content }: Found): { stamp?: Stamp } => (content === undefined ? {} : { stamp: content });

export const sized = ({ type, size, modified }: Found) => ({ type, size: type === "file" ? size : 0, modified });

export function describe(entry: Found & { readonly name: string }, directory: RelPath): Entry {
  const isTop = directory.segments.length === 0;
  const isReachable = isReachableName(entry.name, isTop, process.platform === "win32");
  return { name: entry.name, ...sized(entry), ...(isReachable ? {} : { unreachable: true }) };
}

export interface Walk extends WalkOptions {
  readonly access: Access;
  /** From the place of the call to the directory. */
  readonly below: readonly string[];
  /** The directory itself is. */
  readonly isDenied: boolean;
}

export async function walkBelow(tree: DriveSnapshot, segments: readonly string[], walk: Walk): Promise<"on" | "stop"> {
  const { below, sizes, access } = walk;
  const depth = below.length + 1;
  for (const { name, type, size } of sortByName(await tree.entries(segments))) {
    access.scope.checkpoint();
    const isDenied = walk.isDenied || access.policy?.denies(below, name) === true;
    const visit = isDenied ? walk.visitDenied : walk.visit;
    const entry: WalkEntry = { name, type, size: sizes ? (type === "file" ? size : 0) : undefined, depth };
    const answer = visit?.(entry) ?? "skip";
    if (answer === "stop") return "stop";
    if (answer !== "enter" || type !== "directory") continue;
    const end = await walkBelow(tree, [...segments, name], { ...walk, below: [...below, name], isDenied });
    if (end === "stop") return "stop";
  }
  return "on";
}

/** Refuses a directory that holds anything the policy denies. @throws DENIED_BY_POLICY */
export async function requireAllAllowed(
  tree: DriveSnapshot,
  segments: readonly string[],
  access: Access,
): Promise<void> {
  if (access.policy === undefined) return;
  const walk: WalkOptions = { visit: () => "enter", visitDenied: () => "stop", sizes: false };
  const end = await walkBelow(tree, segments, { ...walk, access, below: [], isDenied: false });
  if (end === "stop") throw deniedByPolicy(access.place, access.verb);
}
