// Loads configuration files: reads JSON5, parses the venues, and adds line numbers to problems.

import { readFileSync } from "node:fs";
import { createRequire } from "node:module";
import { basename, dirname, resolve } from "node:path";
import { mayGrant } from "../authz/grant.js";
import type { Capability } from "../core/call/capability.js";
import { escapeText } from "../core/errors/texts.js";
import type { FileConfig } from "../core/file-config.js";
import { packageFile } from "../core/package-files.js";
import { fieldsOf } from "../core/unknown.js";
import { checkValue, type JsonSchema } from "./checks/check-schema.js";
import { checkCaps } from "./checks/relations.js";
import { ConfigError } from "./errors.js";
import { duplicatesIn, type Located, locate, place, positionsOf } from "./lines.js";
import { type FileParseOptions, parseFile } from "./parse-file.js";
import type { VenueParseOptions } from "./parse-venue.js";
import { parseVenue, parseVenues } from "./parse-venues.js";
import type { Draft, VenueConfig } from "./types.js";

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

/**
 * Checks the content of a config file, one venue or `{ venues: [ … ] }`, and fills in defaults. Does not access host
 * directories.
 *
 * @param value parsed JSON
 * @returns at least one venue
 * @throws ConfigError with every problem of every venue
 */
export function parseConfigs(value: unknown, options: VenueParseOptions): readonly VenueConfig[] {
  return parseVenues(readConfigSchema(), value, options);
}

/**
 * Checks the configuration of a single venue, such as an embedder's, and fills in defaults.
 *
 * @param value parsed JSON; `{}` is a valid config
 * @throws ConfigError with every problem found
 */
export function parseConfig(value: unknown, options: VenueParseOptions): VenueConfig {
  return parseVenue(readConfigSchema(), value, options);
}

/**
 * Checks the configuration of the file adapter alone; key paths in problems are relative to it: `roots.docs.path`.
 *
 * @throws ConfigError with every problem found
 */
export function parseFileConfig(value: unknown, options: FileParseOptions): FileConfig {
  return parseFile(readConfigSchema(), value, options);
}

let configSchema: JsonSchema | undefined;

/** Content of `schemas/config.json`, which defines types, ranges, names and defaults of all keys. Read once a process. */
export function readConfigSchema(): JsonSchema {
  configSchema ??= JSON.parse(readFileSync(packageFile("schemas/config.json"), "utf8")) as JsonSchema;
  return configSchema;
}

/**
 * Parses a caps list.
 *
 * @param path name of the file, for messages
 * @returns `undefined` for anything but a list
 * @throws ConfigError with every entry that is no capability, or grants nothing
 */
export function parseCapsList(path: string, text: string): readonly unknown[] | undefined {
  const caps = parseJson5(path, text);
  if (!Array.isArray(caps)) return undefined;
  const problems: string[] = [];
  const check = { document: readConfigSchema(), above: [], hiddenKeys: 0, baseDir: "", problems };
  const top = { check, path: [] };
  const capabilities = checkValue(top, { type: "array", items: { $ref: "#/$defs/capability" } }, caps);
  checkCaps(top, capabilities as Draft<readonly Capability[]>, mayGrant);
  if (problems.length === 0) return caps;
  const positions = positionsOf(text, json5().parse);
  throw new ConfigError(
    locate(
      problems.map((problem) => ({ text: problem })),
      { file: path, positions },
    ),
    78,
  );
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
  try {
    return new TextDecoder("utf-8", { fatal: true }).decode(bytes);
  } catch {
    throw new ConfigError([`Cannot read ${quotedName}: not valid UTF-8`], 78);
  }
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
