import { createHash } from "node:crypto";
import type { KeyRecord, KeyRecords } from "../cell-store.js";
import { checkKeyRecord } from "../checks.js";
import { storeDamaged } from "../store-error.js";
import { inParallel } from "./parallel.js";
import type { S3Client } from "./s3-client.js";

const LENGTH_BYTES = 2;
const MAX_OBJECT_BYTES = 131_072;
/** Keys of one user; each venue that it came from may have brought one. */
const MAX_RECORDS = 256;
/** Records in memory, sealed as they are. */
const MAX_KEPT = 4096;
const PUBLIC_KEY = /^[0-9a-f]{64}$/;
const READS_AT_ONCE = 8;

interface Kept {
  readonly etag: string;
  readonly did: string;
  readonly bytes: Uint8Array;
}

/** Sealed keys as objects `keys/<SHA-256 of the DID>/<public key>`: length of the DID, DID, record. */
export function createObjectKeys(client: S3Client): KeyRecords {
  const kept = new Map<string, Kept>();
  const folderOf = (did: string): string => `keys/${createHash("sha256").update(did).digest("hex")}/`;
  const read = async (key: string, etag: string): Promise<Kept | undefined> => {
    const near = kept.get(key);
    if (near?.etag === etag) return near;
    const found = await client.get(key, MAX_OBJECT_BYTES);
    if (found === undefined) return undefined;
    const record = { etag: found.etag, ...partsOf(found.bytes) };
    kept.set(key, record);
    for (const oldest of kept.keys()) {
      if (kept.size <= MAX_KEPT) break;
      kept.delete(oldest);
    }
    return record;
  };
  const hasOne = async (did: string): Promise<boolean> => {
    const folder = folderOf(did);
    for await (const { key } of client.objects(folder)) if (PUBLIC_KEY.test(key.slice(folder.length))) return true;
    return false;
  };
  return {
    async list(did) {
      const folder = folderOf(did);
      const listed: { key: string; etag: string }[] = [];
      for await (const { key, etag } of client.objects(folder)) {
        if (PUBLIC_KEY.test(key.slice(folder.length)) && listed.length < MAX_RECORDS) listed.push({ key, etag });
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
      if (options?.onlyFirst === true && (await hasOne(did))) return;
      const name = Buffer.from(did);
      const length = Buffer.alloc(LENGTH_BYTES);
      length.writeUInt16BE(name.length);
      await client.put(`${folderOf(did)}${publicKey}`, Buffer.concat([length, name, bytes]));
    },
    async *dids() {
      let before = "";
      for await (const { key, etag } of client.objects("keys/")) {
        const [, user = "", publicKey = ""] = key.split("/");
        // Those of one user stand together.
        if (!PUBLIC_KEY.test(publicKey) || user === before) continue;
        before = user;
        const record = await read(key, etag);
        if (record !== undefined) yield record.did;
      }
    },
  };
}

function partsOf(object: Buffer): { did: string; bytes: Buffer } {
  const end = LENGTH_BYTES + (object.length < LENGTH_BYTES ? object.length : object.readUInt16BE());
  if (end > object.length) throw storeDamaged("a key is cut off");
  return { did: object.toString("utf8", LENGTH_BYTES, end), bytes: object.subarray(end) };
}
