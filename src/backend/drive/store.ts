// Writes and appends to files of a drive.

import { createHash } from "node:crypto";
import { endWithCall } from "../../core/call/end-with-call.js";
import type { RelPath } from "../../core/call/path.js";
import type { Sha256 } from "../../core/etag.js";
import type { Access, AppendOptions, Body, Written } from "../../core/ports/backend.js";
import type { DriveChange, DriveSnapshot, DriveStat, LogEntry, StagedContent } from "../../drive/engine/engine.js";
import { authoriseParents } from "../authorise-parents.js";
import { sha256Of } from "../digest.js";
import { checkAppend, checkExpected, type Found } from "./conditions.js";
import { madeDirectories, newState, type Reporting, stateOf, withReports } from "./report.js";
import { makeDirectories, type Spot, stampPart, statAt } from "./tree.js";

/** Access to the drive that is changed. */
export interface DriveDoor extends Reporting {
  look<T>(look: (tree: DriveSnapshot) => Promise<T>): Promise<T>;
  /** `work` may run again if another process changed the drive meanwhile. */
  change<T>(work: (tree: DriveChange) => Promise<T>): Promise<T>;
  stage(content: AsyncIterable<Uint8Array>): Promise<StagedContent>;
  /** An entry of the owner's log. */
  logged(id: string): Promise<LogEntry | undefined>;
}

type How = AppendOptions & { readonly verb: "write" | "append" };

export interface Storing {
  readonly path: RelPath;
  readonly body: Body;
  readonly how: How;
  /** Resolves the path, which must be a place for a file. */
  check(tree: DriveSnapshot): Promise<Spot>;
}

interface Content {
  readonly put: Buffer | StagedContent;
  /** The whole body, if it is in memory. */
  readonly data: Buffer | undefined;
  readonly sha256: Sha256;
}

/** Writes a file or appends to it, in one change. */
export async function store(drive: DriveDoor, { path, body, how, check }: Storing, access: Access): Promise<Written> {
  const { segments } = path;
  const last = segments.length - 1;
  const old = ({ depth, node }: Spot): DriveStat | undefined => (depth > last ? node : undefined);
  const first = await drive.look(async (tree) => {
    const spot = await check(tree);
    // Preconditions that only need the file's existence are checked before its content is requested.
    if (old(spot) === undefined) await checkStore({ tree, segments, access }, undefined, { how, data: undefined });
    else if (how.expected === "nothing") await checkExpected({ tree, segments, access }, old(spot), how.expected);
    return spot;
  });
  authoriseParents(path, { from: first.depth, to: last }, access);
  const loaded = await load(drive, { body, how }, access);
  return withReports(drive, access, async (tree, note) => {
    // The tree may have changed while the content arrived.
    const spot = await check(tree);
    authoriseParents(path, { from: spot.depth, to: first.depth }, access);
    const before = old(spot);
    const { put, data, sha256 } =
      how.verb === "append" ? await contentFor(loaded, { tree, segments, body }, before) : loaded;
    const { repeated, hash } = await checkStore({ tree, segments, access }, before, { how, data });
    if (repeated !== undefined) return repeated;
    await makeDirectories(tree, path, { from: spot.depth, to: last });
    const { bytes, created } = await (how.verb === "write"
      ? tree.writeFile(segments, put, how.modified)
      : tree.appendFile(segments, put));
    access.scope.commit();
    const common = {
      ...{ kind: "file" as const, path: segments, before: before === undefined ? null : stateOf(before) },
      ...madeDirectories(path, { from: spot.depth, to: last }),
    };
    if (how.verb === "write" || before === undefined) {
      note({ ...common, action: created ? "created" : "modified", after: newState(bytes, sha256) });
      const now = how.stamps === true ? await statAt(tree, segments) : undefined;
      return { bytes, created, size: bytes, sha256, ...(now === undefined ? {} : stampPart(now)) };
    }
    const whole = data === undefined ? undefined : hash?.update(data).digest("hex");
    const [after, addition] = [newState(before.size + bytes, whole), { offset: before.size, sha256 }];
    note({ ...common, action: "modified", after, addition });
    return { bytes, created, size: before.size + bytes, ...(whole === undefined ? {} : { sha256: whole }) };
  });
}

const checkStore = (
  file: { readonly tree: DriveSnapshot; readonly segments: readonly string[]; readonly access: Access },
  stat: DriveStat | undefined,
  { how, data }: { readonly how: How; readonly data: Buffer | undefined },
): Promise<Found> =>
  how.verb === "write" ? checkExpected(file, stat, how.expected) : checkAppend(file, stat, { ...how, data });

/** What an append adds to a file that is there. */
async function contentFor(
  loaded: Content,
  { tree, segments, body }: { tree: DriveChange; segments: readonly string[]; body: Body },
  before: DriveStat | undefined,
): Promise<Content> {
  const { size } = before ?? { size: 0 };
  if (body.addedTo === undefined || size < 2) return loaded;
  const data = body.addedTo((await tree.readFile(segments, 0, 2)).bytes, size);
  return data === undefined ? loaded : { put: data, data, sha256: await sha256Of(data) };
}

async function load(
  drive: DriveDoor,
  { body, how }: Pick<Storing, "body" | "how">,
  { scope }: Access,
): Promise<Content> {
  const loaded = await body.load();
  scope.checkpoint();
  if (Buffer.isBuffer(loaded)) return { put: loaded, data: loaded, sha256: await sha256Of(loaded) };
  const hash = createHash("sha256");
  const isCompared = how.verb === "append" && (how.expectedSize !== undefined || how.expected !== undefined);
  const kept: Uint8Array[] = [];
  async function* passing(content: AsyncIterable<Uint8Array>): AsyncGenerator<Uint8Array> {
    for await (const chunk of content) {
      hash.update(chunk);
      if (isCompared) kept.push(Buffer.from(chunk));
      yield chunk;
    }
  }
  // Content that is still arriving must not block other changes.
  const put = await drive.stage(passing(endWithCall(loaded, scope)));
  return { put, data: isCompared ? Buffer.concat(kept) : undefined, sha256: hash.digest("hex") };
}
