// How a bucket is used: one root per owner with conditional puts, or one root per process.

import { randomBytes } from "node:crypto";
import { storeUnavailable } from "../store-error.js";
import type { PutIfResult, S3Client } from "./client/s3-client.js";
import { writerKey } from "./roots/writer-id.js";

/** `conditional`: an owner has one root, swapped by conditional puts. `merge`: each process has its own root. */
export type BucketMode = "conditional" | "merge";

const MODE_KEY = "mode";
const MAX_MODE_BYTES = 64;
const RACERS = 4;
const MAX_PROBES = 4;
const SOME_ETAG = `"${"0".repeat(32)}"`;

/** The mode of a bucket; `undefined` if none has been recorded. @throws STORE_UNAVAILABLE */
export async function readMode(client: S3Client): Promise<BucketMode | "unknown" | undefined> {
  const found = await client.get(MODE_KEY, MAX_MODE_BYTES);
  const text = found?.bytes.toString().trim();
  return text === undefined || text === "conditional" || text === "merge" ? text : "unknown";
}

/**
 * The mode of a bucket. The first process to open it records the mode permanently: all must use the same one, or each
 * would put roots that the others do not read.
 *
 * @throws STORE_UNAVAILABLE if this process cannot use the recorded mode
 */
export async function agreeOnMode(client: S3Client): Promise<BucketMode> {
  const present = await readMode(client);
  if (present === "merge") return present;
  if (present === "unknown")
    throw storeUnavailable("the bucket is used in a way that only a newer version knows: update this venue");
  const canDo = await probeConditional(client);
  if (present === undefined) {
    const mode = Buffer.from(canDo ? "conditional\n" : "merge\n");
    // On servers that ignore conditions, another process that also found no mode may overwrite this one.
    const { isDone } = await client.putIf(MODE_KEY, mode, null);
    // Some servers reject any conditional put.
    if (!isDone && !canDo && (await readMode(client)) === undefined) await client.put(MODE_KEY, mode);
  }
  const agreed = present ?? (await readMode(client));
  if (agreed === undefined || agreed === "unknown")
    throw storeUnavailable("the object storage does not show at once what was put");
  if (agreed === "conditional" && !canDo)
    throw storeUnavailable(
      "the bucket is used with conditional requests, and here they are not kept: reach the object storage without what ignores them",
    );
  return agreed;
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
  const key = writerKey(randomBytes(16).toString("hex"));
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
