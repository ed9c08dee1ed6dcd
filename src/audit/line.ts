// Decodes the lines of an audit file.

import { type Checkpoint, signedText } from "./chain.js";
import type { AuditRecord } from "./record.js";

/** What links a line to its chain. */
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
export interface AuditLine extends Partial<AuditRecord> {
  readonly link?: Link;
  readonly checkpoint?: CheckpointBody;
  /** Number of records that were dropped before this line. */
  readonly lost?: number;
}

const SIGNED = /^(.*),"signature":"([A-Za-z0-9_-]{86})"\}$/s;

/** Decodes a line. @returns `undefined` unless it is a JSON object */
export function parseLine(text: string): AuditLine | undefined {
  try {
    const value: unknown = JSON.parse(text);
    if (typeof value !== "object" || value === null || Array.isArray(value)) return undefined;
    const { chain, n, prev }: { chain?: unknown; n?: unknown; prev?: unknown } = value;
    const isLinked =
      typeof chain === "string" && Number.isSafeInteger(n) && (typeof prev === "string" || prev === null);
    return isLinked ? { ...value, link: { chain, n: Number(n), prev } } : value;
  } catch {
    return undefined;
  }
}

/** The signature of a checkpoint line, and the text it is made of. */
export function signatureOf(text: string): { readonly signed: string; readonly signature: string } | undefined {
  const [, line, signature] = SIGNED.exec(text) ?? [];
  return line === undefined || signature === undefined ? undefined : { signed: signedText(line), signature };
}
