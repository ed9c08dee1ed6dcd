// Creates directories in a drive, removes entries of it, gives them times, and brings back what its log keeps.

import {
  alreadyExists,
  conflict,
  existsNotDirectory,
  isADirectory,
  notEmpty,
  notFound,
  notSupportedByRoot,
  rootDelete,
} from "../../core/errors/texts.js";
import type { At, GroupChange, Removed, RemoveOptions, Standing, WriteOptions } from "../../core/ports/backend.js";
import type { EntryChange } from "../../core/ports/changes/change.js";
import type { DriveChange, DriveSnapshot, LogEntry } from "../../drive/engine/engine.js";
import { expectationError, requireExpected } from "../preconditions.js";
import { requireAllAllowed } from "../tree-walk.js";
import { type DriveDoor, newState, nothingToDo, type Part, type Plan, type Step, stateOf } from "./change.js";
import { checkExpected, checkVersion } from "./conditions.js";
import { placeAt, statAt } from "./tree.js";

/** A step that is planned on a snapshot as on the tree that is changed. */
const sameStep = <T>(at: At, plan: (tree: DriveSnapshot) => Promise<Plan<T>>): Step<T> => ({ at, first: plan, plan });

export const mkdirStep = (at: At, { parents, expected }: WriteOptions): Step<{ created: boolean }> =>
  sameStep<{ created: boolean }>(at, async (tree) => {
    const { path, access } = at;
    const { segments } = path;
    const { depth, old } = await placeAt(tree, at, parents);
    if (old !== undefined) {
      if (old.type === "file") throw existsNotDirectory(access.place);
      if (expected !== undefined) throw expectationError(expected, undefined, access);
      return nothingToDo(true, { created: false });
    }
    if (expected !== undefined) requireExpected(expected, undefined, access);
    const [action, kind] = ["created", "directory"] as const;
    const change = { action, kind, path: segments, before: null, after: newState(0) };
    return {
      ...{ depth, existed: false },
      parts: [{ change, make: (tree) => tree.makeDirectory(segments) }],
      answer: () => ({ created: true }),
    };
  });

/** @throws ROOT_DELETE */
export function removeStep(
  at: At,
  { recursive, expected, version, permanent, discards, mustExist }: RemoveOptions & Standing & { mustExist?: true },
): Step<Removed> {
  const { access } = at;
  const { segments } = at.path;
  if (segments.length === 0) throw rootDelete(access.place.root);
  return sameStep<Removed>(at, async (tree) => {
    const found = await statAt(tree, segments);
    const isDirectory = found?.type === "directory";
    const takesFiles = expected !== undefined || access.rules?.removesFilesOnly === true;
    if (isDirectory && takesFiles) throw isADirectory(access.place);
    await checkExpected({ tree, segments, access }, found, expected);
    checkVersion(found, version, access);
    if (isDirectory && !recursive && (await tree.entries(segments)).length > 0) throw notEmpty(access.place);
    if (isDirectory) await requireAllAllowed(tree, segments, access);
    if (found === undefined && mustExist === true) throw notFound(access.place);
    if (found === undefined) return nothingToDo(false, { existed: false });
    const part: Part = {
      change: { action: "deleted", kind: found.type, path: segments, before: stateOf(found), after: null },
      reason: permanent === true || discards === true ? "permanent" : undefined,
      make: (tree) => tree.remove(segments, { recursive }),
    };
    return {
      depth: segments.length,
      parts: [part],
      existed: true,
      answer: () => ({ existed: true, ...(part.ticket?.id === undefined ? {} : { id: part.ticket.id }) }),
    };
  });
}

/** The times of directories are those of their changes, which decide merges. @throws NOT_FOUND, NOT_SUPPORTED */
export const touchStep = (at: At, modified: number | undefined): Step<void> =>
  sameStep(at, async (tree) => {
    const { segments } = at.path;
    const found = await statAt(tree, segments);
    if (found === undefined) throw notFound(at.access.place);
    if (modified === undefined) return nothingToDo(true, undefined);
    if (found.type === "directory") throw notSupportedByRoot(at.access.place, "setting times of directories");
    const parts = [{ make: (tree: DriveChange) => tree.setTime(segments, modified) }];
    return { depth: segments.length, parts, existed: true, answer: () => {} };
  });

/** Gives a deleted entry its place again, with everything below it. */
export function restoreStep(
  drive: DriveDoor,
  { at, kept: [id = ""], options }: Extract<GroupChange, { kind: "restore" }>,
): Step<void> {
  const { access } = at;
  const { segments } = at.path;
  let kept: LogEntry | undefined;
  return {
    ...{ at, isKept: true },
    async stage() {
      const found = await drive.logged(id);
      if (found?.drive !== drive.name) throw notFound(access.place);
      kept = found;
    },
    async plan(tree) {
      if (segments.length === 0) return putBackPlan(tree, at, kept);
      const ref = kept?.before;
      if (kept === undefined || ref === undefined) throw notFound(access.place);
      const { kind, before } = kept.entry;
      const { depth, old } = await placeAt(tree, at, options.parents);
      if (old !== undefined) throw alreadyExists(access.place);
      const after = newState(before?.size ?? 0, before?.sha256);
      const make = async (tree: DriveChange): Promise<void> => {
        await tree.restore(segments, ref);
        if (kind === "directory") await requireAllAllowed(tree, segments, access);
      };
      const change = { action: "created", kind, path: segments, before: null, after } as const;
      return { depth, parts: [{ change, make }], existed: false, answer: () => {} };
    },
  };
}

/** Undoes a change that has created, deleted or changed the drive as a whole. */
async function putBackPlan(tree: DriveChange, { access }: At, kept: LogEntry | undefined): Promise<Plan<void>> {
  if (kept === undefined || !isKept(kept)) throw notFound(access.place);
  const { before, after } = kept;
  if (!(await tree.holdsContentOf(after))) {
    throw conflict(access.place, { verb: "undo", expected: "what that change has left" });
  }
  const old = tree.moment().root === undefined ? undefined : await tree.stat([]);
  const make = async (tree: DriveChange): Promise<void> => {
    await tree.putBack(before);
    await requireAllAllowed(tree, [], access);
  };
  const change: EntryChange = {
    action: old === undefined ? "created" : before === undefined ? "deleted" : "modified",
    kind: "directory",
    path: [],
    before: old === undefined ? null : stateOf(old),
    after: before === undefined ? null : newState(0),
  };
  return { depth: 0, parts: [{ change, make }], existed: old !== undefined, answer: () => {} };
}

/** Whether both roots are there, or never were. */
const isKept = ({ entry, before, after }: LogEntry): boolean =>
  (entry.before === null) === (before === undefined) && (entry.after === null) === (after === undefined);
