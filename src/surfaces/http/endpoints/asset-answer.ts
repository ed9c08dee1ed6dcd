// Maps the faults of assets to HTTP errors.

import { AssetError } from "../../../core/ports/asset.js";
import { badRequest, echo, HttpError } from "../plumbing/http-error.js";

/** Calls the assets, turning an AssetError into the HttpError of the endpoint. @throws HttpError */
export async function askAssets<T>(reference: string, ask: () => T | Promise<T>): Promise<T> {
  try {
    return await ask();
  } catch (error) {
    throw error instanceof AssetError ? refusalOf(error, echo(reference)) : error;
  }
}

function refusalOf({ fault, data }: AssetError, reference: string): HttpError {
  switch (fault) {
    case "invalid_id":
      return badRequest(`Invalid asset ID: ${reference}`);
    case "invalid_metadata":
      return badRequest(`Invalid asset metadata: ${data.reason}`);
    case "hash_mismatch":
      return badRequest(`Cannot PUT asset content: Content hash mismatch. Expected: ${data.expected}`);
    case "forbidden":
      return new HttpError(403, "Only the operator may register assets and upload content");
    case "not_found":
      return new HttpError(404, `Asset not found: ${reference}`);
    case "no_content_object":
      return new HttpError(404, "Asset metadata does not specify content object");
    case "no_content":
      return new HttpError(404, `Asset has no content: ${reference}`);
    case "too_large":
      return tooLarge(data.size, data.limit);
    case "full":
      return new HttpError(507, "Asset storage is full");
  }
}

function tooLarge(size: number | undefined, limit: number | undefined): HttpError {
  if (size === undefined) return new HttpError(413, `Asset content too large: limit ${limit} bytes`);
  return new HttpError(413, `Asset metadata too large: ${size} bytes, limit ${limit}`);
}
