// The cell store in an S3 bucket: packs of cells, root objects, garbage collection and compaction.

import { join } from "node:path";
import { describeError } from "../../../core/errors/describe-error.js";
import { type Log, silentLog } from "../../../core/ports/log.js";
import { Turns } from "../../../core/turns.js";
import type {
  CellBatch,
  CellStore,
  CollectOptions,
  CollectReport,
  FormatChange,
  KeyRecords,
  Pin,
  RootRecord,
} from "../cell-store.js";
import { checkHash, checkOpen, checkOwner, withStoreErrors } from "../checks.js";
import { makeFolder } from "../embedded/make-folder.js";
import { createPins } from "../live-batches.js";
import { type HashText, textOfHash } from "../mark.js";
import { checkMode, rootsIn, upgradeMode } from "./bucket-mode.js";
import { createObjectKeys } from "./object-keys.js";
import { type BucketOptions, openBucket } from "./open-bucket.js";
import { createObjectBatch } from "./packs/batch.js";
import { collectObjects, type ObjectCollectParts } from "./packs/collect.js";
import { compactOwner, MANY_SMALL_PACKS, mergeRules, smallPacks } from "./packs/compact.js";
import { openLocalCache } from "./packs/local-cache.js";
import { createPackSource } from "./packs/source.js";
import { createUploads } from "./packs/uploads.js";
import { createOwnerRoots } from "./roots/owner-roots.js";
import { createRootSwap, type RootChange } from "./roots/root-swap.js";
import { createViews, type Views } from "./roots/views.js";

export interface ObjectStoreOptions extends BucketOptions {
  /** A dedicated folder on a local disk for the read cache; may be emptied whenever no store is open. */
  readonly cachePath: string;
  readonly log?: Log | undefined;
  /** Current time in milliseconds since 1970. */
  readonly now?: (() => number) | undefined;
}

/** Maximum size of the read cache in bytes. */
const CACHE_BYTES = 1 << 30;

/**
 * Opens a store in a bucket shared by any number of processes. The bucket must offer conditional puts, and read-after-write
 * and list-after-write consistency. Each owner has one root that all processes swap.
 *
 * @throws STORE_UNAVAILABLE, with advice for the operator, if the bucket cannot be used, or was used in a way that this
 * version does not know
 */
export async function openObjectStore(options: ObjectStoreOptions): Promise<CellStore> {
  const { log = silentLog, now = Date.now, cachePath: folder } = options;
  return withStoreErrors(log, async () => {
    const { client, hasDigests } = await openBucket(options, log);
    makeFolder(folder);
    const cache = openLocalCache(join(folder, "read"), CACHE_BYTES);
    const views = createViews();
    const source = createPackSource({ client, cache, views });
    const uploads = createUploads({ client, source, views, now, log });
    const roots = createOwnerRoots({ client, cache, views, hasDigests });
    try {
      // Fails where an owner's root does not include one of a single venue.
      for await (const { owner, isShared } of rootsIn(client, "roots/")) if (!isShared) await roots.load(owner);
      const format = await checkMode(client);
      const swaps = createRootSwap({ client, roots, uploads, now });
      return new ObjectStore({ client, uploads, now, log, roots, swaps, cache, views, source, folder, format });
    } catch (error) {
      await cache.close();
      throw error;
    }
  });
}

interface Parts
  extends Pick<ObjectCollectParts, "roots" | "source" | "uploads" | "swaps" | "client" | "cache" | "folder" | "now"> {
  readonly views: Views;
  readonly log: Log;
  readonly format: number;
}

class ObjectStore implements CellStore {
  readonly format: number;
  readonly keys: KeyRecords;
  readonly sharesRoots = true;
  readonly #parts: Parts;
  readonly #pins = createPins();
  /** Owners whose short packs are being merged. */
  readonly #merging = new Map<string, Promise<void>>();
  readonly #collections = new Turns();
  #isOpen = true;

  constructor(parts: Parts) {
    this.#parts = parts;
    this.format = parts.format;
    const keys = createObjectKeys(parts.client);
    const open = this.#checkOpen;
    this.keys = {
      list: (did) => this.#run(() => keys.list(did)),
      put: (did, record, options) => this.#run(() => keys.put(did, record, options)),
      async *dids() {
        open();
        yield* keys.dids();
      },
    };
  }

