// The assets of a venue: registration, lists, and content, within the limits on size, number and who may write.

import { createHash } from "node:crypto";
import type { Caller } from "../../core/call/caller.js";
import type { Page, Paged } from "../../core/call/page.js";
import type { Clock } from "../../core/clock.js";
import type { AssetContent, JsonObject, ResolveAsset } from "../../core/ports/adapter.js";
import { AssetError, type Assets, type ByteRange, type OwnAsset, type StoredContent } from "../../core/ports/asset.js";
import type { Log } from "../../core/ports/log.js";
import { Turns } from "../../core/turns.js";
import { errnoOf } from "../../jail/sys.js";
import { canonicalJson, isAssetReference, parseAssetReference } from "./id.js";
import { contentOf, parseMetadata, readMetadata } from "./metadata.js";
import { AssetRegistry, costOf, ownerCost } from "./registry.js";
import type { AssetRecord, AssetStore } from "./store.js";

/** Maximum bytes of metadata in total: it stays in memory even when content is stored in files. */
const MAX_METADATA_TOTAL_BYTES = 268_435_456;
/** Maximum owners of one asset: each additional owner rewrites the whole record. */
const MAX_OWNERS = 10_000;

/** Names content by its hash, without an asset. */
const HASH = /^sha256:([0-9a-f]{64})$/;
const NO_ROOM = new Set(["ENOSPC", "EDQUOT"]);

export interface AssetsOptions {
  /** DID of the venue. */
  readonly did: string;
  /** Closed with the assets. */
  readonly store: AssetStore;
  /** The callers that may register and upload. */
  readonly write: "public" | "operator";
  /** Maximum bytes of metadata and content together, uploads in progress included. */
  readonly maxTotalBytes: number;
  /** Maximum bytes of one content. */
  readonly maxContentSize: number;
  readonly clock: Clock;
  readonly log: Log;
}

interface Verification {
  /** Hash that the content must have. */
  readonly expected?: string | undefined;
  readonly take?: (bytes: number) => void;
  readonly ended?: (sha256: string) => void;
}

/** Opens the assets in a store. @throws the error of the store */
export async function createAssets(options: AssetsOptions): Promise<VenueAssets> {
  const assets = new VenueAssets(options);
  await assets.load();
  return assets;
}

/** The assets of a venue, with what only the venue itself uses. */
export class VenueAssets implements Assets {
  readonly #options: AssetsOptions;
  readonly #store: AssetStore;
  readonly #registry = new AssetRegistry();
  #metadataBytes = 0;
  /** Content on its way into the store. */
  #uploadBytes = 0;
  readonly #turns = new Turns();
  #lastAt = 0;

  constructor(options: AssetsOptions) {
    this.#options = options;
    this.#store = options.store;
  }

  get size(): number {
    return this.#registry.size;
  }

  /** Bytes of metadata and content, counted as `maxTotalBytes` is. */
  get totalBytes(): number {
    return this.#metadataBytes + this.#uploadBytes + this.#store.totalBytes;
  }

  async load(): Promise<void> {
    const records = await this.#store.load();
    for (const record of records) {
      this.#lastAt = Math.max(this.#lastAt, record.registered, ...record.owners.map(({ at }) => at));
    }
    this.#metadataBytes += this.#registry.restore(records);
    const { maxTotalBytes, log } = this.#options;
    if (this.totalBytes > maxTotalBytes) {
      log.warn({ bytes: this.totalBytes, limit: maxTotalBytes }, "The asset storage is over its limit");
    }
  }

