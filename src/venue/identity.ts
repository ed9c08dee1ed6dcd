import { createPrivateKey, createPublicKey, type KeyObject, randomBytes } from "node:crypto";
import { ConfigError } from "../config/errors.js";
import { type Log, silentLog } from "../core/log.js";
import { escapeText } from "../core/texts.js";
import { didKeyFromPublicKey, multikeyFromPublicKey } from "../ucan/did-key.js";
import { isOpenToOthers, openSecretFile } from "./state-dir.js";

/** What stands before the 32 bytes of a seed in a PKCS #8 Ed25519 key (RFC 8410). */
const PKCS8_HEADER = Buffer.from("302e020100300506032b657004220420", "hex");
const SEED_BYTES = 32;
const SEED = /^[0-9a-fA-F]{64}$/;
const DID_WEB = /^did:web:[A-Za-z0-9._%-]+(?::[A-Za-z0-9._%-]+)*$/;

/** Who a venue is, and what proves it. */
export interface Identity {
  /** The venue's DID: that of its key, or a `did:web` whose document names the key. */
  readonly did: string;
  /** The `did:key` of the key. */
  readonly keyDid: string;
  /** What follows `did:key:` there. */
  readonly multikey: string;
  /** The 32 bytes. */
  readonly publicKey: Uint8Array;
  readonly privateKey: KeyObject;
}

export interface IdentityOptions {
  /** 64 hex digits. Without this and `seedFile`: a fresh key. */
  readonly seed?: string | undefined;
  /** File with 64 hex digits; made when there is none. */
  readonly seedFile?: string | undefined;
  /** `did:web:…`, or the `did:key` of the key. Absent: the latter. */
  readonly did?: string | undefined;
  readonly log?: Log;
}

/**
 * Makes or finds the key of a venue. A seed file appears whole, mode 0600, and only once, even when two processes
 * start at the same time.
 *
 * @throws ConfigError 66 when the seed file cannot be read or made, 78 when a value is wrong. Never shows a seed
 */
export function openIdentity(options: IdentityOptions): Identity {
  const { seed, seedFile, did, log = silentLog } = options;
  if (seed !== undefined && seedFile !== undefined) throw invalid("Only one of 'seed' and 'seedFile' may be set");
  const isLasting = seed !== undefined || seedFile !== undefined;
  const privateKey = privateKeyOf(isLasting ? seedBytes({ seed, seedFile, log }) : randomBytes(SEED_BYTES));
  const publicKey = rawPublicKey(privateKey);
  const keyDid = didKeyFromPublicKey(publicKey);
  if (did !== undefined) checkDid({ did, keyDid, isLasting, log });
  return { did: did ?? keyDid, keyDid, multikey: multikeyFromPublicKey(publicKey), publicKey, privateKey };
}

/** The one DID of whoever has several: the `did:key` of the venue's key and the venue's DID are one identity. */
export const canonicalDid = (identity: Pick<Identity, "did" | "keyDid">, did: string): string =>
  did === identity.keyDid ? identity.did : did;

interface SeedSource {
  readonly seed: string | undefined;
  readonly seedFile: string | undefined;
  readonly log: Log;
}

function seedBytes({ seed, seedFile, log }: SeedSource): Buffer {
  const text = seedFile === undefined ? seed : readSeed(seedFile, log);
  if (text !== undefined && SEED.test(text)) return Buffer.from(text, "hex");
  if (seedFile === undefined) throw invalid("'seed' must be 64 hex digits");
  throw invalid(`'seedFile' must hold 64 hex digits and nothing else: ${escapeText(seedFile)}`);
}

function readSeed(path: string, log: Log): string {
  // A link may lead there: that is how secrets are mounted in containers.
  const make = () => `${randomBytes(SEED_BYTES).toString("hex")}\n`;
  const file = openSecretFile(path, { maxBytes: 2 * SEED_BYTES + 2, follow: true, make });
  const refuse = (fault: string) => `'seedFile' cannot be used: ${fault}: ${escapeText(path)}`;
  if ("fault" in file) throw new ConfigError([refuse(file.fault)], file.exitStatus);
  if (isOpenToOthers(file.stat, "write")) throw invalid(refuse("others may write it. Make its mode 0600"));
  if (isOpenToOthers(file.stat, "read")) log.warn({}, "Others may read the file of 'seedFile'. Make its mode 0600");
  return file.text.replace(/\r?\n$/, "");
}

function privateKeyOf(seed: Buffer): KeyObject {
  return createPrivateKey({ key: Buffer.concat([PKCS8_HEADER, seed]), format: "der", type: "pkcs8" });
}

function rawPublicKey(privateKey: KeyObject): Uint8Array {
  const spki = createPublicKey(privateKey).export({ format: "der", type: "spki" });
  // The key is the tail of it, after a fixed header.
  return new Uint8Array(spki.subarray(-SEED_BYTES));
}

interface DidCheck {
  readonly did: string;
  readonly keyDid: string;
  readonly isLasting: boolean;
  readonly log: Log;
}

function checkDid({ did, keyDid, isLasting, log }: DidCheck): void {
  if (did === keyDid) return;
  if (did.startsWith("did:key:")) {
    const advice = isLasting ? `that is ${keyDid}` : "a fresh key never has it, so set 'seed' or 'seedFile'";
    throw invalid(`'did' is not the did:key of this venue's key: ${advice}`);
  }
  if (!DID_WEB.test(did)) throw invalid("'did' must be a did:web, or the did:key of this venue's key");
  if (!isLasting) log.warn({}, "'did' has a fresh key at each start. Set 'seed' or 'seedFile' to keep one");
}

const invalid = (problem: string): ConfigError => new ConfigError([problem], 78);
