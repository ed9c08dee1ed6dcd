// Fits the MCP read sizes into the limits of the roots.

import { isObject } from "../../core/unknown.js";
import type { DraftVenue } from "../checked-venue.js";
import { type Place, placeBelow, quotedPath } from "./check-schema.js";

/**
 * Fits the MCP read sizes into the limits they depend on: an explicit value that is too large is a problem; a default
 * is lowered to the limit.
 *
 * @param written the venue as written, without defaults
 */
export function fitMcp(venue: Place, { mcp, file }: DraftVenue, written: unknown): DraftVenue["mcp"] {
  if (mcp === undefined || mcp === false) return mcp;
  const place = placeBelow(venue, "mcp");
  const own = writtenMcp(written);
  const within = (key: "maxReadBytes" | "defaultReadBytes", limit: number | undefined, limitPlace: Place) => {
    const value = mcp[key];
    if (value === undefined || limit === undefined || value <= limit) return value;
    if (own[key] === undefined) return limit;
    const most = `at most ${quotedPath(limitPlace)} (${limit}), not ${value}`;
    place.check.problems.push(`${quotedPath(placeBelow(place, key))} must be ${most}`);
    return undefined;
  };
  const limitPlace = placeBelow(placeBelow(placeBelow(venue, "file"), "limits"), "maxReadBytes");
  const maxReadBytes = within("maxReadBytes", file?.limits?.maxReadBytes, limitPlace);
  const defaultReadBytes = within("defaultReadBytes", maxReadBytes, placeBelow(place, "maxReadBytes"));
  return { ...mcp, maxReadBytes, defaultReadBytes };
}

function writtenMcp(venue: unknown): Readonly<Record<string, unknown>> {
  const { mcp } = isObject(venue) ? venue : {};
  return isObject(mcp) ? mcp : {};
}
