import { createHash } from "node:crypto";
import canonicalize from "canonicalize";
import type { JsonObject } from "../core/adapter.js";

/** Every form a reference may have, whoever's asset it names: [1] the DID, [2] the id. */
const REFERENCE = /^(?:\/?(?:(did:[a-z0-9]+:[^/\s]+)\/)?a\/|0[xX])?([0-9a-fA-F]{64})$/;

/**
 * The id of metadata: hex SHA-256 of its RFC 8785 canonical JSON. The one place to change when ids are made otherwise;
 * {@link isAssetId} must then still accept those made before.
 *
 * @param metadata well-formed JSON, see `parseMetadata`
 */
export function assetIdOf(metadata: JsonObject): string {
  return createHash("sha256")
    .update(canonicalize(metadata) ?? "")
    .digest("hex");
}

/** Whether `id` is, or was in an earlier version, the id of `metadata`. */
export function isAssetId(id: string, metadata: JsonObject): boolean {
  return assetIdOf(metadata) === id;
}

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
