// Stores assets in an S3 bucket, for all instances of a venue at once.

import { randomBytes } from "node:crypto";
import { constants } from "node:fs";
import { open, unlink } from "node:fs/promises";
import { join } from "node:path";
import { setTimeout as delay } from "node:timers/promises";
import { adapterError, FileAdapterError } from "../../core/errors/errors.js";
import type { ByteRange } from "../../core/ports/asset.js";
import type { Log } from "../../core/ports/log.js";
import { storeUnavailable } from "../../drive/store/checks.js";
import { makeFolder } from "../../drive/store/embedded/make-folder.js";
import { requireConditional } from "../../drive/store/s3/bucket-mode.js";
import { inParallel } from "../../drive/store/s3/client/parallel.js";
import type { S3Client } from "../../drive/store/s3/client/s3-client.js";
import { type BucketOptions, openBucket } from "../../drive/store/s3/open-bucket.js";
import { writeBody } from "./files.js";
import { formatEntry, type LogEntry, parseEntry } from "./format.js";
import { type AssetRecord, type AssetStore, StoredSizes } from "./store.js";

const { O_CREAT, O_EXCL, O_NOFOLLOW, O_RDWR } = constants;

const VENUE_KEY = "assets/venue";
const logKey = (number: number): string => `assets/log/${number}`;
const partKey = (sha256: string, part: number): string => `assets/content/${sha256}/${part}`;

/** Of the format, as the keys are. */
const PART_BYTES = 4 << 20;
const MAX_VENUE_BYTES = 16_384;
const MAX_ENTRY_BYTES = 2 << 20;
/** Entries read concurrently, where many are new. */
const READ_TOGETHER = 32;
const UPLOADS_AT_ONCE = 4;
/** How often an entry may find its place taken: each time somebody else has got one. */
const MAX_TRIES = 64;
const RETRY_MS = 50;

export interface AssetBucketOptions extends BucketOptions {
  /** DID of the venue whose assets these are. */
  readonly did: string;
  /** A folder of this process's own for uploads under way; created if missing. */
  readonly folder: string;
  readonly log: Log;
}

/**
 * Keeps assets in a bucket: content in parts by its hash, and a log with an object for each record, each further owner and
 * each content, under numbers without gaps. An entry is put where there is none yet, so whoever adds one has read all
 * before it: all instances have the same assets in the same order, and content is seen once it is whole.
 *
 * @throws STORE_UNAVAILABLE, with advice for the operator
 */
export async function openAssetBucket(options: AssetBucketOptions): Promise<AssetStore> {
  const { did, folder, log } = options;
  const { client } = await openBucket(options, log);
  await requireConditional(client);
  const venue = `1 ${did}\n`;
  await client.putIf(VENUE_KEY, Buffer.from(venue), null);
  const found = await client.get(VENUE_KEY, MAX_VENUE_BYTES);
  if (found?.bytes.toString() !== venue)
    throw storeUnavailable("the bucket has assets of another venue, or of a newer version: set another prefix");
  makeFolder(folder);
  const store = new AssetBucket({ client, folder, log });
  await store.catchUp();
  return store;
}

class AssetBucket extends StoredSizes implements AssetStore {
  readonly #client: S3Client;
  readonly #folder: string;
  readonly #log: Log;
  readonly #records = new Map<string, AssetRecord>();
  /** Records that the assets have not been told of, in the order of the log. */
  readonly #news: AssetRecord[] = [];
  /** Entries of the log that are known. */
  #length = 0;
  #lastAt = Number.NEGATIVE_INFINITY;
  #tail: Promise<unknown> = Promise.resolve();
  #asked: Promise<readonly AssetRecord[]> | undefined;

  constructor({ client, folder, log }: Pick<AssetBucketOptions, "folder" | "log"> & { readonly client: S3Client }) {
    super();
    this.#client = client;
    this.#folder = folder;
    this.#log = log;
  }

  async put(hash: () => string, body: AsyncIterable<Uint8Array>): Promise<void> {
    const content = await spool(this.#folder, body);
    try {
      const sha256 = hash();
      if (this.size(sha256) !== undefined) return;
      await this.#guarded(() => this.#upload(sha256, content));
      const isKnown = () => this.size(sha256) !== undefined;
      await this.#inTurn(() => this.#append(() => ({ sha256, size: content.size }), isKnown));
    } finally {
      await content.close();
    }
  }

  async *open(sha256: string, range?: ByteRange): AsyncGenerator<Uint8Array> {
    const { start, end } = this.bytesOf(sha256, range);
    for (let at = start; at < end; ) {
      const offset = at % PART_BYTES;
      const length = Math.min(PART_BYTES - offset, end - at);
      const key = partKey(sha256, (at - offset) / PART_BYTES);
      const bytes = await this.#guarded(() => this.#client.getRange(key, offset, length));
      if (bytes === undefined) throw new Error("Cannot read content: a part of it is gone from the bucket");
      at += length;
      yield bytes;
    }
  }

  async load(): Promise<readonly AssetRecord[]> {
    this.#news.length = 0;
    return [...this.#records.values()];
  }

  /** Whoever asks before the bucket is asked shares the answer. */
  news(): Promise<readonly AssetRecord[]> {
    this.#asked ??= this.#inTurn(async () => {
      this.#asked = undefined;
      await this.catchUp();
      return this.#news.splice(0);
    });
    return this.#asked;
  }

