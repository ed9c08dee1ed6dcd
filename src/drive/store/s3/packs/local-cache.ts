// Local read cache of the object store.

import { readdirSync, rmSync } from "node:fs";
import { join } from "node:path";
import { attempt } from "../../../../core/io.js";
import { dataFile } from "../../../../database/environment.js";
import { openDatabase } from "../../../../database/shared-database.js";
import { bootId } from "../../../../process/identity.js";
import { sameBytes, sha3 } from "../../../cad3/ref.js";
import { checkIndex, markOpen } from "../../embedded/index-state.js";
import { makeFolder, refuseNetwork } from "../../embedded/make-folder.js";
import { stamped, uint, uintBytes, unstamped } from "../../tables.js";

export type LocalCache = ReturnType<typeof openLocalCache>;

/** Items named by their own hash. */
export type NamedKind = "footer" | "manifest";

const PREFIX = { cell: Buffer.from("c"), footer: Buffer.from("f"), manifest: Buffer.from("m") };
const USED = Buffer.from("used");
const NEXT = Buffer.from("next");
/** Maximum bytes buffered before they are written. */
const MAX_WAITING_BYTES = 1 << 20;
/** Fraction evicted at once when the cache is full. */
const EVICTED_PART = 0.1;
/** Rows evicted per transaction. */
const EVICTED_ROWS = 4096;
const TABLE_NAMES = ["rows", "order", "meta"] as const;

/**
 * Caches on this machine's disk what was read from object storage. Entries may be lost at any time.
 *
 * @param path a dedicated folder, which processes may share
 * @param maxBytes capacity; the oldest entries are evicted first
 */
export function openLocalCache(path: string, maxBytes: number) {
  const folder = join(path, bootId() ?? "boot");
  makeFolder(folder);
  refuseNetwork(path);
  // The cache is never flushed, so only what was written since the machine started is intact.
  for (const name of readdirSync(path)) {
    if (join(path, name) !== folder) rmSync(join(path, name), { recursive: true, force: true });
  }
  const { env, rows, order, meta } = openDatabase(folder, TABLE_NAMES, { flush: false, check: dropDamaged });
  const closed = markOpen(folder);
  const waiting = new Map<string, Buffer>();
  let waitingBytes = 0;
  let timer: NodeJS.Immediate | undefined;

  /** Without room on the disk entries are lost, and no read or change fails. */
  const change = (work: () => void): void => void attempt(() => env.transactionSync(work));
  const numberOf = (key: Buffer): number => uint(meta.get(key) ?? Buffer.alloc(6));
  const drop = (key: Buffer): number => {
    const row = rows.get(key);
    if (row === undefined) return 0;
    order.removeSync(row.subarray(0, 6));
    rows.removeSync(key);
    return row.length;
  };
  /** Only inside a transaction. @returns the remaining bytes */
  const evict = (used: number): number => {
    let left = used;
    if (left <= maxBytes) return left;
    for (const { value } of [...order.getRange({ limit: EVICTED_ROWS })]) {
      if (left <= maxBytes * (1 - EVICTED_PART)) break;
      left -= drop(value);
    }
    return left;
  };
  const write = (): void => {
    if (timer !== undefined) clearImmediate(timer);
    timer = undefined;
    if (waiting.size === 0) return;
    change(() => {
      let [used, next] = [numberOf(USED), numberOf(NEXT)];
      for (const [text, bytes] of waiting) {
        const key = Buffer.from(text, "latin1");
        if (rows.doesExist(key)) continue;
        const row = stamped(next, bytes);
        rows.putSync(key, row);
        order.putSync(uintBytes(next), key);
        next += 1;
        used += row.length;
      }
      meta.putSync(USED, uintBytes(evict(used)));
      meta.putSync(NEXT, uintBytes(next));
    });
    waiting.clear();
    waitingBytes = 0;
  };
  const keep = (key: Buffer, bytes: Uint8Array): void => {
    if (bytes.length > maxBytes) return;
    waiting.set(key.toString("latin1"), Buffer.from(bytes));
    waitingBytes += bytes.length;
    if (waitingBytes >= MAX_WAITING_BYTES) write();
    else timer ??= setImmediate(write);
  };
  const find = (key: Buffer): Buffer | undefined => {
    const near = waiting.get(key.toString("latin1"));
    if (near !== undefined) return near;
    const row = rows.get(key);
    return row === undefined ? undefined : unstamped(row);
  };
  const keyOf = (kind: keyof typeof PREFIX, id: Uint8Array): Buffer => Buffer.concat([PREFIX[kind], id]);

  return {
    cell(hash: Uint8Array): Uint8Array | undefined {
      const bytes = find(keyOf("cell", hash));
      return bytes !== undefined && sameBytes(sha3(bytes), hash) ? bytes : undefined;
    },
    keepCell: (hash: Uint8Array, bytes: Uint8Array): void => keep(keyOf("cell", hash), bytes),
    forget(kind: "cell" | NamedKind, hashes: Iterable<Uint8Array>): void {
      write();
      change(() => {
        let used = numberOf(USED);
        for (const hash of hashes) used -= drop(keyOf(kind, hash));
        meta.putSync(USED, uintBytes(used));
      });
    },
    named: (kind: NamedKind, id: string): Buffer | undefined => find(keyOf(kind, Buffer.from(id, "hex"))),
    keepNamed: (kind: NamedKind, id: string, bytes: Uint8Array): void =>
      keep(keyOf(kind, Buffer.from(id, "hex")), bytes),
    async close(): Promise<void> {
      write();
      await env.close();
      closed();
    },
  };
}

/** Removes damaged tables, so that they are made anew. */
function dropDamaged(folder: string): void {
  try {
    checkIndex(folder, TABLE_NAMES);
  } catch {
    rmSync(dataFile(folder), { force: true });
  }
}
