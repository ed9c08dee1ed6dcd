// Makes a group of changes in a drive by one swap of its root.

import { createHash } from "node:crypto";
import { ending } from "../../core/call/ending.js";
import { notFound, notSupportedByRoot, rootDelete } from "../../core/errors/texts.js";
import type { Sha256 } from "../../core/etag.js";
import type { Access, At, GroupChange, GroupEffect } from "../../core/ports/backend.js";
import type { EntryChange } from "../../core/ports/changes/change.js";
import type { DriveChange, StagedContent } from "../../drive/engine/engine.js";
import { sha256Of } from "../digest.js";
import { authoriseParents } from "../parents.js";
import { checkExpected } from "./conditions.js";
import { fileSpot, makeDirectoryInDrive, removeInDrive } from "./entries.js";
import { asCallerError } from "./errors.js";
import { moveInDrive } from "./place.js";
import { madeFor, newState, stateOf } from "./report.js";
import type { DriveDoor } from "./store.js";
import { makeDirectories } from "./tree.js";

type Write = Extract<GroupChange, { kind: "write" }>;

interface Content {
  readonly put: Buffer | StagedContent;
  readonly sha256: Sha256;
}

/** Loads all content, then makes every change on one tree, which is put in place as a whole or not at all. */
export async function changeAllInDrive(
  drive: DriveDoor,
  name: string,
  changes: readonly GroupChange[],
): Promise<readonly GroupEffect[]> {
  const places = changes.flatMap(placesOf);
  for (const { path, access } of places) {
    access.scope.checkpoint();
    access.real(path.segments);
  }
  // Content that is still arriving must not block other changes.
  const contents = new Map<GroupChange, Content>();
  for (const change of changes) if (change.kind === "write") contents.set(change, await load(drive, change));
  const reports: (() => void)[] = [];
  const keepReport = (access: Access, change: EntryChange): void => {
    reports.push(() => access.changed?.(change));
  };
  const done = await drive.change(async (tree) => {
    reports.length = 0;
    const effects: GroupEffect[] = [];
    for (const change of changes) {
      const { access } = placeOf(change);
      access.scope.checkpoint();
      try {
        effects.push(await changeOne({ tree, keepReport }, change, contents.get(change)));
      } catch (error) {
        throw asCallerError(error, { place: access.place, drive: name, verb: access.verb });
      }
    }
    return effects;
  });
  places[0]?.access.beginGroup?.();
  for (const report of reports) report();
  return done;
}

const placesOf = (change: GroupChange): At[] => (change.kind === "move" ? [change.from, change.to] : [change.at]);
const placeOf = (change: GroupChange): At => (change.kind === "move" ? change.to : change.at);

/** The tree under change, and what is told of once it is in place. */
interface Ground {
  readonly tree: DriveChange;
  keepReport(access: Access, change: EntryChange): void;
}

async function changeOne(ground: Ground, change: GroupChange, content: Content | undefined): Promise<GroupEffect> {
  const { tree, keepReport } = ground;
  const door: DriveDoor = {
    keepReport,
    look: (look) => look(tree),
    change: (work) => work(tree),
    stage: () => Promise.reject(new TypeError("All content has been loaded")),
  };
  if (change.kind === "move") {
    return { existed: (await moveInDrive(door, change.from, change.to, change.options)).overwritten };
  }
  const { at } = change;
  if (change.kind === "restore") throw notSupportedByRoot(at.access.place, "kept entries");
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
  const parents = { from: spot.depth, to: segments.length - 1 };
  authoriseParents(path, parents, access);
  await makeDirectories(tree, path, parents);
  const { bytes } = await tree.writeFile(segments, content.put);
  access.scope.commit();
  keepReport(access, {
    ...{ action: old === undefined ? "created" : "modified", kind: "file", path: segments },
    ...madeFor(path, parents),
    ...{ before: old === undefined ? null : stateOf(old), after: newState(bytes, content.sha256) },
  });
  return { existed: old !== undefined, sha256: content.sha256 };
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
  const put = await drive.stage(hashed(ending(loaded, scope)));
  return { put, sha256: hash.digest("hex") };
}