  save(record: AssetRecord): Promise<readonly AssetRecord[]> {
    const { id } = record;
    const owners = record.owners.slice(-1);
    // Other owners are in the log, as the metadata may be.
    const entry = () => (this.#records.has(id) ? { id, owners } : { ...record, owners });
    const isKnown = () => this.#records.get(id)?.owners.some(({ did }) => did === owners[0]?.did) === true;
    return this.#inTurn(async () => {
      await this.#append(entry, isKnown);
      return this.#news.splice(0);
    });
  }

  async close(): Promise<void> {
    await this.#tail;
  }

  /** One after another, since each goes on where the log ends. */
  #inTurn<T>(work: () => Promise<T>): Promise<T> {
    const done = this.#tail.then(() => this.#guarded(work));
    this.#tail = done.catch(() => undefined);
    return done;
  }

  /** What is wrong with the bucket is for the operator. @throws STORE_UNAVAILABLE, STORE_DAMAGED */
  async #guarded<T>(work: () => Promise<T>): Promise<T> {
    try {
      return await work();
    } catch (error) {
      if (!(error instanceof FileAdapterError)) throw error;
      this.#log.error({ reason: error.message }, "The asset storage failed");
      const fault = error.code === "STORE_UNAVAILABLE" ? "not reachable. Try again later" : "damaged";
      throw adapterError(error.code, `Asset storage is ${fault}`);
    }
  }

  async #upload(sha256: string, { size, read }: Spooled): Promise<void> {
    const parts = Array.from({ length: Math.ceil(size / PART_BYTES) }, (_, index) => index);
    await inParallel(parts, UPLOADS_AT_ONCE, async (part) => {
      const key = partKey(sha256, part);
      const bytes = await read(part * PART_BYTES, Math.min(PART_BYTES, size - part * PART_BYTES));
      const { isDone } = await this.#client.putIf(key, bytes, null);
      if (isDone) return;
      // Refused because it is there, or for another reason, which shows when it is put without a condition.
      const last = await this.#client.getRange(key, bytes.length - 1, 1);
      if (last === undefined) await this.#client.put(key, bytes);
    });
  }

  /** Adds an entry behind all others, which are taken in before it. @param isKnown one of them, or a put whose answer was lost, says it */
  async #append(entry: () => LogEntry, isKnown: () => boolean): Promise<void> {
    for (let tries = 0; !isKnown(); tries += 1) {
      if (tries === MAX_TRIES)
        throw storeUnavailable("the object storage keeps no new records of assets: look at the bucket");
      const bytes = formatEntry(entry());
      const { isDone } = await this.#client.putIf(logKey(this.#length + 1), bytes, null);
      if (isDone) return this.#read(bytes);
      await this.catchUp();
      if (!isKnown()) await delay(Math.random() * RETRY_MS);
    }
  }

  /** Takes in what others have added. */
  async catchUp(): Promise<void> {
    for (let together = 1; ; together = Math.min(together * 2, READ_TOGETHER)) {
      const keys = Array.from({ length: together }, (_, index) => logKey(this.#length + 1 + index));
      const entries = await Promise.all(keys.map((key) => this.#client.get(key, MAX_ENTRY_BYTES)));
      for (const entry of entries) {
        if (entry === undefined) return;
        this.#read(entry.bytes);
      }
    }
  }

  #read(bytes: Buffer): void {
    this.#length += 1;
    const entry = parseEntry(bytes.toString());
    if (entry !== undefined && "sha256" in entry) this.count(entry.sha256, entry.size);
    else if (entry === undefined || !this.#addRecord(entry)) {
      this.#log.warn({ entry: this.#length }, "Ignored a damaged asset record");
    }
  }

  /** Times follow the log, whatever the clocks of the instances say. @returns whether the metadata is known */
  #addRecord(entry: Exclude<LogEntry, { sha256: string }>): boolean {
    const old = this.#records.get(entry.id);
    const { id, json = old?.json, registered = old?.registered } = entry;
    if (json === undefined || registered === undefined) return false;
    const added = entry.owners.filter(({ did }) => old?.owners.some((owner) => owner.did === did) !== true);
    const first = added[0]?.at ?? registered;
    const late = first > this.#lastAt ? 0 : this.#lastAt + 1 - first;
    const owners = added.map(({ did, at }) => ({ did, at: at + late }));
    const record = old ?? { id, json, registered: registered + late, owners: [] };
    const whole = { ...record, owners: [...record.owners, ...owners] };
    if (old === undefined || owners.length > 0) {
      this.#lastAt = Math.max(first + late, whole.registered);
      this.#records.set(id, whole);
      this.#news.push(whole);
    }
    return true;
  }
}

/** The body of an upload on a disk of this machine, until it has come whole and is the right one. */
interface Spooled {
  /** Bytes. */
  readonly size: number;
  read(start: number, length: number): Promise<Buffer>;
  close(): Promise<void>;
}

/** Takes a body in. Its file has no name, so nothing of it outlives the process. @throws the error of the body, or the system's */
async function spool(folder: string, body: AsyncIterable<Uint8Array>): Promise<Spooled> {
  const path = join(folder, randomBytes(16).toString("hex"));
  const handle = await open(path, O_CREAT | O_EXCL | O_RDWR | O_NOFOLLOW, 0o600);
  try {
    await unlink(path);
    const size = await writeBody(handle, body);
    return {
      size,
      async read(start, length) {
        const { buffer, bytesRead } = await handle.read(Buffer.allocUnsafe(length), 0, length, start);
        if (bytesRead < length) throw new Error("Cannot read an upload again: it has become shorter");
        return buffer;
      },
      close: () => handle.close(),
    };
  } catch (error) {
    await handle.close();
    throw error;
  }
}
