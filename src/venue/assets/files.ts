// Stores assets in a directory: private, locked against other venues, and consistent after a crash.

import { randomBytes } from "node:crypto";
import { constants } from "node:fs";
import { chmod, type FileHandle, lstat, mkdir, open, readdir, rename, rm, unlink } from "node:fs/promises";
import { basename, dirname, join } from "node:path";
import type { ByteRange } from "../../core/ports/asset.js";
import type { Log } from "../../core/ports/log.js";
import { isLinux, isWindows } from "../../core/system.js";
import { syncDirectory, writeAll } from "../../database/durable-files.js";
import { makeFolder } from "../../drive/store/embedded/make-folder.js";
import { errnoOf } from "../../jail/sys.js";
import { realHostPath } from "../../process/host-path.js";
import { formatRecord, parseRecord } from "./format.js";
import { answerAt, isAnswered } from "./lock.js";
import { type AssetRecord, AssetStorageError, type AssetStore, StoredSizes } from "./store.js";

const CONTENT = "content";
const METADATA = "metadata";
const INCOMING = "incoming";
const FOLDERS = [CONTENT, METADATA, INCOMING];
const LOCK = "lock-";

const { O_CREAT, O_EXCL, O_NOFOLLOW, O_RDONLY, O_WRONLY, O_DIRECTORY, O_NONBLOCK } = constants;
const NEW_FILE = O_CREAT | O_EXCL | O_WRONLY | O_NOFOLLOW;
/** O_NONBLOCK: opening a FIFO must not wait for a writer. */
const OLD_FILE = O_RDONLY | O_NOFOLLOW | O_NONBLOCK;

const READ_BYTES = 262_144;
/** Files read concurrently at start. */
const READ_TOGETHER = 32;

/**
 * Keeps assets in a directory: `content/ab/<sha256>` and `metadata/ab/<id>.json`, each written to `incoming/` first and
 * then renamed into place. Files are readable by the owner only, symbolic links are not followed, and one process uses
 * the directory at a time. There is no protection against other processes of the same user, or against those that may
 * write to a parent directory.
 *
 * @param path absolute; created if missing
 * @throws AssetStorageError when another venue uses the directory, or other users could; otherwise the system's error
 */
export async function openAssetFiles(path: string, log: Log): Promise<AssetStore> {
  makeFolder(path);
  const base = realHostPath(path);
  await makePrivate(base);
  const unlock = await lock(base, log);
  try {
    for (const folder of FOLDERS) await enterFolder(base, folder);
    for (const name of await readdir(join(base, INCOMING))) await rm(join(base, INCOMING, name), { recursive: true });
    return new AssetFiles({ base, log, unlock, sizes: await contentSizes(base) });
  } catch (error) {
    await unlock();
    throw error;
  }
}

class AssetFiles extends StoredSizes implements AssetStore {
  readonly #base: string;
  readonly #log: Log;
  readonly #unlock: () => Promise<void>;

  constructor(options: { base: string; log: Log; unlock: () => Promise<void>; sizes: ReadonlyMap<string, number> }) {
    super();
    this.#base = options.base;
    this.#log = options.log;
    this.#unlock = options.unlock;
    for (const [sha256, size] of options.sizes) this.count(sha256, size);
  }

  async put(hash: () => string, body: AsyncIterable<Uint8Array>): Promise<void> {
    // Concurrent uploads of the same content each rename the same bytes; only the first one counts.
    const size = await this.#place(CONTENT, hash, body);
    this.count(hash(), size);
  }

