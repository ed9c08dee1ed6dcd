// Accepts keys of the reference implementation: those without effect here are warnings, the others are problems.

import { isObject } from "../../core/unknown.js";
import { type Place, placeBelow, quotedPath } from "./check-schema.js";

/** Keys of the reference implementation that have no effect here. */
const IGNORED_KEYS: readonly string[] = ["store", "acceptQueueSize", "fixMcpStrings", "secrets", "a2a"];
/** Keys that enable a service; ignoring one that is switched on would be misleading, so that is a problem. */
const SERVICE_KEYS: readonly string[] = ["a2a"];

/** A venue without its reference keys, and the warnings and problems about them. */
export interface WithoutReferenceKeys {
  readonly rest: unknown;
  readonly warnings: readonly string[];
  readonly problems: readonly string[];
}

/** Removes keys of the reference implementation, so that configs written for it can be used here. */
export function takeReferenceKeys(place: Place, venue: unknown): WithoutReferenceKeys {
  if (!isObject(venue)) return { rest: venue, warnings: [], problems: [] };
  const found = IGNORED_KEYS.filter((key) => Object.hasOwn(venue, key));
  const refused = found.filter((key) => SERVICE_KEYS.includes(key) && isEnabled(venue[key]));
  return {
    rest: Object.fromEntries(Object.entries(venue).filter(([key]) => !found.includes(key))),
    warnings: found
      .filter((key) => !refused.includes(key))
      .map((key) => `Config key ${quotedPath(placeBelow(place, key))} has no function in this venue and is ignored`),
    problems: refused.map((key) => `${quotedPath(placeBelow(place, key))} is not supported by this venue`),
  };
}

function isEnabled(value: unknown): boolean {
  if (!isObject(value)) return value === true;
  const { enabled } = value;
  return enabled !== false;
}
