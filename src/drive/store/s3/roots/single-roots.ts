// Roots that venues of earlier versions put, each for itself, in buckets without conditional puts.

import { storeUnavailable } from "../../store-error.js";
import type { S3Client } from "../client/s3-client.js";
import { MAX_ROOT_OBJECT_BYTES, type RootObject, rootKey, SHARED_NAME, singleRootId } from "./root-object.js";

const ROOT_KEY = /^roots\/([0-9a-f]{64})\/([0-9a-f]{32})$/;

/** What lies there is never taken for empty: the way out is to read it by the version that wrote it. */
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