  async refresh(reference?: string): Promise<void> {
    if (reference !== undefined) {
      const id = parseAssetReference(reference, this.#options.did);
      if (id === undefined || this.#registry.json(id) !== undefined) return;
    }
    if (this.#store.news !== undefined) this.#takeIn(await this.#store.news());
  }

  /** Registers the asset of an operation; it has no owner and counts against no limit. @returns its id */
  registerOperation(metadata: JsonObject): string {
    const { id, json } = parseMetadata(metadata, canonicalJson(metadata));
    this.#metadataBytes -= this.#registry.addOperation(id, json);
    return id;
  }

  async register(metadata: JsonObject, caller: Caller, given?: string): Promise<string> {
    this.#checkWrite(caller);
    const { id, json } = parseMetadata(metadata, given);
    await this.refresh();
    await this.#turns.run(id, () => this.#addOwner({ id, json, did: caller.did }));
    return id;
  }

  list(page: Page): Paged<string> {
    return this.#registry.list(page);
  }

  listOwn(page: Page, caller: Caller): Paged<OwnAsset> {
    return this.#registry.listOwn(page, caller.did);
  }

  metadata(reference: string): JsonObject {
    return readMetadata(this.metadataJson(reference));
  }

  metadataJson(reference: string): Buffer {
    const id = parseAssetReference(reference, this.#options.did);
    const json = id === undefined ? undefined : this.#registry.json(id);
    if (json !== undefined) return json;
    throw new AssetError(isAssetReference(reference) ? "not_found" : "invalid_id");
  }

  async putContent(reference: string, body: AsyncIterable<Uint8Array>, caller: Caller): Promise<string> {
    this.#checkWrite(caller);
    await this.refresh(reference);
    const expected = contentOf(this.metadata(reference))?.sha256;
    if (expected === undefined) throw new AssetError("no_content_object");
    if ((await this.#sizeOf(expected)) === undefined) await this.#upload(body, expected);
    // Already stored: nothing is written, but a body with another hash must still be refused.
    else for await (const _ of this.#verified(body, { expected }));
    return expected;
  }

  async store(...[content, about, caller]: Parameters<Assets["store"]>): Promise<string> {
    this.#checkWrite(caller);
    await this.refresh();
    const sha256 = await this.#upload(content);
    return this.register({ name: about.fileName, content: { sha256, ...about } }, caller);
  }

  async content(reference: string): Promise<StoredContent> {
    await this.refresh(reference);
    const content = contentOf(this.metadata(reference));
    const size = content && (await this.#sizeOf(content.sha256));
    if (content === undefined || size === undefined) throw new AssetError("no_content");
    return { ...content, size, open: (range) => this.#store.open(content.sha256, range) };
  }

  readonly resolve: ResolveAsset = async (reference, signal): Promise<AssetContent | undefined> => {
    await this.refresh(reference);
    const hash = HASH.exec(reference)?.[1];
    const id = hash === undefined ? parseAssetReference(reference, this.#options.did) : undefined;
    const json = id === undefined ? undefined : this.#registry.json(id);
    if (json === undefined && hash === undefined) return undefined;
    const { sha256 = hash, contentType } = (json && contentOf(readMetadata(json))) ?? {};
    const size = sha256 === undefined ? undefined : await this.#sizeOf(sha256);
    if (sha256 === undefined || size === undefined) return hash === undefined ? { content: null } : undefined;
    const read = (range: ByteRange) => this.#store.open(sha256, range);
    return { content: stopOnAbort(this.#store.open(sha256), signal), sha256, contentType, stored: { size, read } };
  };

  close(): Promise<void> {
    return this.#store.close();
  }

  /** Size of content, also where another instance has just stored it. */
  async #sizeOf(sha256: string): Promise<number | undefined> {
    if (this.#store.size(sha256) === undefined) await this.refresh();
    return this.#store.size(sha256);
  }

  #takeIn(records: readonly AssetRecord[]): void {
    for (const record of records) this.#metadataBytes += this.#registry.put(record);
  }

  #checkWrite(caller: Caller): void {
    if (this.#options.write === "operator" && !caller.isOperator) throw new AssetError("forbidden");
  }

  async #addOwner({ id, json, did }: { id: string; json: Buffer; did: string }): Promise<void> {
    if (this.#registry.isOperation(id) || this.#registry.isOwner(id, did)) return;
    const at = Math.max(this.#lastAt + 1, this.#options.clock.nowMs());
    this.#lastAt = at;
    const old = this.#registry.record(id);
    const record = { id, json, registered: at, ...old, owners: [...(old?.owners ?? []), { did, at }] };
    const bytes = old === undefined ? costOf(record) : ownerCost(did);
    const isFull = this.#metadataBytes + bytes > MAX_METADATA_TOTAL_BYTES || !this.#hasRoomFor(bytes);
    if (isFull || record.owners.length > MAX_OWNERS) throw new AssetError("full");
    this.#metadataBytes += bytes;
    try {
      this.#takeIn(await this.#store.save(record));
    } catch (error) {
      throw toAssetError(error);
    } finally {
      this.#metadataBytes -= bytes;
    }
  }

  /** @returns the hash of the body */
  async #upload(body: AsyncIterable<Uint8Array>, expected?: string): Promise<string> {
    let taken = 0;
    let sha256 = expected ?? "";
    const take = (bytes: number) => {
      if (!this.#hasRoomFor(bytes)) throw new AssetError("full");
      this.#uploadBytes += bytes;
      taken += bytes;
    };
    try {
      const ended = (found: string) => {
        sha256 = found;
      };
      await this.#store.put(() => sha256, this.#verified(body, { expected, take, ended }));
      return sha256;
    } catch (error) {
      throw toAssetError(error);
    } finally {
      // What is stored the store counts, once for all uploads of the same content.
      this.#uploadBytes -= taken;
    }
  }

  /** Passes chunks on within the limits; throws at the end if the hash does not match. @param how.ended told the hash */
  async *#verified(
    body: AsyncIterable<Uint8Array>,
    { expected, take, ended }: Verification,
  ): AsyncGenerator<Uint8Array> {
    const limit = this.#options.maxContentSize;
    const hash = createHash("sha256");
    let size = 0;
    for await (const chunk of body) {
      size += chunk.length;
      if (size > limit) throw new AssetError("too_large", { limit });
      take?.(chunk.length);
      hash.update(chunk);
      yield chunk;
    }
    const found = hash.digest("hex");
    if (expected !== undefined && found !== expected) throw new AssetError("hash_mismatch", { expected });
    ended?.(found);
  }

  #hasRoomFor(bytes: number): boolean {
    return this.totalBytes + bytes <= this.#options.maxTotalBytes;
  }
}

/** A full disk is reported as `full`, not as an internal error of the venue. */
function toAssetError(error: unknown): unknown {
  return NO_ROOM.has(errnoOf(error) ?? "") ? new AssetError("full") : error;
}

async function* stopOnAbort(
  content: AsyncIterable<Uint8Array>,
  signal: AbortSignal | undefined,
): AsyncGenerator<Uint8Array> {
  for await (const chunk of content) {
    signal?.throwIfAborted();
    yield chunk;
  }
}
