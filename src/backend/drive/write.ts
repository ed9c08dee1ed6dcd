// Writes and appends to files of a drive.

import { createHash, type Hash } from "node:crypto";
import { endWithCall } from "../../core/call/end-with-call.js";
import type { Sha256 } from "../../core/etag.js";
import type { AppendOptions, At, Body, Standing, Written } from "../../core/ports/backend.js";
import type { EntryChange } from "../../core/ports/changes/change.js";
import type { DriveChange, DriveSnapshot, DriveStat, StagedContent } from "../../drive/engine/engine.js";
import { sha256Of } from "../digest.js";
import { type DriveDoor, newState, nothingToDo, type Plan, type Step, stateOf } from "./change.js";
import { checkAppend, checkExpected, checkVersion, type Found } from "./conditions.js";
import { filePlace, stampPart, statAt } from "./tree.js";

type How = AppendOptions & Standing & { readonly verb: "write" | "append" };

interface Content {
  readonly put: Buffer | StagedContent;
  /** The whole body, if it is in memory. */
  readonly data: Buffer | undefined;
  readonly sha256: Sha256;
}

export function writeStep(drive: DriveDoor, at: At, body: Body, how: How): Step<Written> {
  const { path, access } = at;
  const { segments } = path;
  const check = (tree: DriveSnapshot, old: DriveStat | undefined, data?: Buffer): Promise<Found> => {
    const file = { tree, segments, access };
    return how.verb === "write" ? checkExpected(file, old, how.expected) : checkAppend(file, old, { ...how, data });
  };
  let loaded: Content | undefined;
  return {
    at,
    async first(tree) {
      const { depth, old } = await filePlace(tree, at, how.parents);
      // Preconditions that only need the file's existence are checked before its content is requested.
      if (old === undefined) await check(tree, old);
      else if (how.expected === "nothing") await checkExpected({ tree, segments, access }, old, how.expected);
      return { depth };
    },
    async stage() {
      loaded = await load(drive, body, how, at);
    },
    async plan(tree) {
      if (loaded === undefined) throw new TypeError("Content is staged before it is put in place");
      const { depth, old } = await filePlace(tree, at, how.parents);
      const addsTo = how.verb === "append" ? old : undefined;
      const content = addsTo === undefined ? loaded : await contentFor(loaded, { tree, segments, body }, addsTo);
      const { repeated, hash } = await check(tree, old, content.data);
      if (repeated !== undefined) return nothingToDo(true, repeated);
      checkVersion(old, how.version, access);
      if (addsTo !== undefined) return additionTo(segments, addsTo, content, hash);
      return { depth, ...replacementOf(segments, old, content, how) };
    },
  };
}

function additionTo(
  segments: readonly string[],
  old: DriveStat,
  { put, data, sha256 }: Content,
  hash: Hash | undefined,
): Plan<Written> {
  const whole = data === undefined ? undefined : hash?.update(data).digest("hex");
  const bytes = sizeOf(put);
  const size = old.size + bytes;
  const change: EntryChange = {
    action: "modified",
    kind: "file",
    path: segments,
    before: stateOf(old),
    after: newState(size, whole),
    addition: { offset: old.size, sha256 },
  };
  return {
    depth: segments.length,
    existed: true,
    parts: [{ change, make: (tree) => tree.appendFile(segments, put) }],
    answer: () => ({ bytes, created: false, size, ...(whole === undefined ? {} : { sha256: whole }) }),
  };
}

function replacementOf(
  segments: readonly string[],
  old: DriveStat | undefined,
  { put, sha256 }: Content,
  { modified, stamps }: How,
): Omit<Plan<Written>, "depth"> {
  const created = old === undefined;
  const bytes = sizeOf(put);
  const change: EntryChange = {
    action: created ? "created" : "modified",
    kind: "file",
    path: segments,
    before: created ? null : stateOf(old),
    after: newState(bytes, sha256),
  };
  let now: DriveStat | undefined;
  const make = async (tree: DriveChange): Promise<void> => {
    await tree.writeFile(segments, put, modified);
    if (stamps === true) now = await statAt(tree, segments);
  };
  return {
    parts: [{ change, make }],
    existed: !created,
    sha256,
    answer: () => ({ bytes, created, size: bytes, sha256, ...(now === undefined ? {} : stampPart(now)) }),
  };
}

const sizeOf = (content: Buffer | StagedContent): number => (Buffer.isBuffer(content) ? content.length : content.size);

/** The content that an append adds to an existing file. */
async function contentFor(
  loaded: Content,
  { tree, segments, body }: { tree: DriveSnapshot; segments: readonly string[]; body: Body },
  { size }: DriveStat,
): Promise<Content> {
  if (body.addedTo === undefined || size < 2) return loaded;
  const data = body.addedTo((await tree.readFile(segments, 0, 2)).bytes, size);
  return data === undefined ? loaded : { put: data, data, sha256: await sha256Of(data) };
}

async function load(drive: DriveDoor, body: Body, how: How, { access: { scope } }: At): Promise<Content> {
  scope.checkpoint();
  const loaded = await body.load();
  scope.checkpoint();
  if (Buffer.isBuffer(loaded)) return { put: loaded, data: loaded, sha256: await sha256Of(loaded) };
  const isCompared = how.verb === "append" && (how.expectedSize !== undefined || how.expected !== undefined);
  const kept: Uint8Array[] | undefined = isCompared ? [] : undefined;
  const staged = await stageHashed(drive, endWithCall(loaded, scope), kept);
  return { ...staged, data: kept && Buffer.concat(kept) };
}

/** Stores content for a change. @param kept gets all of it */
export async function stageHashed(
  drive: DriveDoor,
  content: AsyncIterable<Uint8Array>,
  kept?: Uint8Array[],
): Promise<{ put: StagedContent; sha256: Sha256 }> {
  const hash = createHash("sha256");
  async function* passing(): AsyncGenerator<Uint8Array> {
    for await (const chunk of content) {
      hash.update(chunk);
      kept?.push(Buffer.from(chunk));
      yield chunk;
    }
  }
  const put = await drive.stage(passing());
  return { put, sha256: hash.digest("hex") };
}
