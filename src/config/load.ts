// Loads configurations of one or several venues: reads JSON5, parses the venues, and adds line numbers to problems.

import { readFileSync } from "node:fs";
import { createRequire } from "node:module";
import { basename, dirname, resolve } from "node:path";
import { mayGrant } from "../authz/grant.js";
import type { Capability } from "../core/call/capability.js";
import { escapeText } from "../core/errors/texts.js";
import type { FileConfig } from "../core/file-config.js";
import { attempt } from "../core/io.js";
import { packageFile } from "../core/package-files.js";
import { fieldsOf, isObject } from "../core/unknown.js";
import {
  checkValue,
  type JsonSchema,
  type Place,
  placeBelow,
  quotedPath,
  type SchemaCheck,
} from "./checks/check-schema.js";
import { checkCaps } from "./checks/relations.js";
import { ConfigError } from "./errors.js";
import { duplicatesIn, type Located, locate, place, positionsOf } from "./lines.js";
import { bareHost } from "./loopback.js";
import { type FileParseOptions, parseFile } from "./parse-file.js";
import { type ReadVenue, readVenue, type VenueParseOptions } from "./parse-venue.js";
import type { Draft, DraftVenue, VenueConfig } from "./types.js";

const require = createRequire(import.meta.url);

/**
 * Reads a config file. Relative paths in it are resolved against its directory.
 *
 * @param path JSON5 file; relative to the current directory
 * @returns the venues of the file, at least one
 * @throws ConfigError with every problem found; `exitStatus` 66 if the file cannot be read, 78 if it is invalid
 * @example
 * const [config] = loadConfigFile("config.json5");
 */
export function loadConfigFile(path: string, options: Omit<VenueParseOptions, "baseDir"> = {}): readonly VenueConfig[] {
  const value = parseJson5(path, textOf(nameOf(path), readBytes(path)));
  try {
    return parseConfigs(value, { ...options, baseDir: dirname(resolve(path)) });
  } catch (error) {
    if (!(error instanceof ConfigError)) throw error;
    const problems = error.problems.map((text) => ({ text }));
    throw new ConfigError(locate(problems, locateKeys(path)), error.exitStatus);
  }
}

/** Where the keys of a config file stand, for problems found later. @throws ConfigError if it cannot be read */
export function locateKeys(path: string): Located {
  return { file: path, positions: positionsOf(textOf(nameOf(path), readBytes(path)), json5().parse) };
}

const nameOf = (path: string): string => `"${escapeText(basename(path))}"`;

/** Loaded lazily, which saves some milliseconds for venues and libraries without a config file. */
function json5(): typeof import("json5") {
  return require("json5");
}

/** `#/$defs/venues` without the schema of its items, since venues are checked one by one. */
const SHELL: JsonSchema = {
  type: "object",
  additionalProperties: false,
  required: ["venues"],
  properties: { $schema: { type: "string" }, venues: { type: "array", minItems: 1 } },
};

/**
 * Checks the content of a config file, one venue or `{ venues: [ … ] }`, and fills in defaults. Does not access host
 * directories.
 *
 * @param value parsed JSON
 * @returns at least one venue
 * @throws ConfigError with every problem of every venue
 */
export function parseConfigs(value: unknown, options: VenueParseOptions): readonly VenueConfig[] {
  const check = newCheck(options);
  const venues = isObject(value) && Object.hasOwn(value, "venues") ? readVenues(check, value, options) : undefined;
  const all = venues ?? [readVenue({ check: { ...check, alsoKnown: ["venues"] }, path: [] }, value, options)];
  refuse(check.problems);
  return all.map((venue) => venue.complete());
}

/**
 * Checks the configuration of a single venue, such as an embedder's, and fills in defaults.
 *
 * @param value parsed JSON; `{}` is a valid config
 * @throws ConfigError with every problem found
 */
export function parseConfig(value: unknown, options: VenueParseOptions): VenueConfig {
  const check = newCheck(options);
  const venue = readVenue({ check, path: [] }, value, options);
  refuse(check.problems);
  return venue.complete();
}

/**
 * Checks the configuration of the file adapter alone; key paths in problems are relative to it: `roots.docs.path`.
 *
 * @throws ConfigError with every problem found
 */
