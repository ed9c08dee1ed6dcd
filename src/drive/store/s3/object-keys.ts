// Key records in object storage.

import { createHash } from "node:crypto";
import { createLru } from "../../lru.js";
import type { KeyRecord, KeyRecords } from "../cell-store.js";
import { checkKeyRecord, storeDamaged } from "../checks.js";
import { keyRow, keyRowParts, MAX_KEYS } from "../key-row.js";
import { inParallel } from "./client/parallel.js";
import type { S3Client } from "./client/s3-client.js";

const MAX_OBJECT_BYTES = 131_072;
/** Maximum records cached in memory (sealed). */
const MAX_KEPT = 4096;
const PUBLIC_KEY = /^[0-9a-f]{64}$/;
const READS_AT_ONCE = 8;

interface Kept {
  readonly etag: string;
  readonly did: string;
  readonly bytes: Uint8Array;
}

/**
 * Object that names a user's first key: the public key and, until it is re-sealed, the
 * record to be written.
 */
const FIRST = "first";
const PUBLIC_KEY_BYTES = 32;

/** Sealed keys as objects `keys/<SHA-256 of the DID>/<public key>`: length of the DID, DID, record. */
export function createObjectKeys(client: S3Client): KeyRecords {
  const kept = createLru<Kept>(MAX_KEPT);
  const folderOf = (did: string): string => `keys/${createHash("sha256").update(did).digest("hex")}/`;
  const read = async (key: string, etag: string): Promise<Kept | undefined> => {
    const near = kept.get(key);
    if (near?.etag === etag) return near;
    const found = await client.get(key, MAX_OBJECT_BYTES);
    if (found === undefined) return undefined;
    const record = { etag: found.etag, ...keyRowParts(found.bytes) };
    kept.set(key, record);
    return record;
  };
  const keysIn = async (folder: string): Promise<{ listed: { key: string; etag: string }[]; hasFirst: boolean }> => {
    const listed: { key: string; etag: string }[] = [];
    let hasFirst = false;
    for await (const { key, etag } of client.objects(folder)) {
      const name = key.slice(folder.length);
      if (PUBLIC_KEY.test(name) && listed.length < MAX_KEYS) listed.push({ key, etag });
      hasFirst ||= name === FIRST;
    }
    return { listed, hasFirst };
  };
  /** Completes the creation of a first key; any process may, since the one that started it may be gone. */
  const keepFirst = async (folder: string): Promise<void> => {
    const found = await client.get(`${folder}${FIRST}`, MAX_OBJECT_BYTES);
    const publicKey = found?.bytes.toString("hex", 0, PUBLIC_KEY_BYTES) ?? "";
    if (!PUBLIC_KEY.test(publicKey)) throw storeDamaged("a key is cut off");
    const object = found?.bytes.subarray(PUBLIC_KEY_BYTES) ?? Buffer.alloc(0);
    if (object.length > 0) await client.putIf(`${folder}${publicKey}`, object, null);
  };
  /** Removes the copy of a key sealed with a superseded venue key. */
  const replaceFirst = async (folder: string, publicKey: string): Promise<void> => {
    if (!(await keysIn(folder)).hasFirst) return;
    const found = await client.get(`${folder}${FIRST}`, MAX_OBJECT_BYTES);
    const isThis = found?.bytes.toString("hex", 0, PUBLIC_KEY_BYTES) === publicKey;
    if (isThis) await client.put(`${folder}${FIRST}`, Buffer.from(publicKey, "hex"));
  };
  return {
    async list(did) {
      const folder = folderOf(did);
      let { listed, hasFirst } = await keysIn(folder);
      if (hasFirst && listed.length === 0) {
        await keepFirst(folder);
        listed = (await keysIn(folder)).listed;
      }
      const found = await inParallel(listed, READS_AT_ONCE, async ({ key, etag }): Promise<KeyRecord[]> => {
        const record = await read(key, etag);
        if (record === undefined) return [];
        if (record.did !== did) throw storeDamaged("a key is another user's");
        return [{ publicKey: key.slice(folder.length), bytes: record.bytes }];
      });
      return found.flat();
    },
    async put(did, { publicKey, bytes }, options) {
      checkKeyRecord(did, publicKey, bytes);
      const folder = folderOf(did);
      if (options?.onlyFirst === true && (await keysIn(folder)).listed.length > 0) return;
      const object = keyRow(did, bytes);
      if (options?.onlyFirst !== true) {
        await client.put(`${folder}${publicKey}`, object);
        return replaceFirst(folder, publicKey);
      }
      const first = Buffer.concat([Buffer.from(publicKey, "hex"), object]);
      const { isDone } = await client.putIf(`${folder}${FIRST}`, first, null);
      if (isDone) await client.putIf(`${folder}${publicKey}`, object, null);
      else await keepFirst(folder);
    },
    async *dids() {
      let before = "";
      for await (const { key, etag } of client.objects("keys/")) {
        const [, user = "", publicKey = ""] = key.split("/");
        // Keys of one user are adjacent in a listing.
        if (!PUBLIC_KEY.test(publicKey) || user === before) continue;
        before = user;
        const record = await read(key, etag);
        if (record !== undefined) yield record.did;
      }
    },
  };
}
