import { createHash } from "node:crypto";
import canonicalize from "canonicalize";
import type { JsonObject } from "../../core/ports/adapter.js";

/** Every form a reference may have, whoever's asset it names: [1] the DID, [2] the id. */
const REFERENCE = /^(?:\/?(?:(did:[a-z0-9]+:[^/\s]+)\/)?a\/|0[xX])?([0-9a-fA-F]{64})$/;

/**
 * The id of an asset: hex SHA-256 of its metadata, byte for byte as registered. The one place to change when ids are made
 * otherwise; what has an id of earlier versions must then still be found under it.
 *
 * @param json metadata as JSON text
 */
export const assetIdOf = (json: Uint8Array | string): string => createHash("sha256").update(json).digest("hex");

/**
 * RFC 8785 canonical JSON, of which earlier versions made all ids: assets of theirs are kept in this form, and those of
 * operations, which have no text of their own.
 *
 * @param metadata well-formed JSON, see `parseMetadata`
 */
export const canonicalJson = (metadata: JsonObject): string => canonicalize(metadata) ?? "";

/**
 * Reads a reference to an asset of this venue: `<hex>`, `0x<hex>`, `a/<hex>`, `/a/<hex>` or `<venueDID>/a/<hex>`.
 *
 * @returns the id in lower case; `undefined` for anything else, and for assets of another venue
 */
export function parseAssetReference(reference: string, venueDid: string): string | undefined {
  const [, did = venueDid, id] = REFERENCE.exec(reference) ?? [];
  return did === venueDid ? id?.toLowerCase() : undefined;
}

/** Whether a text has the form of a reference, no matter to which venue. */
export function isAssetReference(text: string): boolean {
  return REFERENCE.test(text);
}