  async *open(sha256: string, range?: ByteRange): AsyncGenerator<Uint8Array> {
    const { start, end } = this.bytesOf(sha256, range);
    const handle = await withoutPaths(() => open(placeOf(this.#base, CONTENT, sha256), OLD_FILE));
    try {
      for (let at = start; at < end; ) {
        const buffer = Buffer.allocUnsafe(Math.min(READ_BYTES, end - at));
        const { bytesRead } = await withoutPaths(() => handle.read(buffer, 0, buffer.length, at));
        if (bytesRead === 0) throw new Error("Cannot read content: the stored file is too short");
        at += bytesRead;
        yield buffer.subarray(0, bytesRead);
      }
    } finally {
      await handle.close();
    }
  }

  async load(): Promise<readonly AssetRecord[]> {
    const names = (await filesIn(join(this.#base, METADATA))).filter((name) => /^[0-9a-f]{64}\.json$/.test(name));
    const records: AssetRecord[] = [];
    for (let from = 0; from < names.length; from += READ_TOGETHER) {
      const some = await Promise.all(names.slice(from, from + READ_TOGETHER).map((name) => this.#read(name)));
      for (const record of some) if (record !== undefined) records.push(record);
    }
    return records;
  }

  async save(record: AssetRecord): Promise<readonly AssetRecord[]> {
    await this.#place(METADATA, () => `${record.id}.json`, formatRecord(record));
    return [record];
  }

  async close(): Promise<void> {
    await this.#unlock();
  }

  async #read(name: string): Promise<AssetRecord | undefined> {
    const id = basename(name, ".json");
    let reason: string;
    try {
      const handle = await open(placeOf(this.#base, METADATA, name), OLD_FILE);
      try {
        const record = parseRecord(await handle.readFile("utf8"));
        if (record?.id === id) return record;
        reason = "not a record of this asset";
      } finally {
        await handle.close();
      }
    } catch (error) {
      reason = errnoOf(error) ?? "not readable";
    }
    this.#log.warn({ asset: id, reason }, "Ignored a damaged asset record");
    return undefined;
  }

  /** Writes a temporary file, syncs it, and renames it into place. @param nameOf asked once it is written @returns its size in bytes */
  async #place(
    kind: string,
    nameOf: () => string,
    body: AsyncIterable<Uint8Array> | Iterable<Uint8Array>,
  ): Promise<number> {
    const temporary = join(this.#base, INCOMING, randomBytes(16).toString("hex"));
    const handle = await open(temporary, NEW_FILE, 0o600);
    try {
      let size: number;
      try {
        size = await writeBody(handle, body);
        await handle.sync();
      } finally {
        await handle.close();
      }
      const name = nameOf();
      await enterFolder(join(this.#base, kind), name.slice(0, 2));
      const target = placeOf(this.#base, kind, name);
      await rename(temporary, target);
      await syncDirectory(dirname(target), O_RDONLY | O_DIRECTORY | O_NOFOLLOW);
      return size;
    } catch (error) {
      await unlink(temporary).catch(() => {});
      throw error;
    }
  }
}

/** Path of a file; sharded by the first byte, so that no folder grows very large. */
const placeOf = (base: string, kind: string, name: string): string => join(base, kind, name.slice(0, 2), name);

export async function writeBody(
  handle: FileHandle,
  body: AsyncIterable<Uint8Array> | Iterable<Uint8Array>,
): Promise<number> {
  let size = 0;
  for await (const chunk of body) {
    await writeAll(handle, chunk, size);
    size += chunk.length;
  }
  return size;
}

/** Creates a private folder, or checks the existing one and makes it private. */
async function enterFolder(parent: string, name: string): Promise<void> {
  const path = join(parent, name);
  try {
    await mkdir(path, { mode: 0o700 });
    await syncDirectory(parent, O_RDONLY | O_DIRECTORY | O_NOFOLLOW);
  } catch (error) {
    if (errnoOf(error) !== "EEXIST") throw error;
    await makePrivate(path);
  }
}

/** @throws AssetStorageError unless it is a directory of this user that is private or may be made so */
async function makePrivate(path: string): Promise<void> {
  const fault = await whyNotPrivate(path);
  if (fault !== undefined) throw new AssetStorageError(fault);
  if (((await lstat(path)).mode & 0o077) !== 0) await chmod(path, 0o700);
}

/** Why a directory cannot hold assets; `undefined` when it can or does not exist. Creates and changes nothing. */
export async function whyNotStorage(path: string): Promise<string | undefined> {
  try {
    return await whyNotPrivate(realHostPath(path));
  } catch (error) {
    if (errnoOf(error) === "ENOENT") return undefined;
    throw error;
  }
}

async function whyNotPrivate(path: string): Promise<string | undefined> {
  const stat = await lstat(path);
  if (!stat.isDirectory()) return "something else is in place of a directory";
  if (stat.uid !== (process.geteuid?.() ?? stat.uid)) return "the directory belongs to another user";
  if (isWindows() || (stat.mode & 0o077) === 0) return undefined;
  // Other users already use it; removing their access would break them.
  const isShared = (await readdir(path)).some((name) => !isOurs(name));
  return isShared ? "the directory is open to other users and not empty" : undefined;
}

const isOurs = (name: string): boolean =>
  FOLDERS.includes(name) || name.startsWith(LOCK) || /^[0-9a-f]{2}(?:[0-9a-f]{62}(?:\.json)?)?$/.test(name);

/** Locks the directory against other venues until the returned function is called. */
async function lock(base: string, log: Log): Promise<() => Promise<void>> {
  // A socket address is at most 107 bytes; through /proc/self/fd any directory fits.
  const directory = await open(base, O_RDONLY | O_DIRECTORY);
  const at = (name: string) => join(isLinux() ? `/proc/self/fd/${directory.fd}` : base, name);
  const own = LOCK + randomBytes(8).toString("hex");
  const stop = await answerAt(at(own));
  if (stop === undefined) log.warn({}, "The asset storage cannot be locked here; use it from one venue only");
  const unlock = async () => {
    await stop?.();
    await rm(join(base, own), { force: true });
    await directory.close();
  };
  try {
    // Listen first, then check the others: of two that start at once, at least one sees the other.
    for (const name of await readdir(base)) {
      if (!name.startsWith(LOCK) || name === own) continue;
      if (await isAnswered(at(name))) throw new AssetStorageError("another venue uses the directory");
      await rm(join(base, name), { force: true });
    }
  } catch (error) {
    await unlock();
    throw error;
  }
  return unlock;
}

/** Names of the regular files in the shards of a directory; files in a wrong shard are skipped. */
async function filesIn(path: string): Promise<string[]> {
  const names: string[] = [];
  for (const folder of await readdir(path, { withFileTypes: true })) {
    if (!folder.isDirectory()) continue;
    for (const file of await readdir(join(path, folder.name), { withFileTypes: true })) {
      if (file.isFile() && file.name.startsWith(folder.name)) names.push(file.name);
    }
  }
  return names;
}

async function contentSizes(base: string): Promise<Map<string, number>> {
  const sizes = new Map<string, number>();
  for (const name of await filesIn(join(base, CONTENT))) {
    if (/^[0-9a-f]{64}$/.test(name)) sizes.set(name, (await lstat(placeOf(base, CONTENT, name))).size);
  }
  return sizes;
}

/** Hides the errno of a failed read: code that copies content into a file would attribute it to that file. */
async function withoutPaths<T>(call: () => Promise<T>): Promise<T> {
  try {
    return await call();
  } catch (cause) {
    throw new Error("Cannot read content from the asset storage", { cause });
  }
}
