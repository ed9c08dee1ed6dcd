import { isAssetId } from "./asset-id.js";
import { isObject, parseMetadata } from "./asset-metadata.js";
import type { AssetOwner, AssetRecord } from "./asset-store.js";

/** A record as the text of a file, in pieces. */
export function formatRecord({ registered, owners, json }: AssetRecord): Uint8Array[] {
  const head = `{"registered":${registered},"owners":${JSON.stringify(owners)},"metadata":`;
  return [Buffer.from(head, "utf8"), json, Buffer.from("}\n", "utf8")];
}

/** Reads a record back. `undefined`: damaged, or that of another asset. */
export function parseRecord(id: string, text: string): AssetRecord | undefined {
  try {
    const fields: unknown = JSON.parse(text);
    if (!isObject(fields)) return undefined;
    const { registered, owners, metadata } = fields;
    if (!isTime(registered) || !Array.isArray(owners) || !owners.every(isOwner) || !isObject(metadata))
      return undefined;
    const parsed = parseMetadata(metadata);
    if (parsed.id !== id && !isAssetId(id, metadata)) return undefined;
    return { id, json: parsed.json, registered, owners };
  } catch {
    return undefined;
  }
}

const isTime = (value: unknown): value is number => typeof value === "number" && Number.isFinite(value);

const isOwner = (value: unknown): value is AssetOwner =>
  isObject(value) && typeof value["did"] === "string" && isTime(value["at"]);
