// Reads the tree of a drive.

import { isPending } from "../../../core/io.js";
import { cellOf } from "../../cad3/encoding/cell.js";
import { claimedSize } from "../../cad3/encoding/parsed.js";
import type { IndexEntry } from "../../cad3/maps/index-node.js";
import { hashOfRef, isBranch, toHex } from "../../cad3/ref.js";
import type { Value } from "../../cad3/value.js";
import { directoryOf, type FileNode, type LiveView, liveOf, modifiedOf, viewOf } from "../../dlfs/node.js";
import { entryAt } from "../../dlfs/tree-path.js";
import { driveError, isADirectory, notADirectory, notFound } from "../../error.js";
import type { CellScope } from "../cells.js";
import type { DriveEntry, DriveRead, DriveStat } from "../drives.js";
import { type BlobRange, type CellReader, readRange } from "./blob-reader.js";
import { namesOf, readIntact, type Slot, slotsOf, summariesOf } from "./listing.js";

/** The tree of a drive, as seen by one task. */
export interface Tree {
  /** `undefined` if the drive does not exist. */
  readonly root: Value | undefined;
  readonly scope: CellScope;
}

/** Maximum entries of a directory fetched at once. */
const MAX_TOGETHER = 1024;
const EMPTY: DriveStat = { type: "directory", size: 0, modified: 0 };

/**
 * The entry at a path. Synchronous, to be run by the scope.
 * @throws NOT_A_DIRECTORY
 */
export function viewAt(root: Value, path: readonly string[]): LiveView | undefined {
  let view: LiveView = directoryOf(root);
  for (const [depth, name] of path.entries()) {
    if (view.kind === "file") throw notADirectory(path.slice(0, depth));
    const next = liveOf(entryAt(view, name));
    if (next === undefined) return undefined;
    view = next;
  }
  return view;
}

/** A node as its directory holds it: the root has no directory. */
export type HeldNode = Pick<IndexEntry, "value" | "valueRef">;

/** The node of an entry at a path. Synchronous, to be run by the scope. */
export const nodeAt = (root: Value, path: readonly string[]): Value | undefined => heldAt({ value: root }, path)?.value;

/** The node at a path, with its Ref where that is known. Synchronous, to be run by the scope. */
export function heldAt(root: HeldNode, path: readonly string[]): HeldNode | undefined {
  let held = root;
  for (const name of path) {
    const view = viewOf(held.value);
    const next: IndexEntry | undefined = view.kind === "directory" ? view.entries.entry(name) : undefined;
    if (next === undefined || viewOf(next.value).kind === "tombstone") return undefined;
    held = next;
  }
  return held;
}

export async function statAt({ root, scope }: Tree, path: readonly string[]): Promise<DriveStat | undefined> {
  if (root === undefined) return path.length === 0 ? EMPTY : undefined;
  const view = await scope.run(() => viewAt(root, path));
  if (view === undefined) return undefined;
  if (view.kind === "directory") return { type: "directory", size: 0, modified: Number(view.utime) };
  const modified = modifiedOf(view.metadata, view.utime);
  const known = knownSize(view, scope);
  const size = Number.isNaN(known) ? await sizeOf(view.data, scope) : known;
  return { type: "file", size, modified, content: toHex(cellOf(view.data).ref) };
}

export async function readAt({ root, scope }: Tree, path: readonly string[], range: BlobRange): Promise<DriveRead> {
  const view = await liveAt({ root, scope }, path);
  if (view.kind === "directory") throw isADirectory(path);
  return readRange(view.data, range, scope);
}

/** Reads the top cells of files together, to be kept by the scope: the whole content of small ones. */
export async function fetchFiles({ root, scope }: Tree, paths: readonly (readonly string[])[]): Promise<void> {
  if (root === undefined) return;
  const refs: Uint8Array[] = [];
  for (const path of paths) {
    const found = scope.run(() => viewAt(root, path));
    const view = isPending(found) ? await found : found;
    if (view?.kind === "file") refs.push(cellOf(view.data).ref);
  }
  await scope.fetch(refs);
}

