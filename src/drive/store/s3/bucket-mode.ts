// Checks that venues can share a bucket: conditional puts work, and a record in it says that all venues use them.

import { randomBytes } from "node:crypto";
import type { FormatChange } from "../cell-store.js";
import { NEWEST_FORMAT, storeUnavailable } from "../checks.js";
import type { PutIfResult, S3Client } from "./client/s3-client.js";
import { MAX_ROOT_OBJECT_BYTES, type RootObject, rootKey, SHARED_NAME, singleRootId } from "./roots/root-object.js";

/** Tells venues of other versions how the bucket is used, and of which format it is. */
const MODE_KEY = "mode";
const MODES: readonly (string | undefined)[] = [undefined, "conditional", "conditional 2"];
const MAX_MODE_BYTES = 64;
const RACERS = 4;
const MAX_PROBES = 4;
const SOME_ETAG = `"${"0".repeat(32)}"`;

/** Objects with which a start tries the bucket; a collection removes what killed starts have left. */
export const PROBES = "writers/";
export const newProbeKey = (): string => `${PROBES}${randomBytes(16).toString("hex")}`;

/** @throws STORE_UNAVAILABLE where venues could not share the bucket, or share it in another way */
export async function checkMode(client: S3Client): Promise<number> {
  const found = await readMode(client);
  await requireConditional(client);
  return (found ?? (await putMode(client, null))).format;
}

/** @throws STORE_UNAVAILABLE unless conditional puts work */
export async function requireConditional(client: S3Client): Promise<void> {
  if (!(await probeConditional(client)))
    throw storeUnavailable(
      "the object storage does not keep the conditions of puts (If-Match, If-None-Match: *), without which venues overwrite each other's changes: use one that does, and reach the object storage without what ignores them",
    );
}

/** The caller has seen to it that no venue uses the bucket. */
export async function upgradeMode(client: S3Client): Promise<FormatChange> {
  const before = (await readMode(client)) ?? { format: NEWEST_FORMAT, etag: null };
  const { format: to } = before.format < NEWEST_FORMAT ? await putMode(client, before.etag) : before;
  return { from: before.format, to };
}

interface Mode {
  readonly format: number;
  readonly etag: string;
}

async function putMode(client: S3Client, before: string | null): Promise<Mode> {
  await client.putIf(MODE_KEY, Buffer.from(`${MODES[NEWEST_FORMAT]}\n`), before);
  const mode = await readMode(client);
  if (mode === undefined) throw storeUnavailable("the object storage does not show at once what was put");
  return mode;
}

/** @returns `undefined` if the bucket has none */
async function readMode(client: S3Client): Promise<Mode | undefined> {
  const found = await client.get(MODE_KEY, MAX_MODE_BYTES);
  if (found === undefined) return undefined;
  const text = found.bytes.toString().trim();
  if (text === "merge") throw singleRootsFound();
  const format = MODES.indexOf(text);
  if (format < 0)
    throw storeUnavailable("the bucket is used in a way that only a newer version knows: update this venue");
  return { format, etag: found.etag };
}

async function probeConditional(client: S3Client): Promise<boolean> {
  for (let probes = 0; probes < MAX_PROBES; probes += 1) {
    const answer = await isConditional(client);
    if (answer !== undefined) return answer;
  }
  throw storeUnavailable("the object storage does not answer well enough to tell what it can do: try again later");
}

/**
 * Whether the server honours conditional puts: those that must fail do fail, and exactly one of several concurrent ones
 * succeeds. `undefined` if a decisive response was lost.
 */
async function isConditional(client: S3Client): Promise<boolean | undefined> {
  let isUnsure = false;
  const key = newProbeKey();
  let puts = 0;
  const put = async (etag: string | null): Promise<PutIfResult> => {
    puts += 1;
    const result = await client.putIf(key, Buffer.from(`venue-files ${puts}\n`), etag);
    isUnsure ||= !result.isDone && !result.isSure;
    return result;
  };
  const race = async (etag: string | null): Promise<string | undefined> => {
    const results = await Promise.all(Array.from({ length: RACERS }, () => put(etag)));
    const done = results.flatMap((result) => (result.isDone ? [result.etag] : []));
    return done.length === 1 ? done[0] : undefined;
  };
  const keeps = async (): Promise<boolean> => {
    if ((await put(SOME_ETAG)).isDone) return false;
    const first = await race(null);
    if (first === undefined || (await put(null)).isDone || (await put(SOME_ETAG)).isDone) return false;
    const second = await race(first);
    return second !== undefined && second !== first && !(await put(first)).isDone;
  };
  try {
    const answer = await keeps();
    return isUnsure ? undefined : answer;
  } finally {
    await client.remove(key).catch(() => undefined);
  }
}

const ROOT_KEY = /^roots\/([0-9a-f]{64})\/([0-9a-f]{32})$/;

/** The error for a bucket with roots of an earlier version: reading it as empty would lose them. */
export const singleRootsFound = (): Error =>
  storeUnavailable(
    "the bucket has roots that venues put each for itself (mode 'merge'), which this version does not read. With the version that wrote them run 'venue-files drive export' for each user, and import the files into an empty bucket or prefix",
  );

/** The roots in a folder, ordered by owner. */
export async function* rootsIn(
  client: S3Client,
  folder: string,
): AsyncGenerator<{ readonly owner: string; readonly name: string; readonly isShared: boolean }> {
  for await (const { key } of client.objects(folder)) {
    const [, owner, name] = ROOT_KEY.exec(key) ?? [];
    if (owner !== undefined && name !== undefined) yield { owner, name, isShared: name === SHARED_NAME };
  }
}

/** Whether an owner's root includes the root of a single venue, or that one is gone. @throws STORE_DAMAGED */
export async function isIncluded(
  client: S3Client,
  { owner, name, root }: { readonly owner: string; readonly name: string; readonly root: RootObject | undefined },
): Promise<boolean> {
  const found = await client.get(rootKey(owner, name), MAX_ROOT_OBJECT_BYTES);
  return found === undefined || root?.merged.has(singleRootId(name, found.bytes)) === true;
}
