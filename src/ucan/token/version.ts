import type { JsonObject } from "../../core/ports/adapter.js";

const OF_HEADER = /^0\.[89]\.(?:0|[1-9][0-9]{0,3})$/;
const OF_PAYLOAD = /^0\.10\.(?:0|[1-9][0-9]{0,3})$/;

/**
 * Whether a UCAN states a known version, in the place its profile requires: 0.8 and 0.9 in the header, with an array;
 * 0.10 in the payload.
 *
 * @param token `header` and `payload`, with exactly one kind of list
 * @param acceptUnversionedCovia accept tokens of old Java venues, which have a `kid` but no version
 */
export function hasKnownVersion(
  { header, payload }: { readonly header: JsonObject; readonly payload: JsonObject },
  acceptUnversionedCovia: boolean,
): boolean {
  const isArray = "att" in payload;
  const inHeader = "ucv" in header;
  const inPayload = "ucv" in payload;
  if (inHeader) return !inPayload && isArray && matches(OF_HEADER, header["ucv"]);
  if (inPayload) return matches(OF_PAYLOAD, payload["ucv"]);
  return acceptUnversionedCovia && isArray && "kid" in header;
}

const matches = (pattern: RegExp, version: unknown): boolean => typeof version === "string" && pattern.test(version);