export async function entriesAt({ root, scope }: Tree, path: readonly string[]): Promise<DriveEntry[]> {
  if (root === undefined && path.length === 0) return [];
  const view = await liveAt({ root, scope }, path);
  if (view.kind === "file") throw notADirectory(path);
  const slots = await slotsOf(view.entries, scope);
  const listed: DriveEntry[] = [];
  for (let at = 0; at < slots.length; at += MAX_TOGETHER) {
    await describe(slots.slice(at, at + MAX_TOGETHER), scope, listed);
  }
  return listed;
}

async function liveAt({ root, scope }: Tree, path: readonly string[]): Promise<LiveView> {
  const view = root === undefined ? undefined : await scope.run(() => viewAt(root, path));
  if (view === undefined) throw notFound(path);
  return view;
}

/** Appends the existing entries of some slots. */
async function describe(slots: readonly Slot[], scope: CellScope, listed: DriveEntry[]): Promise<void> {
  const names = await namesOf(slots, scope);
  const nodes = await summariesOf(slots, scope);
  const sizes = await sizesOf(
    nodes.map((node) => (node?.kind === "file" ? node.data.bytes : undefined)),
    scope,
  );
  for (const [place, name] of names.entries()) {
    const node = nodes[place];
    if (name === undefined || node?.kind === "tombstone") continue;
    const modified = node?.kind === "file" ? node.modified : Number(node?.utime ?? 0n);
    const size = sizes[place];
    if (node?.kind === "directory") listed.push({ name, type: "directory", size: 0, modified });
    else if (size !== undefined) {
      const content = node === undefined ? {} : { content: toHex(node.data.bytes) };
      listed.push({ name, type: "file", modified, size, ...content });
    } else listed.push({ name, type: "file", modified, size: 0, damaged: true });
  }
}

/** Bytes of a file, as far as known without a read; NaN: unknown. */
export function knownSize(view: LiveView | undefined, { sizes }: Pick<CellScope, "sizes">): number {
  if (view === undefined) return 0;
  if (view.kind === "directory") return Number.NaN;
  const { ref } = cellOf(view.data);
  return (isBranch(ref) ? sizes.get(toHex(hashOfRef(ref))) : claimedSize(ref)) ?? Number.NaN;
}

/** The size of a file, from the top cell of its content. */
async function sizeOf(data: FileNode["data"], scope: CellScope): Promise<number> {
  const [size] = await sizesOf([cellOf(data).ref], scope);
  if (size === undefined) throw driveError("MISSING_CELL", "A cell of a file is missing");
  return size;
}

/**
 * The sizes of files by the Refs of their content, in order.
 *
 * @returns `undefined` where the top cell is missing or damaged, or no size is requested
 */
export async function sizesOf(
  files: readonly (Uint8Array | undefined)[],
  scope: CellReader & Pick<CellScope, "sizes">,
): Promise<(number | undefined)[]> {
  const waiting: { readonly place: number; readonly hash: string }[] = [];
  const sizes = files.map((ref, place) => {
    if (ref === undefined || !isBranch(ref)) return ref === undefined ? undefined : claimedSize(ref);
    const hash = toHex(hashOfRef(ref));
    const size = scope.sizes.get(hash);
    if (size === undefined) waiting.push({ place, hash });
    return size;
  });
  if (waiting.length === 0) return sizes;
  const cells = await readIntact(
    waiting.map(({ hash }) => hash),
    scope,
  );
  for (const [which, { place, hash }] of waiting.entries()) {
    const cell = cells[which];
    const size = cell === undefined ? undefined : claimedSize(cell);
    if (size !== undefined) scope.sizes.set(hash, size);
    sizes[place] = size;
  }
  return sizes;
}
