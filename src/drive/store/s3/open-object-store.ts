// Opens a cell store in an S3 bucket.

import { join } from "node:path";
import { type Log, silentLog } from "../../../core/ports/log.js";
import type { CellStore } from "../cell-store.js";
import { storeUnavailable } from "../checks.js";
import { makeFolder } from "../embedded/make-folder.js";
import { checkMode, newProbeKey, rootsIn } from "./bucket-mode.js";
import { createS3Client, type S3Client, type S3Credentials, type S3Patience } from "./client/s3-client.js";
import { ObjectStore, withStoreErrors } from "./object-store.js";
import { openLocalCache } from "./packs/local-cache.js";
import { createPackSource } from "./packs/source.js";
import { createUploads } from "./packs/uploads.js";
import { createOwnerRoots } from "./roots/owner-roots.js";
import { createRootReader, isDigest } from "./roots/root-reader.js";
import { createRootSwap } from "./roots/root-swap.js";
import { createViews } from "./roots/views.js";

export interface ObjectStoreOptions {
  readonly bucket: string;
  /** Prefix of all objects, without leading or trailing slash; empty for none. */
  readonly prefix?: string | undefined;
  /** `https://host:port` of the server; omit for AWS. */
  readonly endpoint?: string | undefined;
  readonly region: string;
  readonly credentials: S3Credentials;
  /** A dedicated folder on a local disk for the read cache; may be emptied whenever no store is open. */
  readonly cachePath: string;
  /** Maximum size of the read cache in bytes. */
  readonly cacheBytes?: number | undefined;
  readonly patience?: Partial<S3Patience> | undefined;
  readonly log?: Log | undefined;
  /** Current time in milliseconds since 1970. */
  readonly now?: (() => number) | undefined;
}

const DEFAULT_CACHE_BYTES = 1 << 30;
const DEFAULT_PATIENCE: S3Patience = { tries: 5, waitMs: 200, timeoutMs: 15_000 };
const UPLOADS_AT_ONCE = 4;
/** How long the first request may take. */
const MEET_MS = 8000;

/**
 * Opens a store in a bucket shared by any number of processes. The bucket must offer conditional puts, and read-after-write
 * and list-after-write consistency. Each owner has one root that all processes swap.
 *
 * @throws STORE_UNAVAILABLE, with advice for the operator, if the bucket cannot be used, or was used in a way that this
 * version does not know
 */
export async function openObjectStore(options: ObjectStoreOptions): Promise<CellStore> {
  const { log = silentLog, now = Date.now, cachePath, cacheBytes = DEFAULT_CACHE_BYTES } = options;
  return withStoreErrors(log, async () => {
    const client = createS3Client({ ...placeOf(options), ...optionsOf(options), log });
    await meet(options, log);
    const hasDigests = await probe(client, newProbeKey());
    makeFolder(cachePath);
    const cache = openLocalCache(join(cachePath, "read"), cacheBytes);
    const views = createViews();
    const source = createPackSource({ client, cache, views });
    const uploads = createUploads({ client, source, views, atOnce: UPLOADS_AT_ONCE, now, log });
    const roots = createOwnerRoots(createRootReader({ client, cache, hasDigests }), views);
    try {
      // Fails where an owner's root does not include one of a single venue.
      for await (const { owner, isShared } of rootsIn(client, "roots/")) if (!isShared) await roots.load(owner);
      const format = await checkMode(client);
      const swaps = createRootSwap({ client, roots, uploads, now });
      const parts = { client, uploads, now, log, roots, swaps, cache, views, source, folder: cachePath, format };
      return new ObjectStore(parts);
    } catch (error) {
      await cache.close();
      throw error;
    }
  });
}

/** AWS buckets use virtual-hosted-style URLs; other servers, and names that TLS forbids, use path-style. */
function placeOf({ bucket, endpoint, region, prefix = "" }: ObjectStoreOptions): { url: string; prefix: string } {
  const host = `s3.${region}.amazonaws.com`;
  const aws = bucket.includes(".") ? `https://${host}/${bucket}` : `https://${bucket}.${host}`;
  const url = endpoint === undefined ? aws : `${endpoint.replace(/\/+$/, "")}/${bucket}`;
  return { url, prefix: prefix === "" ? "" : `${prefix.replace(/^\/+|\/+$/g, "")}/` };
}

const optionsOf = ({ region, credentials, patience }: ObjectStoreOptions) => ({
  region,
  credentials,
  patience: { ...DEFAULT_PATIENCE, ...patience },
});

/** Asks for one listing with little patience: an operator waits for what never answers, or is no object storage. */
async function meet(options: ObjectStoreOptions, log: Log): Promise<void> {
  const { patience, ...rest } = optionsOf(options);
  const client = createS3Client({ ...placeOf(options), ...rest, patience: { ...patience, withinMs: MEET_MS }, log });
  for await (const _ of client.folders("")) break;
}

/**
 * Exercises every request the store needs, so that missing permissions show before anything is acknowledged.
 *
 * @returns whether entity tags are digests of contents
 */
async function probe(client: S3Client, key: string): Promise<boolean> {
  const etags = new Set<string>();
  let hasDigests = true;
  try {
    for (const content of ["venue-files 1\n", "venue-files 2\n"]) {
      await client.put(key, Buffer.from(content));
      const found = await client.get(key, content.length);
      const listed: string[] = [];
      for await (const object of client.objects(key)) if (object.key === key) listed.push(object.etag);
      if (found?.bytes.toString() !== content || listed[0] === undefined)
        throw storeUnavailable("the object storage does not show at once what was put: use one that is consistent");
      etags.add(listed[0]);
      hasDigests &&= isDigest(found) && listed[0] === found.etag;
    }
  } finally {
    await client.remove(key).catch(() => undefined);
  }
  // Entity tags tell which roots have changed.
  if (etags.size < 2 || etags.has(""))
    throw storeUnavailable("the object storage does not give each content an entity tag of its own: use one that does");
  return hasDigests;
}
