// Parses a configuration of one or several venues; entry point for parsed JSON.

import { isObject } from "../core/unknown.js";
import { checkValue, type Place, type SchemaCheck } from "./checks/check-schema.js";
import { checkClashes } from "./checks/clashes.js";
import type { JsonSchema } from "./checks/json-schema.js";
import { ConfigError } from "./errors.js";
import { type ReadVenue, readVenue, type VenueParseOptions } from "./parse-venue.js";
import type { VenueConfig } from "./types.js";

/** `#/$defs/venues` without the schema of its items, since venues are checked one by one. */
const SHELL: JsonSchema = {
  type: "object",
  additionalProperties: false,
  required: ["venues"],
  properties: { $schema: { type: "string" }, venues: { type: "array", minItems: 1 } },
};

/** Checks and completes one venue. @throws ConfigError */
export function parseVenue(document: JsonSchema, value: unknown, options: VenueParseOptions): VenueConfig {
  const check = newCheck(document, options);
  const venue = readVenue({ check, path: [] }, value, options);
  refuse(check.problems);
  return venue.complete();
}

/** Checks and completes one venue, or several of `{ venues: […] }`. @throws ConfigError */
export function parseVenues(document: JsonSchema, value: unknown, options: VenueParseOptions): readonly VenueConfig[] {
  const check = newCheck(document, options);
  const venues = isObject(value) && Object.hasOwn(value, "venues") ? readVenues(check, value, options) : undefined;
  const all = venues ?? [readVenue({ check: { ...check, alsoKnown: ["venues"] }, path: [] }, value, options)];
  refuse(check.problems);
  return all.map((venue) => venue.complete());
}

function readVenues(check: SchemaCheck, value: object, options: VenueParseOptions): readonly ReadVenue[] {
  const given = parseShell(checkValue({ check, path: [] }, SHELL, value));
  const several = given.length > 1;
  if (several && Object.keys(options.extraRoots ?? {}).length > 0) {
    check.problems.push("--root needs a configuration with one venue");
  }
  if (several && options.listener !== undefined) {
    check.problems.push("--host and --port need a configuration with one venue");
  }
  const each = several ? { ...options, extraRoots: undefined } : options;
  const read = given.map((venue, index) => {
    const place: Place = { check: { ...check, above: ["venues", index] }, path: [] };
    return readVenue(place, venue, each);
  });
  checkClashes(read, check.problems);
  return read;
}

/** The venues in `{ venues: […] }`; empty if it is invalid, which has been reported. */
function parseShell(checked: unknown): readonly unknown[] {
  const { venues } = (checked ?? {}) as { readonly venues?: readonly unknown[] };
  return venues ?? [];
}

/** Copies of the check share its list of problems. */
const newCheck = (document: JsonSchema, { baseDir }: VenueParseOptions): SchemaCheck => ({
  document,
  above: [],
  hiddenKeys: 0,
  baseDir,
  problems: [],
});

function refuse(problems: readonly string[]): void {
  if (problems.length > 0) throw new ConfigError(problems, 78);
}
