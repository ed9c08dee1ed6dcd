// The key and DID of a venue: read from a seed, created in a seed file, or made for this process only.

import type { KeyObject } from "node:crypto";
import { ConfigError } from "../../config/errors.js";
import { escapeText } from "../../core/errors/texts.js";
import { type Log, silentLog } from "../../core/ports/log.js";
import { newSeed, parseSeed, signingKeyFromSeed } from "../../ucan/mint/signing-key.js";
import { isOpenToOthers, openSecretFile } from "../start/state/state-dir.js";

/** 64 hex digits and a line ending. */
const MAX_SEED_FILE_BYTES = 66;
const DID_WEB = /^did:web:[A-Za-z0-9._%-]+(?::[A-Za-z0-9._%-]+)*$/;

/** The DID of a venue and the key that proves it. */
export interface Identity {
  /** The venue's DID: its `did:key`, or a `did:web` whose document lists the key. */
  readonly did: string;
  /** `did:key` of the key. */
  readonly keyDid: string;
  /** The multibase part of `keyDid`, after `did:key:`. */
  readonly multikey: string;
  /** 32 bytes, Ed25519. */
  readonly publicKey: Uint8Array;
  readonly privateKey: KeyObject;
}

export interface IdentityOptions {
  /** 64 hex digits. Without this and `seedFile`: a new key. */
  readonly seed?: string | undefined;
  /** File with 64 hex digits; created if missing. */
  readonly seedFile?: string | undefined;
  /** `did:web:…`, or the key's `did:key`. Default: the latter. */
  readonly did?: string | undefined;
  readonly log?: Log;
}

/**
 * Creates or reads the key of a venue. A seed file is created atomically with mode 0600, and only once, even when two
 * processes start at the same time.
 *
 * @throws ConfigError 66 when the seed file cannot be read or created, 78 for an invalid value; the seed is never shown
 */
export function openIdentity(options: IdentityOptions): Identity {
  const { seed, seedFile, did, log = silentLog } = options;
  if (seed !== undefined && seedFile !== undefined) throw invalid("Only one of 'seed' and 'seedFile' may be set");
  const isLasting = seed !== undefined || seedFile !== undefined;
  const key = signingKeyFromSeed(isLasting ? seedBytes(options, log) : newSeed());
  if (did !== undefined) checkDid({ did, keyDid: key.did, isLasting, log });
  return { ...key, did: did ?? key.did, keyDid: key.did };
}

/** Canonical form of a DID: the `did:key` of the venue's key and the venue's DID are one identity. */
export const canonicalDid = (identity: Pick<Identity, "did" | "keyDid">, did: string): string =>
  did === identity.keyDid ? identity.did : did;

function seedBytes({ seed = "", seedFile }: IdentityOptions, log: Log): Uint8Array {
  const bytes = parseSeed(seedFile === undefined ? seed : readSeed(seedFile, log));
  if (bytes !== undefined) return bytes;
  if (seedFile === undefined) throw invalid("'seed' must be 64 hex digits");
  throw invalid(`'seedFile' must hold 64 hex digits and nothing else: ${escapeText(seedFile)}`);
}

function readSeed(path: string, log: Log): string {
  // Symbolic links are followed: secrets are mounted in containers as links.
  const make = () => `${Buffer.from(newSeed()).toString("hex")}\n`;
  const file = openSecretFile(path, { maxBytes: MAX_SEED_FILE_BYTES, follow: true, make });
  const refuse = (fault: string) => `'seedFile' cannot be used: ${fault}: ${escapeText(path)}`;
  if ("fault" in file) throw new ConfigError([refuse(file.fault)], file.exitStatus);
  if (isOpenToOthers(file.stat, "write")) throw invalid(refuse("others may write it. Make its mode 0600"));
  if (isOpenToOthers(file.stat, "read")) log.warn({}, "Others may read the file of 'seedFile'. Make its mode 0600");
  return file.text.replace(/\r?\n$/, "");
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
