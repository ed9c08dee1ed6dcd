// The cell store in an S3 bucket: packs of cells, root objects, garbage collection and compaction.

import { describeError } from "../../../core/errors/describe-error.js";
import { FileAdapterError } from "../../../core/errors/errors.js";
import type { Log } from "../../../core/ports/log.js";
import type {
  CellBatch,
  CellStore,
  CollectOptions,
  CollectReport,
  FormatChange,
  KeyRecords,
  Pin,
  RootHint,
  RootRecord,
} from "../cell-store.js";
import { checkHash, checkOpen, checkOwner, checkRoot, storeUnavailable } from "../checks.js";
import { createPins } from "../live-batches.js";
import { type HashText, textOfHash } from "../mark.js";
import { upgradeMode } from "./bucket-mode.js";
import { createObjectKeys } from "./object-keys.js";
import { createObjectBatch } from "./packs/batch.js";
import { collectObjects, type ObjectCollectParts } from "./packs/collect.js";
import { type CompactParts, compactOwner, MANY_SMALL_PACKS, mergeRules, smallPacks } from "./packs/compact.js";
import type { RootChange } from "./roots/root-swap.js";
import type { Views } from "./roots/views.js";

export interface ObjectStoreParts
  extends Pick<ObjectCollectParts, "roots" | "source" | "uploads" | "swaps" | "client" | "cache" | "folder" | "now"> {
  readonly views: Views;
  readonly log: Log;
  readonly format: number;
}

/** The cell store in object storage, opened by `openObjectStore`. */
export class ObjectStore implements CellStore {
  readonly format: number;
  readonly keys: KeyRecords;
  readonly sharesRoots = true;
  readonly #parts: ObjectStoreParts;
  readonly #pins = createPins();
  readonly #background = new Set<Promise<void>>();
  readonly #merging = new Set<string>();
  #isOpen = true;
  #collecting: Promise<CollectReport> | undefined;

  constructor(parts: ObjectStoreParts) {
    this.#parts = parts;
    this.format = parts.format;
    const keys = createObjectKeys(parts.client);
    const open = (): void => checkOpen(this.#isOpen);
    this.keys = {
      list: (did) => this.#run(() => keys.list(did)),
      put: (did, record, options) => this.#run(() => keys.put(did, record, options)),
      async *dids() {
        open();
        yield* keys.dids();
      },
    };
  }

  async get(hash: Uint8Array): Promise<Uint8Array | undefined> {
    const [found] = await this.getMany([hash]);
    return found;
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
    const open = (): void => checkOpen(this.#isOpen);
    open();
    const swap = (owner: string, expected: RootRecord | null, change: RootChange) =>
      this.#swap(owner, expected, change);
    const batch = createObjectBatch({ uploads: this.#parts.uploads.group(), swap, checkOpen: open });
    return {
      put: (hash, bytes) => {
        const waiting = batch.put(hash, bytes);
        return waiting === undefined ? undefined : this.#run(async () => waiting);
      },
      flush: () => this.#run(() => batch.flush()),
      commit: (...all) => this.#run(() => batch.commit(...all)),
      restart: () => batch.restart?.(),
    };
  }

  async #swap(owner: string, expected: RootRecord | null, change: RootChange): Promise<RootRecord | "conflict"> {
    const { swaps, roots } = this.#parts;
    const record = await swaps.swap(owner, expected, change);
    const own = roots.known(owner);
    if (own?.record === record && smallPacks(own.packs).length >= MANY_SMALL_PACKS) this.#merge(owner);
    return record;
  }

  /** Merges an owner's short packs into fewer. */
  #merge(owner: string): void {
    if (this.#merging.has(owner)) return;
    this.#merging.add(owner);
    this.#runInBackground(async () => {
      try {
        await compactOwner(owner, this.#compactParts(), mergeRules);
      } finally {
        this.#merging.delete(owner);
      }
    });
  }

  #runInBackground(work: () => Promise<void>): void {
    const { log } = this.#parts;
    const failed = (error: unknown): void =>
      log.warn({ event: "drive.store", error: describeError(error) }, "The drive store could not be tidied");
    const done = work()
      .catch(failed)
      .finally(() => this.#background.delete(done));
    this.#background.add(done);
  }

  #compactParts(): CompactParts {
    const { roots, source, uploads, swaps } = this.#parts;
    return { roots, source, uploads, swaps, checkGoesOn: () => checkOpen(this.#isOpen) };
  }

  root(owner: string): Promise<RootRecord | undefined> {
    return this.#run(async () => {
      checkOwner(owner);
      return (await this.#parts.roots.load(owner))?.record;
    });
  }

  swapRoot(
    owner: string,
    expected: RootRecord | null,
    bytes: Uint8Array,
    hint?: RootHint,
  ): Promise<RootRecord | "conflict"> {
    return this.#run(async () => {
      checkOwner(owner);
      checkRoot(bytes);
      const packs = this.#parts.uploads.group().neededBy([bytes]);
      return this.#swap(owner, expected, { ...hint, bytes, packs, cells: new Map() });
    });
  }

