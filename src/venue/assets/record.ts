// The file format of asset records: a JSON object whose metadata is kept byte for byte.

import { isObject } from "../../core/unknown.js";
import { assetIdOf, canonicalJson } from "./id.js";
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

/** Parses a record file; `undefined` if it is damaged or belongs to another asset. */
export function parseRecord(id: string, text: string): AssetRecord | undefined {
  try {
    const fields: unknown = JSON.parse(text);
    if (!isObject(fields)) return undefined;
    const { registered, owners, metadata } = fields;
    if (!isTime(registered) || !Array.isArray(owners) || !owners.every(isOwner) || !isObject(metadata))
      return undefined;
    const head = headOf({ registered, owners });
    const kept = text.startsWith(head) && text.endsWith(TAIL) ? text.slice(head.length, -TAIL.length) : "";
    // Earlier versions derived the id from canonical JSON and kept another text.
    const json = assetIdOf(kept) === id ? kept : canonicalJson(metadata);
    const parsed = parseMetadata(metadata, json);
    return parsed.id === id ? { id, json: parsed.json, registered, owners } : undefined;
  } catch {
    return undefined;
  }
}

const isTime = (value: unknown): value is number => typeof value === "number" && Number.isFinite(value);

const isOwner = (value: unknown): value is AssetOwner =>
  isObject(value) && typeof value["did"] === "string" && isTime(value["at"]);
