import { escapeText } from "../../core/texts.js";
import { cellOf } from "../cell.js";
import { driveError } from "../error.js";
import type { IndexEntry } from "../index-node.js";
import { entriesOf } from "../index-node.js";
import { type Directory, directoryOf, type FileNode, type NodeView, viewOf } from "../node.js";
import { hashOfRef, isBranch, toHex } from "../ref.js";
import type { Value } from "../value.js";
import { type BlobRange, claimedSize, readRange } from "./blob-reader.js";
import { branchOf, type CellScope, loadIndex } from "./cells.js";
import type { DriveEntry, DriveRead, DriveStat } from "./drives.js";
import { isDamage, unlessDamaged } from "./fault.js";

/** The tree of a drive as one piece of work sees it. */
export interface Tree {
  /** `undefined` for a drive that is not there. */
  readonly root: Value | undefined;
  readonly scope: CellScope;
}

/** A file or directory that is there. */
export type LiveView = Exclude<NodeView, { kind: "tombstone" }>;

/** Entries of a directory whose cells are asked for at once. */
const MAX_TOGETHER = 1024;
const EMPTY: DriveStat = { type: "directory", size: 0, modified: 0 };

/** What is at a path; synchronous, so to be run by the scope. @throws NOT_A_DIRECTORY */
export function viewAt(root: Value, path: readonly string[]): LiveView | undefined {
  let view: LiveView = directoryOf(root);
  for (const [depth, name] of path.entries()) {
    if (view.kind === "file") throw notADirectory(path.slice(0, depth));
    const value: Value | undefined = view.entries.get(name);
    const next: NodeView | undefined = value === undefined ? undefined : viewOf(value);
    if (next === undefined || next.kind === "tombstone") return undefined;
    view = next;
  }
  return view;
}

export async function statAt({ root, scope }: Tree, path: readonly string[]): Promise<DriveStat | undefined> {
  if (root === undefined) return path.length === 0 ? EMPTY : undefined;
  const view = await scope.run(() => viewAt(root, path));
  if (view === undefined) return undefined;
  const modified = Number(view.utime);
  if (view.kind === "directory") return { type: "directory", size: 0, modified };
  return { type: "file", size: await sizeOf(view.data, scope), modified };
}

export async function readAt({ root, scope }: Tree, path: readonly string[], range: BlobRange): Promise<DriveRead> {
  const view = await liveAt({ root, scope }, path);
  if (view.kind === "directory") throw isADirectory(path);
  return readRange(view.data, range, scope);
}

export async function entriesAt({ root, scope }: Tree, path: readonly string[]): Promise<DriveEntry[]> {
  if (root === undefined && path.length === 0) return [];
  const view = await liveAt({ root, scope }, path);
  if (view.kind === "file") throw notADirectory(path);
  await loadIndex(view.entries, scope);
  const all = [...liveEntries(view)];
  const listed: DriveEntry[] = [];
  for (let at = 0; at < all.length; at += MAX_TOGETHER) {
    await describe(all.slice(at, at + MAX_TOGETHER), scope, listed);
  }
  return listed;
}

function* liveEntries({ entries }: Directory): Generator<IndexEntry> {
  if (entries.root !== undefined) yield* entriesOf(entries.root);
}

async function liveAt({ root, scope }: Tree, path: readonly string[]): Promise<LiveView> {
  const view = root === undefined ? undefined : await scope.run(() => viewAt(root, path));
  if (view === undefined) throw notFound(path);
  return view;
}

/** Lists some entries, those that are there. */
async function describe(entries: readonly IndexEntry[], scope: CellScope, listed: DriveEntry[]): Promise<void> {
  await scope.fetch(branchesOf(entries.map(({ value }) => value)));
  const views: [string, LiveView | undefined][] = [];
  for (const { key, value } of entries) {
    // One entry does not keep the others from being listed.
    const view = viewNow(value) ?? (await unlessDamaged(() => scope.run(() => viewOf(value))));
    if (typeof key === "string" && view?.kind !== "tombstone") views.push([key, view]);
  }
  const files = views.flatMap(([, view]) => (view?.kind === "file" ? [view] : []));
  const sizes = await sizesOf(files, scope);
  for (const [name, view] of views) {
    if (view?.kind === "directory") {
      listed.push({ name, type: "directory", size: 0, modified: Number(view.utime) });
      continue;
    }
    const size = view === undefined ? undefined : sizes.get(view);
    const stat = { name, type: "file", modified: Number(view?.utime ?? 0n) } as const;
    listed.push(size === undefined ? { ...stat, size: 0, damaged: true } : { ...stat, size });
  }
}

/** A promise for each of many entries would take longer than looking into them. */
export function viewNow(value: Value): NodeView | undefined {
  try {
    return viewOf(value);
  } catch (error) {
    if (isDamage(error)) return undefined;
    throw error;
  }
}

function* branchesOf(values: readonly Value[]): Generator<Uint8Array> {
  for (const value of values) {
    const ref = branchOf(value);
    if (ref !== undefined) yield ref;
  }
}

/** The size of a file by the top cell of its content. */
export async function sizeOf(data: FileNode["data"], scope: CellScope): Promise<number> {
  const file = { data };
  const size = (await sizesOf([file], scope)).get(file);
  if (size === undefined) throw driveError("MISSING_CELL", "A cell of a file is missing");
  return size;
}

/** The sizes of files, without those whose top cell is missing or damaged. */
export async function sizesOf<F extends Pick<FileNode, "data">>(
  files: readonly F[],
  scope: CellScope,
): Promise<ReadonlyMap<F, number>> {
  const sizes = new Map<F, number>();
  const waiting: { readonly file: F; readonly hash: string }[] = [];
  for (const file of files) {
    const { ref } = cellOf(file.data);
    const hash = isBranch(ref) ? toHex(hashOfRef(ref)) : undefined;
    const size = hash === undefined ? claimedSize(ref) : scope.sizes.get(hash);
    if (size !== undefined) sizes.set(file, size);
    else if (hash !== undefined) waiting.push({ file, hash });
  }
  if (waiting.length === 0) return sizes;
  const cells = await scope.peek(waiting.map(({ hash }) => hash));
  for (const [place, { file, hash }] of waiting.entries()) {
    const cell = cells[place];
    const size = cell === undefined ? undefined : claimedSize(cell);
    if (size === undefined) continue;
    scope.sizes.set(hash, size);
    sizes.set(file, size);
  }
  return sizes;
}

const shown = (path: readonly string[]): string => escapeText(path.join("/"));
export const notFound = (path: readonly string[]): Error => driveError("NOT_FOUND", `Not found: ${shown(path)}`);
export const notADirectory = (path: readonly string[]): Error =>
  driveError("NOT_A_DIRECTORY", `Not a directory: ${shown(path)}`);
export const isADirectory = (path: readonly string[]): Error =>
  driveError("IS_A_DIRECTORY", `Is a directory: ${shown(path)}`);
export const alreadyThere = (path: readonly string[]): Error => driveError("EXISTS", `Already exists: ${shown(path)}`);
