// Opens a cell store in an S3 bucket.

import { join } from "node:path";
import { type Log, silentLog } from "../../../core/ports/log.js";
import type { CellStore } from "../cell-store.js";
import { makeFolder } from "../embedded/make-folder.js";
import { checkMode, rootsIn } from "./bucket-mode.js";
import { ObjectStore, withStoreErrors } from "./object-store.js";
import { type BucketOptions, openBucket } from "./open-bucket.js";
import { openLocalCache } from "./packs/local-cache.js";
import { createPackSource } from "./packs/source.js";
import { createUploads } from "./packs/uploads.js";
import { createOwnerRoots } from "./roots/owner-roots.js";
import { createRootReader } from "./roots/root-reader.js";
import { createRootSwap } from "./roots/root-swap.js";
import { createViews } from "./roots/views.js";

export interface ObjectStoreOptions extends BucketOptions {
  /** A dedicated folder on a local disk for the read cache; may be emptied whenever no store is open. */
  readonly cachePath: string;
  /** Maximum size of the read cache in bytes. */
  readonly cacheBytes?: number | undefined;
  readonly log?: Log | undefined;
  /** Current time in milliseconds since 1970. */
  readonly now?: (() => number) | undefined;
}

const DEFAULT_CACHE_BYTES = 1 << 30;
const UPLOADS_AT_ONCE = 4;

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
    const { client, hasDigests } = await openBucket(options, log);
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
