// Asset ids and references: an id is the hash of the metadata.

import { createHash } from "node:crypto";
import canonicalize from "canonicalize";
import type { JsonObject } from "../../core/ports/adapter.js";

/** All forms of an asset reference, of this or another venue: [1] the DID, [2] the id. */
const REFERENCE = /^(?:\/?(?:(did:[a-z0-9]+:[^/\s]+)\/)?a\/|0[xX])?([0-9a-fA-F]{64})$/;

/**
 * The id of an asset: hex SHA-256 of its metadata, byte for byte as registered.
 *
 * @param json metadata as JSON text
 */
export const assetIdOf = (json: Uint8Array | string): string => createHash("sha256").update(json).digest("hex");

/**
 * RFC 8785 canonical JSON, for the assets of operations, which have no registered text.
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

/** Whether a text has the form of an asset reference, of this or another venue. */
export function isAssetReference(text: string): boolean {
  return REFERENCE.test(text);
}
