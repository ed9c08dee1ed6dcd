// Creates directories in a drive, and removes entries of it.

import {
  existsNotDirectory,
  isADirectory,
  notADirectory,
  notEmpty,
  notFound,
  notSupportedByRoot,
  parentMissing,
} from "../../core/errors/texts.js";
import type { At, Removed, RemoveOptions, Standing, TouchOptions, WriteOptions } from "../../core/ports/backend.js";
import type { DriveSnapshot, DriveStat } from "../../drive/engine/engine.js";
import { authoriseParents } from "../authorise-parents.js";
import { expectationError, requireExpected } from "../preconditions.js";
import { checkExpected, checkVersion } from "./conditions.js";
import { madeDirectories, type Noted, newState, stateOf, withReports } from "./report.js";
import type { DriveDoor } from "./store.js";
import { locate, makeDirectories, type Spot, statAt } from "./tree.js";
import { requireAllAllowed } from "./walk.js";

/** The place of a file that exists or may be created. @throws IS_A_DIRECTORY, NOT_A_DIRECTORY, PARENT_MISSING */
export async function fileSpot(tree: DriveSnapshot, at: At, parents: boolean): Promise<Spot> {
  const spot = await locate(tree, at.path);
  requireParent(spot, at, parents);
  const isThere = spot.depth === at.path.segments.length;
  if (isThere && spot.node.type === "directory") throw isADirectory(at.access.place);
  return spot;
}

/** @throws unless the target's parent exists, or may be created */
export function requireParent({ depth, node }: Spot, { path, access }: At, parents: boolean): void {
  const missing = path.segments.length - depth;
  const place = (segments: readonly string[]) => ({ root: access.place.root, path: segments.join("/") });
  if (missing > 0 && node.type === "file") throw notADirectory(place(path.segments.slice(0, depth)));
  if (missing > 1 && !parents) throw parentMissing(place(path.segments.slice(0, -1)));
}

export async function makeDirectoryInDrive(
  drive: DriveDoor,
  at: At,
  { parents, expected }: WriteOptions,
): Promise<{ created: boolean }> {
  const { path, access } = at;
  const last = path.segments.length - 1;
  const check = async (tree: DriveSnapshot): Promise<Spot> => {
    const spot = await locate(tree, path);
    requireParent(spot, at, parents);
    if (spot.depth > last && spot.node.type === "file") throw existsNotDirectory(access.place);
    return spot;
  };
  const there = (): { created: false } => {
    if (expected !== undefined) throw expectationError(expected, undefined, access);
    return { created: false };
  };
  const first = await drive.look(check);
  if (first.depth > last) return there();
  if (expected !== undefined) requireExpected(expected, undefined, access);
  authoriseParents(path, { from: first.depth, to: last }, access);
  return withReports(drive, access, async (tree, note) => {
    const spot = await check(tree);
    if (spot.depth > last) return there();
    authoriseParents(path, { from: spot.depth, to: first.depth }, access);
    await makeDirectories(tree, path, { from: spot.depth, to: last + 1 });
    access.scope.commit();
    const [created, kind] = ["created", "directory"] as const;
    const made = madeDirectories(path, { from: spot.depth, to: last });
    note({ action: created, kind, path: path.segments, ...made, before: null, after: newState(0) });
    return { created: true };
  });
}

export async function removeInDrive(
  drive: DriveDoor,
  { path, access }: At,
  { recursive, expected, version, permanent, discards }: RemoveOptions & Standing,
): Promise<Removed> {
  const check = async (tree: DriveSnapshot): Promise<DriveStat | undefined> => {
    const found = await statAt(tree, path.segments);
    const takesFiles = expected !== undefined || access.rules?.removesFilesOnly === true;
    if (takesFiles && found?.type === "directory") throw isADirectory(access.place);
    await checkExpected({ tree, segments: path.segments, access }, found, expected);
    checkVersion(found, version, access);
    if (found?.type === "directory" && !recursive && (await tree.entries(path.segments)).length > 0)
      throw notEmpty(access.place);
    if (found?.type === "directory") await requireAllAllowed(tree, path.segments, access);
    return found;
  };
  if ((await drive.look(check)) === undefined) return { existed: false };
  let noted: Noted | undefined;
  const done = await withReports(drive, access, async (tree, note) => {
    const found = await check(tree);
    if (found === undefined) return { existed: false };
    const existed = await tree.remove(path.segments, { recursive });
    access.scope.commit();
    const [action, before] = ["deleted" as const, stateOf(found)];
    noted = note({ action, kind: found.type, path: path.segments, before, after: null });
    if (permanent === true || discards === true) noted.reason = "permanent";
    return { existed };
  });
  const id = noted?.ticket?.id;
  return id === undefined ? done : { ...done, id };
}

/** The times of directories are those of their changes, which decide merges. @throws NOT_FOUND, NOT_SUPPORTED */
export async function touchInDrive(drive: DriveDoor, { path, access }: At, { modified }: TouchOptions): Promise<void> {
  const { segments } = path;
  const found = await drive.look((tree) => statAt(tree, segments));
  if (found === undefined) throw notFound(access.place);
  if (modified === undefined) return;
  if (found.type === "directory") throw notSupportedByRoot(access.place, "setting times of directories");
  await withReports(drive, access, async (tree) => {
    await tree.setTime(segments, modified);
    access.scope.commit();
  });
}
