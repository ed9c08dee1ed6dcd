// Makes a group of changes in a drive by one swap of its root.

import { createHash } from "node:crypto";
import { endWithCall } from "../../core/call/end-with-call.js";
import { alreadyExists, conflict, notFound, rootDelete } from "../../core/errors/texts.js";
import type { Sha256 } from "../../core/etag.js";
import type { Access, At, GroupChange, GroupEffect } from "../../core/ports/backend.js";
import type { EntryChange } from "../../core/ports/changes/change.js";
import type { DriveChange, LogEntry, StagedContent } from "../../drive/engine/engine.js";
import { authoriseParents } from "../authorise-parents.js";
import { sha256Of } from "../digest.js";
import { checkExpected, checkVersion } from "./conditions.js";
import { fileSpot, makeDirectoryInDrive, removeInDrive, requireParent } from "./entries.js";
import { toCallerError } from "./errors.js";
import { moveInDrive } from "./move-copy.js";
import { addNote, madeDirectories, type Noted, newState, report, stateOf } from "./report.js";
import type { DriveDoor } from "./store.js";
import { locate, makeDirectories } from "./tree.js";
import { requireAllAllowed } from "./walk.js";

type Write = Extract<GroupChange, { kind: "write" }>;
type Restore = Extract<GroupChange, { kind: "restore" }>;

interface Content {
  readonly put: Buffer | StagedContent;
  readonly sha256: Sha256;
}

/** Ends a change that is not to be made. */
class Discarded extends Error {}

/** Refuses what {@link changeAllInDrive} would refuse: makes every change on a tree that is not put in place. */
export async function checkAllInDrive(drive: DriveDoor, name: string, changes: readonly GroupChange[]): Promise<void> {
  const discard = (): never => {
    throw new Discarded();
  };
  try {
    await changeAllInDrive(drive, name, changes, discard);
  } catch (error) {
    if (!(error instanceof Discarded)) throw error;
  }
}

/**
 * Loads all content, then makes every change on one tree, which is put in place as a whole or not at all.
 * @param settle called once all are made
 */
export async function changeAllInDrive(
  drive: DriveDoor,
  name: string,
  changes: readonly GroupChange[],
  settle: () => void = () => {},
): Promise<readonly GroupEffect[]> {
  const places = changes.flatMap(placesOf);
  for (const { path, access } of places) {
    access.scope.checkpoint();
    access.real(path.segments);
  }
  // Content that is still arriving must not block other changes.
  const contents = new Map<GroupChange, Content>();
  for (const change of changes) if (change.kind === "write") contents.set(change, await load(drive, change));
  const kept = new Map<GroupChange, LogEntry>();
  for (const change of changes) if (change.kind === "restore") kept.set(change, await keptOf(drive, name, change));
  const all: { readonly access: Access; readonly noted: Noted }[] = [];
  const keepReport = (access: Access, noted: Noted): void => void all.push({ access, noted });
  const done = await drive.change(async (tree) => {
    all.length = 0;
    const effects: GroupEffect[] = [];
    for (const change of changes) {
      const { access } = placeOf(change);
      access.scope.checkpoint();
      try {
        effects.push(
          await changeOne({ tree, keepReport }, change, { content: contents.get(change), kept: kept.get(change) }),
        );
      } catch (error) {
        throw toCallerError(error, { place: access.place, drive: name, verb: access.verb });
      }
    }
    settle();
    if (all.length > 1) all[0]?.access.beginGroup?.();
    for (const { access, noted } of all) addNote(tree, access, noted);
    return effects;
  });
  for (const { access, noted } of all) {
    access.scope.settle();
    report(access, noted);
  }
  return done;
}

const placesOf = (change: GroupChange): At[] => (change.kind === "move" ? [change.from, change.to] : [change.at]);
const placeOf = (change: GroupChange): At => (change.kind === "move" ? change.to : change.at);

/** The tree under change, and what is told of once it is in place. */
interface Ground {
  readonly tree: DriveChange;
  keepReport(access: Access, noted: Noted): void;
}

/** Content loaded for a change. */
interface Loaded {
  readonly content: Content | undefined;
  readonly kept: LogEntry | undefined;
}

async function changeOne(ground: Ground, change: GroupChange, { content, kept }: Loaded): Promise<GroupEffect> {
  const { tree, keepReport } = ground;
  const door: DriveDoor = {
    keepReport,
    look: (look) => look(tree),
    change: (work) => work(tree),
    stage: () => Promise.reject(new TypeError("All content has been loaded")),
    logged: () => Promise.reject(new TypeError("All entries have been loaded")),
  };
  if (change.kind === "move") {
    return { existed: (await moveInDrive(door, change.from, change.to, change.options)).overwritten };
  }
  const { at } = change;
  if (change.kind === "restore") return restoreIn(ground, change, kept);
  if (change.kind === "mkdir") return { existed: !(await makeDirectoryInDrive(door, at, change.options)).created };
  if (change.kind === "write") return writeIn(ground, change, content);
  if (at.path.segments.length === 0) throw rootDelete(at.access.place.root);
  if (!(await removeInDrive(door, at, change.options)).existed) throw notFound(at.access.place);
  return { existed: true };
}

