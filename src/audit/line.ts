// Decodes the lines of an audit file.

import { isObject } from "../core/unknown.js";
import { type Checkpoint, signedText } from "./chain.js";
import type { AuditRecord } from "./record.js";

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
  try {
    const value: unknown = JSON.parse(text);
    return isObject(value) ? value : undefined;
  } catch {
    return undefined;
  }
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
