// Parses a configuration of one or several venues; entry point for parsed JSON.

import { escapeText } from "../core/errors/texts.js";
import { isObject } from "../core/unknown.js";
import type { JsonSchema } from "./checks/check-schema.js";
import { checkValue, type Place, placeBelow, quotedPath, type SchemaCheck } from "./checks/check-schema.js";
import { ConfigError } from "./errors.js";
import { bareHost } from "./loopback.js";
import { type ReadVenue, readVenue, type VenueParseOptions } from "./parse-venue.js";
import type { DraftVenue, VenueConfig } from "./types.js";

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

// Finds files, addresses and directories that two venues of one process would both use.

/** A resource of a venue that only one server can use, as text. */
type Holding = (draft: DraftVenue) => string | undefined;

/** Paths that must differ between venues, since they would overwrite each other's files. */
const OWN_PATHS: readonly { readonly keys: readonly string[]; readonly holding: Holding }[] = [
  { keys: ["listen", "socket"], holding: ({ listen }) => listen?.socket },
  { keys: ["storage", "path"], holding: ({ storage }) => storage?.path },
  { keys: ["drives", "store", "path"], holding: ({ drives }) => pathOf(drives?.store) },
  { keys: ["audit", "file"], holding: ({ audit }) => audit?.file },
];

const pathOf = (store: object | string | undefined): string | undefined => {
  const { path }: { path?: unknown } = typeof store === "object" ? store : {};
  return typeof path === "string" ? path : undefined;
};

/** Reports resources that two venues of one process cannot share. */
function checkClashes(venues: readonly ReadVenue[], problems: string[]): void {
  for (const { first, second, held } of clashes(venues, addressOf)) {
    problems.push(`${quotedPath(first.place)} and ${quotedPath(second.place)} both listen on ${escapeText(held)}`);
  }
  for (const { keys, holding } of OWN_PATHS) {
    for (const clash of clashes(venues, holding)) {
      const [first, second] = [clash.first, clash.second].map(({ place }) =>
        quotedPath(keys.reduce(placeBelow, place)),
      );
      problems.push(`${first} and ${second} are the same path`);
    }
  }
}

const addressOf: Holding = ({ listen, hostname, port }) => {
  // Port 0 selects a different free port for each venue.
  if (listen !== undefined || hostname === undefined || port === undefined || port === 0) return undefined;
  const host = bareHost(hostname).toLowerCase();
  return `${host.includes(":") ? `[${host}]` : host}:${port}`;
};

function* clashes(
  venues: readonly ReadVenue[],
  holding: Holding,
): Generator<{ readonly first: ReadVenue; readonly second: ReadVenue; readonly held: string }> {
  const holders = new Map<string, ReadVenue>();
  for (const second of venues) {
    const held = holding(second.draft);
    if (held === undefined) continue;
    const first = holders.get(held);
    if (first === undefined) holders.set(held, second);
    else yield { first, second, held };
  }
}
