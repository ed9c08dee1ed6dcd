// Signing keys of drive owners, sealed at rest with the venue key.

import { type KeyObject, randomBytes } from "node:crypto";
import type { Clock } from "../../core/clock.js";
import { adapterError } from "../../core/errors/errors.js";
import type { JsonObject } from "../../core/ports/adapter.js";
import { fieldsOf } from "../../core/unknown.js";
import { asBuffer, toHex } from "../cad3/ref.js";
import { createSigner, keysOfSeed, type Signed } from "../cad3/signed.js";
import type { Value } from "../cad3/value.js";
import { driveError } from "../error.js";
import { createLru } from "../lru.js";
import type { KeyRecord, KeyRecords } from "../store/cell-store.js";
import { createSealer, type Sealed } from "./seal.js";

/** The key that signs the drives of one owner; used for nothing else. */
export interface OwnerKey {
  /** 64 hex digits. */
  readonly publicKey: string;
  sign(drives: Value): Signed;
}

/** The keys of all owners, sealed in the store. */
export interface OwnerKeys {
  /** Public keys of an owner, active key first. @throws STORE_DAMAGED */
  accounts(did: string): Promise<readonly string[]>;
  /**
   * The active key; `undefined` if the owner has none.
   * @throws READ_ONLY_ROOT if it cannot be opened; a new key is never made in its place
   */
  active(did: string): Promise<OwnerKey | undefined>;
  /** The active key, created if the owner has none. Errors as for `active`. */
  create(did: string): Promise<OwnerKey>;
  /** The seed of the active key, 32 bytes: its holder can sign drives for ever. @throws NOT_FOUND, READ_ONLY_ROOT */
  export(did: string): Promise<Buffer>;
  /** Adds a key. @param seed 32 bytes @returns its public key @throws RangeError */
  import(did: string, seed: Uint8Array): Promise<string>;
  /** Re-seals all keys with another venue key; can be restarted. */
  reseal(venueKey: KeyObject | Uint8Array): Promise<ResealReport>;
}

export interface ResealReport {
  readonly resealed: number;
  /** Keys already sealed with the new venue key. */
  readonly done: number;
  /** Keys that neither venue key opens; they are left unchanged. */
  readonly failed: number;
}

export interface OwnerKeysOptions {
  readonly records: KeyRecords;
  /** The venue's secret: an Ed25519 private key, a secret key, or its bytes. */
  readonly venueKey: KeyObject | Uint8Array;
  readonly clock: Clock;
}

const SEED_BYTES = 32;
/** Maximum keys of one owner. */
const MAX_KEYS = 64;
/** Maximum owners whose key is kept open. */
const MAX_OPENED = 100;

