// Links the lines of an audit file: each names the SHA-256 of the one before, and signed checkpoints vouch for them.

import { hash, randomBytes } from "node:crypto";
import { attempt } from "../core/io.js";
import { isObject } from "../core/unknown.js";
import type { AuditRecord } from "./record.js";

/** Signs checkpoints. */
export interface AuditSigner {
  /** `did:key` of the key. */
  readonly did: string;
  /** The key ends with the process, so checkpoints prove only that one process wrote the lines. */
  readonly ephemeral: boolean;
  /** Ed25519. @returns the signature in base64url */
  sign(text: string): string;
}

/** A checkpoint, by which other chains and the state directory know how far a chain went. */
export interface Checkpoint {
  readonly chain: string;
  readonly n: number;
  /** Hex SHA-256 of its line. */
  readonly hash: string;
  /** Milliseconds since the epoch. */
  readonly time: number;
}

/** A line ready to be written, with its newline. */
export interface SealedLine {
  readonly text: string;
  /** The checkpoint in the line; it holds once the line is in the file. */
  readonly checkpoint?: Checkpoint & { readonly end: boolean };
}

/** Records between two checkpoints. */
const CHECKPOINT_RECORDS = 1000;
/** Approximate bytes that the chain adds to a record. */
export const CHAIN_BYTES = 128;

/** Hex SHA-256 of a line, without its newline. */
export const hashOfLine = (line: string | Uint8Array): string => hash("sha256", line, "hex");

/** The text that a checkpoint's signature is made of: the line up to the signature. */
const signedText = (line: string): string => `venue-files audit 1\n${line}`;

/** The lines of one process in an audit file, from `n` = 1. */
export class AuditChain {
  /** 16 characters, unique. */
  readonly id = randomBytes(12).toString("base64url");
  readonly #signer: AuditSigner;
  readonly #others: readonly Checkpoint[];
  #n = 0;
  #prev: string | null = null;
  #lost = 0;
  #sinceCheckpoint = 0;

  /** @param others newest checkpoints of other chains of the file, which the first line names */
  constructor(signer: AuditSigner, others: readonly Checkpoint[]) {
    this.#signer = signer;
    this.#others = others;
  }

  /** Whether it has a line. */
  get started(): boolean {
    return this.#n > 0;
  }

  /** Records since the last checkpoint. */
  get unsigned(): number {
    return this.#sinceCheckpoint;
  }

  /** Counts a record that was dropped; the next line says so. */
  countLost(): void {
    this.#lost++;
  }

  /** Adds a record. @param json a JSON object with at least one field @returns its line, after checkpoints due before */
  add(json: string): readonly SealedLine[] {
    if (this.#n > 0 && this.#sinceCheckpoint < CHECKPOINT_RECORDS) return [this.#record(json)];
    return [this.checkpoint(), this.#record(json)];
  }

  /**
   * A signed checkpoint of all lines so far. The first line of a chain is one.
   *
   * @param end whether no line follows
   */
  checkpoint({ end = false }: { readonly end?: boolean } = {}): SealedLine {
    const { did, ephemeral, sign } = this.#signer;
    const time = Date.now();
    const others = this.#n === 0 && this.#others.length > 0 ? { others: this.#others } : {};
    const checkpoint = { did, ...(ephemeral ? { ephemeral } : {}), ...others, ...(end ? { end } : {}) };
    const open = this.#link(JSON.stringify({ time, checkpoint }));
    const line = `${open},"signature":"${sign(signedText(open))}"}`;
    this.#sinceCheckpoint = 0;
    const hash = this.#advance(line);
    return { text: `${line}\n`, checkpoint: { chain: this.id, n: this.#n, hash, time, end } };
  }

  #record(json: string): SealedLine {
    const line = `${this.#link(json)}}`;
    this.#sinceCheckpoint++;
    this.#advance(line);
    return { text: `${line}\n` };
  }

  /** Adds the fields of the chain, without the closing brace. */
  #link(json: string): string {
    const lost = this.#lost === 0 ? "" : `,"lost":${this.#lost}`;
    this.#lost = 0;
    this.#n++;
    const prev = this.#prev === null ? "null" : `"${this.#prev}"`;
    return `${json.slice(0, -1)},"chain":"${this.id}","n":${this.#n},"prev":${prev}${lost}`;
  }

  #advance(line: string): string {
    const hash = hashOfLine(line);
    this.#prev = hash;
    return hash;
  }
}

/** The link of a line to its chain. */
export interface Link {
  readonly chain: string;
  readonly n: number;
  /** Hex SHA-256 of the line before; `null` in the first. */
  readonly prev: string | null;
}

/** The signed part of a checkpoint line. */
export interface CheckpointBody {
  readonly did: string;
  readonly ephemeral?: boolean;
  readonly others?: readonly Checkpoint[];
  readonly end?: boolean;
}

/** A decoded line, as far as it has the parts. */
export interface AuditLine extends JsonLine {
  readonly link: Link | undefined;
}

/** A line as it stands in the file. */
export interface JsonLine extends Partial<AuditRecord> {
  readonly chain?: unknown;
  readonly n?: unknown;
  readonly prev?: unknown;
  readonly checkpoint?: CheckpointBody;
  /** Number of records that were dropped before this line. */
  readonly lost?: number;
}

const SIGNED = /^(.*),"signature":"([A-Za-z0-9_-]{86})"\}$/s;

/** Decodes a line, but for what links it. @returns `undefined` unless it is a JSON object */
export function parseObject(text: string): JsonLine | undefined {
  const value: unknown = attempt(() => JSON.parse(text));
  return isObject(value) ? value : undefined;
}

/** Decodes a line. @returns `undefined` unless it is a JSON object */
export function parseLine(text: string): AuditLine | undefined {
  const value = parseObject(text);
  if (value === undefined) return undefined;
  const { chain, n, prev } = value;
  const isLinked = typeof chain === "string" && Number.isSafeInteger(n) && (typeof prev === "string" || prev === null);
  return { ...value, link: isLinked ? { chain, n: Number(n), prev } : undefined };
}

/** The signature of a checkpoint line, and the text it is made of. */
export function signatureOf(text: string): { readonly signed: string; readonly signature: string } | undefined {
  const [, line, signature] = SIGNED.exec(text) ?? [];
  return line === undefined || signature === undefined ? undefined : { signed: signedText(line), signature };
}
