// Opens a cell store in an S3 bucket.

import { randomBytes } from "node:crypto";
import { join } from "node:path";
import { type Log, silentLog } from "../../../core/ports/log.js";
import type { CellStore } from "../cell-store.js";
import { makeFolder } from "../embedded/make-folder.js";
import { storeUnavailable } from "../store-error.js";
import { agreeOnMode } from "./bucket-mode.js";
import { createS3Client, type S3Client, type S3Credentials, type S3Patience } from "./client/s3-client.js";
import { ObjectStore, type ObjectStoreParts } from "./object-store.js";
import { openLocalCache } from "./packs/local-cache.js";
import { createPackSource } from "./packs/source.js";
import { createUploads, type Uploads } from "./packs/uploads.js";
import { createHeadSwap } from "./roots/head-swap.js";
import { createOwnerHeads } from "./roots/owner-heads.js";
import { createOwnerRoots } from "./roots/owner-roots.js";
import { createRetiredRoots } from "./roots/retired-roots.js";
import { createRootMemory, type RootMemory } from "./roots/root-memory.js";
import { createRootReader, isDigest, type RootReader } from "./roots/root-reader.js";
import { createRootSwap } from "./roots/root-swap.js";
import { createViews } from "./roots/views.js";
import { createWriterId, sharedWriter, writerKey } from "./roots/writer-id.js";
import { withStoreErrors } from "./store-errors.js";

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
 * Opens a store in a bucket shared by any number of processes. The bucket must offer read-after-write and
 * list-after-write consistency. With conditional puts each owner has one root that all processes swap; without them
 * each process has its own root, and readers merge them.
 *
 * @throws STORE_UNAVAILABLE, with advice for the operator, if the bucket cannot be listed and written or is used in
 * another mode
 */
export async function openObjectStore(options: ObjectStoreOptions): Promise<CellStore> {
  const { log = silentLog, now = Date.now, cachePath, cacheBytes = DEFAULT_CACHE_BYTES } = options;
  return withStoreErrors(log, async () => {
    const client = createS3Client({ ...placeOf(options), ...optionsOf(options), log });
    await meet(options, log);
    const hasDigests = await probe(client, writerKey(randomBytes(16).toString("hex")));
    const mode = await agreeOnMode(client);
    makeFolder(cachePath);
    const cache = openLocalCache(join(cachePath, "read"), cacheBytes);
    const views = createViews();
    const source = createPackSource({ client, cache, views });
    const uploads = createUploads({ client, source, views, atOnce: UPLOADS_AT_ONCE, now, log });
    const [reader, memory] = [createRootReader({ client, cache, hasDigests }), createRootMemory(views)];
    const common = { client, uploads, now, log };
    const rooted =
      mode === "conditional"
        ? openSharedRoots({ ...common, reader, memory })
        : openSeparateRoots({ ...common, reader, memory });
    const retired = createRetiredRoots({ ...common, ...rooted });
    const parts = { ...common, ...rooted, cache, views, source, retired, mode, folder: cachePath };
    return new ObjectStore(parts);
  });
}

interface RootParts {
  readonly client: S3Client;
  readonly uploads: Uploads;
  readonly reader: RootReader;
  readonly memory: RootMemory;
  readonly now: () => number;
  readonly log: Log;
}

type Rooted = Pick<ObjectStoreParts, "roots" | "swaps" | "writer" | "late">;

/** One root per owner. */
function openSharedRoots({ client, uploads, reader, memory, now }: RootParts): Rooted {
  const roots = createOwnerHeads({ reader, memory });
  const swaps = createHeadSwap({ client, roots, uploads, now });
  return { roots, swaps, writer: sharedWriter, late: (owner) => roots.late(owner) };
}

/** One root per owner and process. */
function openSeparateRoots({ client, uploads, reader, memory, now, log }: RootParts): Rooted {
  const writer = createWriterId({ client, now, log });
  const roots = createOwnerRoots({ reader, memory, writer });
  return { roots, swaps: createRootSwap({ client, roots, uploads, writer }), writer, late: undefined };
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
