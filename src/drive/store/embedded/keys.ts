// Key records of the embedded store.

import type { KeyRecord, KeyRecords } from "../cell-store.js";
import { checkKeyRecord } from "../checks.js";
import { didHash, rows, type Tables } from "../tables.js";

const LENGTH_BYTES = 2;
const HASH_BYTES = 32;
const AFTER_ALL_KEYS = Buffer.alloc(HASH_BYTES + 1, 0xff);
/** Maximum keys per user; each venue the user came from may have added one. */
const MAX_RECORDS = 256;

/** Runs a job in a transaction; durable when resolved. */
export type Commit = <T>(job: () => T) => Promise<T>;

export function createEmbeddedKeys({ env, keys }: Tables, commit: Commit): KeyRecords {
  return {
    async list(did) {
      env.resetReadTxn();
      const start = didHash(did);
      const found = [...keys.getRange({ start, end: Buffer.concat([start, AFTER_ALL_KEYS]), limit: MAX_RECORDS })];
      return found.map(
        ({ key, value }): KeyRecord => ({ publicKey: key.toString("hex", HASH_BYTES), ...partsOf(value) }),
      );
    },
    async put(did, { publicKey, bytes }, options) {
      checkKeyRecord(did, publicKey, bytes);
      const start = didHash(did);
      const key = Buffer.concat([start, Buffer.from(publicKey, "hex")]);
      const name = Buffer.from(did);
      const length = Buffer.alloc(LENGTH_BYTES);
      length.writeUInt16BE(name.length);
      const row = Buffer.concat([length, name, bytes]);
      const end = Buffer.concat([start, AFTER_ALL_KEYS]);
      const hasOne = () => options?.onlyFirst === true && [...keys.getKeys({ start, end, limit: 1 })].length > 0;
      await commit(() => void (hasOne() || keys.putSync(key, row)));
    },
    async *dids() {
      let before: string | undefined;
      for (const { value } of rows(keys)) {
        const did = value.toString("utf8", LENGTH_BYTES, LENGTH_BYTES + value.readUInt16BE());
        // Records of one user are adjacent.
        if (did !== before) yield did;
        before = did;
      }
    },
  };
}

const partsOf = (row: Buffer): { bytes: Buffer } => ({ bytes: row.subarray(LENGTH_BYTES + row.readUInt16BE()) });
