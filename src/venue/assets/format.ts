// How assets are written: a record, whose metadata is kept byte for byte, and the other entries of a log.

import { isObject } from "../../core/unknown.js";
import { parseMetadata } from "./metadata.js";
import type { AssetOwner, AssetRecord } from "./store.js";

/** A record as the pieces of its file. */
export function formatRecord(record: AssetRecord): Uint8Array[] {
  return [Buffer.from(headOf(record), "utf8"), record.json, Buffer.from(TAIL, "utf8")];
}

const TAIL = "}\n";

/** The text before the metadata. */
const headOf = ({ registered, owners }: Pick<AssetRecord, "registered" | "owners">): string =>
  `{"registered":${registered},"owners":${JSON.stringify(owners)},"metadata":`;

/** Parses a record file; `undefined` if it is damaged. */
export function parseRecord(text: string): AssetRecord | undefined {
  try {
    const fields: unknown = JSON.parse(text);
    if (!isObject(fields)) return undefined;
    const { registered, owners, metadata } = fields;
    if (!isTime(registered) || !Array.isArray(owners) || !owners.every(isOwner) || !isObject(metadata))
      return undefined;
    const head = headOf({ registered, owners });
    if (!text.startsWith(head) || !text.endsWith(TAIL)) return undefined;
    return { ...parseMetadata(metadata, text.slice(head.length, -TAIL.length)), registered, owners };
  } catch {
    return undefined;
  }
}

const isTime = (value: unknown): value is number => typeof value === "number" && Number.isFinite(value);

const isOwner = (value: unknown): value is AssetOwner =>
  isObject(value) && typeof value["did"] === "string" && isTime(value["at"]);

/** An entry of a log: an asset, a further owner of one, or content that is stored. */
export type LogEntry =
  | (Pick<AssetRecord, "id" | "owners"> & Partial<AssetRecord>)
  | { readonly sha256: string; readonly size: number };

export const formatEntry = (entry: AssetRecord | LogEntry): Buffer =>
  isRecord(entry) ? Buffer.concat(formatRecord(entry)) : Buffer.from(`${JSON.stringify(entry)}\n`);

const isRecord = (entry: LogEntry): entry is AssetRecord => "json" in entry;

/** `undefined` if it is damaged. */
export function parseEntry(text: string): LogEntry | undefined {
  const record = parseRecord(text);
  if (record !== undefined) return record;
  try {
    const fields: unknown = JSON.parse(text);
    if (!isObject(fields)) return undefined;
    const { id, owners, sha256, size } = fields;
    if (typeof sha256 === "string" && Number.isSafeInteger(size) && Number(size) >= 0)
      return { sha256, size: Number(size) };
    return typeof id === "string" && Array.isArray(owners) && owners.every(isOwner) ? { id, owners } : undefined;
  } catch {
    return undefined;
  }
}