export function createOwnerKeys({ records, venueKey, clock }: OwnerKeysOptions): OwnerKeys {
  const sealer = createSealer(venueKey);
  /** By owner. One is good only for the record that it was opened from. */
  const signers = createLru<{ readonly sealed: Buffer; readonly publicKey: string; readonly sign: OwnerKey["sign"] }>(
    MAX_OPENED,
  );

  const sorted = async (did: string): Promise<SealedKey[]> => {
    const keys = (await records.list(did)).map((record) => decodeRecord(did, record));
    return keys.sort(compareKeys);
  };
  const openSeed = (key: SealedKey): Buffer => {
    const seed = sealer.open(key, key);
    if (seed === undefined) throw cannotOpen();
    return seed;
  };
  /** Opening a key is slower than the rest of a small change. */
  const signerFor = (key: SealedKey): OwnerKey["sign"] => {
    const { did, publicKey, sealed } = key;
    const known = signers.get(did);
    if (known?.publicKey === publicKey && known.sealed.equals(sealed)) return known.sign;
    const seed = openSeed(key);
    try {
      const sign = createSigner(seed);
      signers.set(did, { sealed, publicKey, sign });
      return sign;
    } finally {
      seed.fill(0);
    }
  };
  const active = async (did: string): Promise<OwnerKey | undefined> => {
    const [key] = await sorted(did);
    if (key === undefined) return undefined;
    // Fails here, before the key is used for anything.
    return { publicKey: key.publicKey, sign: signerFor(key) };
  };
  const add = async (did: string, seed: Uint8Array, options?: { readonly onlyFirst: boolean }): Promise<string> => {
    const publicKey = publicKeyOf(seed);
    const present = await sorted(did);
    if (present.some((key) => key.publicKey === publicKey)) return publicKey;
    if (present.length >= MAX_KEYS) throw driveError("LIMIT", `An owner has at most ${MAX_KEYS} keys`);
    const about = { did, publicKey };
    const key: SealedKey = { ...about, createdAt: clock.nowMs(), ...sealer.seal(seed, about) };
    await records.put(did, { publicKey, bytes: encodeRecord(key) }, options);
    return publicKey;
  };

  return {
    accounts: async (did) => (await sorted(did)).map(({ publicKey }) => publicKey),
    active,
    async create(did) {
      const present = await active(did);
      if (present !== undefined) return present;
      const seed = randomBytes(SEED_BYTES);
      try {
        // `onlyFirst`: with two keys, the first changes of two processes would be merged instead of one being retried.
        await add(did, seed, { onlyFirst: true });
      } finally {
        seed.fill(0);
      }
      // Another process may have created a key at the same time.
      const made = await active(did);
      if (made === undefined) throw adapterError("STORE_UNAVAILABLE", "Drive store does not keep the key of the owner");
      return made;
    },
    async export(did) {
      const [key] = await sorted(did);
      if (key === undefined) throw driveError("NOT_FOUND", "The owner has no key yet");
      return openSeed(key);
    },
    async import(did, seed) {
      if (seed.length !== SEED_BYTES) throw new RangeError(`A seed has ${SEED_BYTES} bytes, not ${seed.length}`);
      return add(did, seed);
    },
    async reseal(next) {
      const report = { resealed: 0, done: 0, failed: 0 };
      const nextSealer = createSealer(next);
      for await (const did of records.dids()) {
        for (const record of await records.list(did)) {
          const key = decodeRecord(did, record);
          const seed = sealer.open(key, key);
          if (seed === undefined) {
            const already = nextSealer.open(key, key);
            report[already === undefined ? "failed" : "done"] += 1;
            already?.fill(0);
            continue;
          }
          const sealed = encodeRecord({ ...key, ...nextSealer.seal(seed, key) });
          seed.fill(0);
          await records.put(did, { publicKey: key.publicKey, bytes: sealed });
          report.resealed += 1;
        }
      }
      return report;
    },
  };
}

/** The active key is the first by (createdAt, publicKey), so that all processes choose the same one. */
const compareKeys = (one: SealedKey, other: SealedKey): number =>
  one.createdAt - other.createdAt || (one.publicKey < other.publicKey ? -1 : 1);

/** The active key of an owner, public key and seed in hex. Errors as for {@link OwnerKeys.export}. */
export async function exportInHex(did: string, keys: OwnerKeys): Promise<{ publicKey: string; seed: string }> {
  const seed = await keys.export(did);
  try {
    return { publicKey: publicKeyOf(seed), seed: toHex(seed) };
  } finally {
    seed.fill(0);
  }
}

const publicKeyOf = (seed: Uint8Array): string => toHex(keysOfSeed(seed).publicKey);

const cannotOpen = (): Error =>
  adapterError(
    "READ_ONLY_ROOT",
    "The drives cannot be changed: the key that signs them was sealed with another key of this venue",
  );

// Stored form of an owner's sealed key.

/** A sealed key as stored: JSON `{ v: 1, did, publicKey, createdAt, nonce, sealed }`, with byte fields in base64. */
interface SealedKey extends Sealed {
  readonly did: string;
  /** 64 hex digits. */
  readonly publicKey: string;
  /** Milliseconds since the epoch. */
  readonly createdAt: number;
}

const VERSION = 1;

function encodeRecord({ did, publicKey, createdAt, nonce, sealed }: SealedKey): Uint8Array {
  const record = { v: VERSION, did, publicKey, createdAt, nonce: toText(nonce), sealed: toText(sealed) };
  return Buffer.from(JSON.stringify(record), "utf8");
}

const toText = (bytes: Buffer): string => bytes.toString("base64");

/** @throws STORE_DAMAGED if it is not a record of this owner and key */
function decodeRecord(did: string, { publicKey, bytes }: KeyRecord): SealedKey {
  const fields = parseFields(bytes);
  const { v, createdAt, nonce, sealed } = fields;
  const isOurs = v === VERSION && fields["did"] === did && fields["publicKey"] === publicKey;
  if (!isOurs || typeof createdAt !== "number" || typeof nonce !== "string" || typeof sealed !== "string") {
    throw adapterError("STORE_DAMAGED", "Drive store is damaged: the key of an owner cannot be read");
  }
  return { did, publicKey, createdAt, nonce: Buffer.from(nonce, "base64"), sealed: Buffer.from(sealed, "base64") };
}

function parseFields(bytes: Uint8Array): JsonObject {
  try {
    return fieldsOf(JSON.parse(asBuffer(bytes).toString("utf8")));
  } catch {
    return {};
  }
}