export function parseFileConfig(value: unknown, options: FileParseOptions): FileConfig {
  return parseFile(readConfigSchema(), value, options);
}

function readVenues(check: SchemaCheck, value: object, options: VenueParseOptions): readonly ReadVenue[] {
  // Where it is invalid, that has been reported.
  const { venues: given = [] } = (checkValue({ check, path: [] }, SHELL, value) ?? {}) as {
    venues?: readonly unknown[];
  };
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

/** Copies of the check share its list of problems. */
const newCheck = ({ baseDir }: VenueParseOptions): SchemaCheck => ({
  document: readConfigSchema(),
  above: [],
  hiddenKeys: 0,
  baseDir,
  problems: [],
});

function refuse(problems: readonly string[]): void {
  if (problems.length > 0) throw new ConfigError(problems, 78);
}

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
      const [first, second] = [clash.first, clash.second].map(({ place: at }) => quotedPath(placeBelow(at, ...keys)));
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

let configSchema: JsonSchema | undefined;

/** Content of `schemas/config.json`, which defines types, ranges, names and defaults of all keys. Read once a process. */
export function readConfigSchema(): JsonSchema {
  configSchema ??= JSON.parse(readFileSync(packageFile("schemas/config.json"), "utf8")) as JsonSchema;
  return configSchema;
}

/**
 * Reads a caps list.
 *
 * @returns `undefined` for anything but a list
 * @throws ConfigError with every entry that is no capability, or grants nothing
 */
export function loadCapsList(path: string): readonly unknown[] | undefined {
  const text = Buffer.from(readBytes(path)).toString("utf8");
  const caps = parseJson5(path, text);
  if (!Array.isArray(caps)) return undefined;
  const check = newCheck({ baseDir: "" });
  const top = { check, path: [] };
  const capabilities = checkValue(top, { type: "array", items: { $ref: "#/$defs/capability" } }, caps);
  checkCaps(top, capabilities as Draft<readonly Capability[]>, mayGrant);
  if (check.problems.length === 0) return caps;
  const problems = check.problems.map((problem) => ({ text: problem }));
  throw new ConfigError(locate(problems, { file: path, positions: positionsOf(text, json5().parse) }), 78);
}

const READ_FAILURES: Readonly<Record<string, string>> = {
  ENOENT: "no such file",
  ENOTDIR: "no such file",
  EISDIR: "it is a directory",
  EACCES: "permission denied",
};

function readBytes(path: string): Uint8Array {
  try {
    return readFileSync(path);
  } catch (error) {
    const { code } = fieldsOf(error);
    const reason = READ_FAILURES[String(code)] ?? String(code);
    throw new ConfigError([`Cannot read "${escapeText(basename(path))}": ${reason}`], 66);
  }
}

function textOf(quotedName: string, bytes: Uint8Array): string {
  const text = attempt(() => new TextDecoder("utf-8", { fatal: true }).decode(bytes));
  if (text !== undefined) return text;
  throw new ConfigError([`Cannot read ${quotedName}: not valid UTF-8`], 78);
}

/** The message of the JSON5 parser without its position; it shows one character of the text at most. */
const PARSER_TEXT = /^JSON5: (.*?)(?: at \d+:\d+)?$/s;

/**
 * Parses JSON5 whose objects have each key once.
 *
 * @param path name of the file, for the message
 * @throws ConfigError that says where it is invalid
 */
function parseJson5(path: string, text: string): unknown {
  let value: unknown;
  try {
    value = json5().parse(text);
  } catch (error) {
    const { lineNumber: line = 1, columnNumber: column = 1 } = error as { lineNumber?: number; columnNumber?: number };
    const [, reason = ""] = PARSER_TEXT.exec(error instanceof Error ? error.message : "") ?? [];
    const why = reason === "" ? "" : `: ${escapeText(reason)}`;
    throw new ConfigError([`${place(path, { line, column })}: not valid JSON5${why}`], 78);
  }
  const twice = duplicatesIn(text, json5().parse).map(
    ({ key, first, again }) =>
      `${place(path, again)}: '${key}' is set at ${place(path, first)} already. Remove one of them`,
  );
  if (twice.length > 0) throw new ConfigError(twice, 78);
  return value;
}