async function writeIn(ground: Ground, { at, options }: Write, content: Content | undefined): Promise<GroupEffect> {
  if (content === undefined) throw new TypeError("All content has been loaded");
  const { tree, keepReport } = ground;
  const { path, access } = at;
  const { segments } = path;
  const spot = await fileSpot(tree, at, options.parents);
  const old = spot.depth === segments.length ? spot.node : undefined;
  await checkExpected({ tree, segments, access }, old, options.expected);
  checkVersion(old, options.version, access);
  const since = tree.moment();
  const parents = { from: spot.depth, to: segments.length - 1 };
  authoriseParents(path, parents, access);
  await makeDirectories(tree, path, parents);
  const { bytes } = await tree.writeFile(segments, content.put);
  access.scope.commit();
  const change: EntryChange = Object.assign(
    { action: old === undefined ? ("created" as const) : ("modified" as const), kind: "file" as const, path: segments },
    madeDirectories(path, parents),
    { before: old === undefined ? null : stateOf(old), after: newState(bytes, content.sha256) },
  );
  keepReport(access, { change, since, until: tree.moment() });
  return { existed: old !== undefined, sha256: content.sha256 };
}

/** Gives a deleted entry its place again, with everything below it. */
async function restoreIn(ground: Ground, { at, options }: Restore, kept: LogEntry | undefined): Promise<GroupEffect> {
  const { tree, keepReport } = ground;
  const { path, access } = at;
  const { segments } = path;
  if (segments.length === 0) return putBackIn(ground, at, kept);
  if (kept?.before === undefined) throw notFound(access.place);
  const spot = await locate(tree, path);
  if (spot.depth === segments.length) throw alreadyExists(access.place);
  requireParent(spot, at, options.parents);
  const since = tree.moment();
  const parents = { from: spot.depth, to: segments.length - 1 };
  authoriseParents(path, parents, access);
  await makeDirectories(tree, path, parents);
  await tree.restore(segments, kept.before);
  const { kind, before } = kept.entry;
  if (kind === "directory") await requireAllAllowed(tree, segments, access);
  access.scope.commit();
  const change: EntryChange = {
    ...{ action: "created", kind, path: segments },
    ...madeDirectories(path, parents),
    ...{ before: null, after: newState(before?.size ?? 0, before?.sha256) },
  };
  keepReport(access, { change, since, until: tree.moment() });
  return { existed: false };
}

/** Undoes what has created, deleted or changed the drive as a whole. */
async function putBackIn(
  { tree, keepReport }: Ground,
  { access }: At,
  kept: LogEntry | undefined,
): Promise<GroupEffect> {
  if (kept === undefined || !isKept(kept)) throw notFound(access.place);
  const { before, after } = kept;
  if (!(await tree.holdsContentOf(after))) {
    throw conflict(access.place, { verb: "undo", expected: "what that change has left" });
  }
  const since = tree.moment();
  const old = since.root === undefined ? undefined : await tree.stat([]);
  await tree.putBack(before);
  await requireAllAllowed(tree, [], access);
  access.scope.commit();
  const until = tree.moment();
  const fresh = until.root === undefined ? undefined : await tree.stat([]);
  const change: EntryChange = {
    action: old === undefined ? "created" : fresh === undefined ? "deleted" : "modified",
    ...{ kind: "directory", path: [] },
    ...{ before: old === undefined ? null : stateOf(old), after: fresh === undefined ? null : stateOf(fresh) },
  };
  keepReport(access, { change, since, until });
  return { existed: old !== undefined };
}

/** Whether both roots are there, or never were. */
const isKept = ({ entry, before, after }: LogEntry): boolean =>
  (entry.before === null) === (before === undefined) && (entry.after === null) === (after === undefined);

async function keptOf(drive: DriveDoor, name: string, { kept: [id = ""], at }: Restore): Promise<LogEntry> {
  const found = await drive.logged(id);
  const isThere = at.path.segments.length === 0 || found?.before !== undefined;
  if (found?.drive !== name || !isThere) throw notFound(at.access.place);
  return found;
}

async function load(drive: DriveDoor, { body, at }: Write): Promise<Content> {
  const { scope } = at.access;
  scope.checkpoint();
  const loaded = await body.load();
  if (Buffer.isBuffer(loaded)) return { put: loaded, sha256: await sha256Of(loaded) };
  const hash = createHash("sha256");
  async function* hashed(content: AsyncIterable<Uint8Array>): AsyncGenerator<Uint8Array> {
    for await (const chunk of content) {
      hash.update(chunk);
      yield chunk;
    }
  }
  const put = await drive.stage(hashed(endWithCall(loaded, scope)));
  return { put, sha256: hash.digest("hex") };
}