  getMany(hashes: readonly Uint8Array[]): Promise<(Uint8Array | undefined)[]> {
    return this.#run(async () => {
      hashes.forEach(checkHash);
      const cells = await this.#read(new Set(hashes.map(textOfHash)));
      return hashes.map((hash) => cells.get(textOfHash(hash)));
    });
  }

  async #read(wanted: ReadonlySet<HashText>): Promise<ReadonlyMap<HashText, Uint8Array>> {
    const { cache, views, source } = this.#parts;
    const found = new Map<HashText, Uint8Array>();
    const missing = new Set<HashText>();
    for (const text of wanted) {
      const near = views.carried(text) ?? cache.cell(Buffer.from(text, "latin1"));
      if (near === undefined) missing.add(text);
      else found.set(text, near);
    }
    if (missing.size > 0) for (const [text, cell] of await source.read(missing)) found.set(text, cell);
    return found;
  }

  batch(): CellBatch {
    this.#checkOpen();
    const swap = (owner: string, expected: RootRecord | null, change: RootChange) =>
      this.#swap(owner, expected, change);
    const batch = createObjectBatch(this.#parts.uploads.group(), swap);
    return {
      ...batch,
      put: (hash, bytes) => {
        this.#checkOpen();
        const waiting = batch.put(hash, bytes);
        return waiting === undefined ? undefined : this.#run(async () => waiting);
      },
      flush: () => this.#run(batch.flush),
      commit: (...all) => this.#run(() => batch.commit(...all)),
    };
  }

  async #swap(owner: string, expected: RootRecord | null, change: RootChange): Promise<RootRecord | "conflict"> {
    const { swaps, roots } = this.#parts;
    const record = await swaps.swap(owner, expected, change);
    const own = roots.known(owner);
    if (own?.record === record && smallPacks(own.packs).length >= MANY_SMALL_PACKS) this.#merge(owner);
    return record;
  }

  /** Merges an owner's short packs into fewer, in the background. */
  #merge(owner: string): void {
    if (this.#merging.has(owner)) return;
    const { log } = this.#parts;
    const failed = (error: unknown): void =>
      log.warn({ event: "drive.store", error: describeError(error) }, "The drive store could not be tidied");
    const done = compactOwner(owner, { ...this.#parts, checkGoesOn: this.#checkOpen }, mergeRules)
      .catch(failed)
      .finally(() => this.#merging.delete(owner));
    this.#merging.set(owner, done);
  }

  root(owner: string): Promise<RootRecord | undefined> {
    return this.#run(async () => {
      checkOwner(owner);
      return (await this.#parts.roots.load(owner))?.record;
    });
  }

  async *owners(): AsyncIterable<string> {
    this.#checkOpen();
    for await (const owner of this.#parts.client.folders("roots/")) {
      this.#checkOpen();
      if (/^[0-9a-f]{64}$/.test(owner)) yield owner;
    }
  }

  pin(owner: string): Promise<Pin> {
    return this.#run(async () => {
      checkOwner(owner);
      const root = await this.#parts.roots.load(owner);
      return this.#pins.add(root?.record, root && this.#parts.views.add(root));
    });
  }

  /** Collections run one at a time. */
  collect(options: CollectOptions): Promise<CollectReport> {
    const { views, uploads, source } = this.#parts;
    const parts: ObjectCollectParts = {
      ...this.#parts,
      checkGoesOn: this.#checkOpen,
      load: async (wanted) => {
        const leaves = await source.leaves(wanted);
        const cells = await this.#read(new Set([...wanted].filter((text) => !leaves.has(text))));
        const found = new Map<HashText, Uint8Array | "leaf">(cells);
        for (const text of leaves) found.set(text, "leaf");
        return found;
      },
      owners: () => this.owners(),
      pinned: () => this.#pins.roots(),
      isUsed: (packId) => views.has(packId) || uploads.has(packId),
    };
    return this.#run(() => this.#collections.run("", () => collectObjects(parts, options)));
  }

  upgrade(): Promise<FormatChange> {
    return this.#run(() => upgradeMode(this.#parts.client));
  }

  async close(): Promise<void> {
    if (!this.#isOpen) return;
    this.#isOpen = false;
    await this.#collections.run("", async () => undefined);
    await Promise.all(this.#merging.values());
    const { uploads, cache } = this.#parts;
    await uploads.idle();
    await cache.close();
  }

  readonly #checkOpen = (): void => checkOpen(this.#isOpen);

  async #run<T>(act: () => Promise<T>): Promise<T> {
    this.#checkOpen();
    return withStoreErrors(this.#parts.log, act);
  }
}