  async *owners(): AsyncIterable<string> {
    checkOpen(this.#isOpen);
    for await (const owner of this.#parts.client.folders("roots/")) {
      checkOpen(this.#isOpen);
      if (/^[0-9a-f]{64}$/.test(owner)) yield owner;
    }
  }

  pin(owner: string): Promise<Pin> {
    return this.#run(async () => {
      checkOwner(owner);
      const root = await this.#parts.roots.load(owner);
      const release = root && this.#parts.views.add(root);
      const pin = this.#pins.add(root?.record);
      return {
        root: pin.root,
        release() {
          pin.release();
          release?.();
        },
      };
    });
  }

  /** Collections run one at a time. */
  collect(options: CollectOptions): Promise<CollectReport> {
    const before = this.#collecting?.catch(() => undefined);
    const running = this.#run(async () => {
      await before;
      return collectObjects(this.#collectParts(), options);
    });
    this.#collecting = running;
    return running;
  }

  #collectParts(): ObjectCollectParts {
    const { client, cache, source, views, folder, now } = this.#parts;
    return {
      ...this.#compactParts(),
      ...{ client, cache, folder, now },
      load: async (wanted) => {
        const leaves = await source.leaves(wanted);
        const cells = await this.#read(new Set([...wanted].filter((text) => !leaves.has(text))));
        const found = new Map<HashText, Uint8Array | "leaf">(cells);
        for (const text of leaves) found.set(text, "leaf");
        return found;
      },
      owners: () => this.owners(),
      pinned: () => this.#pins.roots(),
      isUsed: (packId) => views.has(packId) || this.#parts.uploads.has(packId),
    };
  }

  upgrade(): Promise<FormatChange> {
    return this.#run(() => upgradeMode(this.#parts.client));
  }

  async close(): Promise<void> {
    if (!this.#isOpen) return;
    this.#isOpen = false;
    await this.#collecting?.catch(() => undefined);
    await Promise.all(this.#background);
    const { uploads, cache } = this.#parts;
    await uploads.idle();
    await cache.close();
  }

  #run<T>(act: () => Promise<T>): Promise<T> {
    return withStoreErrors(this.#parts.log, async () => {
      checkOpen(this.#isOpen);
      return act();
    });
  }
}

/** @throws STORE_UNAVAILABLE instead of system or library errors, which are logged */
export async function withStoreErrors<T>(log: Log, act: () => Promise<T>): Promise<T> {
  try {
    return await act();
  } catch (error) {
    if (error instanceof FileAdapterError) {
      log.error({ event: "drive.store", reason: error.message }, "The drive store failed");
      throw error;
    }
    if (error instanceof RangeError) throw error;
    log.error({ event: "drive.store", error: describeError(error) }, "The drive store failed");
    throw storeUnavailable("see the log");
  }
}
