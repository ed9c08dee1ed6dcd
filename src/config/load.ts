import { readFileSync } from "node:fs";
import { createRequire } from "node:module";
import { basename, dirname, resolve } from "node:path";
import { escapeText } from "../core/errors/texts.js";
import type { FileConfig } from "../core/file-config.js";
import { packageFile } from "../core/package-files.js";
import { isObject, type JsonSchema } from "./checks/json-schema.js";
import { ConfigError } from "./errors.js";
import { inOrder, type Lines, linesOf, withLine } from "./lines.js";
import { type FileParseOptions, parseFile } from "./parse-file.js";
import type { VenueParseOptions } from "./parse-venue.js";
import { parseVenue, parseVenues } from "./parse-venues.js";
import type { VenueConfig } from "./types.js";

const require = createRequire(import.meta.url);

/**
 * Reads a config file. Relative paths in it are relative to its folder.
 *
 * @param path JSON5 file; relative to the current directory
 * @returns the venues of the file, at least one
 * @throws ConfigError with every problem found; `exitStatus` 66 when the file cannot be read, 78 when it is invalid
 * @example
 * const [config] = loadConfigFile("config.json5");
 */
export function loadConfigFile(path: string, options: Omit<VenueParseOptions, "baseDir"> = {}): readonly VenueConfig[] {
  const value = parseText(nameOf(path), readBytes(path));
  try {
    return parseConfigs(value, { ...options, baseDir: dirname(resolve(path)) });
  } catch (error) {
    if (!(error instanceof ConfigError)) throw error;
    const lines = readConfigLines(path);
    throw new ConfigError(inOrder(error.problems.map((problem) => withLine(problem, lines))), error.exitStatus);
  }
}

/** Where the keys of a config file stand, for what is found to be wrong later. @throws ConfigError when it cannot be read */
export function readConfigLines(path: string): Lines {
  return linesOf(textOf(nameOf(path), readBytes(path)), json5().parse);
}

const nameOf = (path: string): string => `"${escapeText(basename(path))}"`;

/** Loaded only when asked for: a venue or library without a config file needs no JSON5, and loading it costs some milliseconds. */
function json5(): typeof import("json5") {
  return require("json5");
}

/**
 * Checks what a config file holds, one venue or `{ venues: [ … ] }`, and fills in the defaults. Host directories are not
 * looked at.
 *
 * @param value an object as of JSON
 * @returns at least one venue
 * @throws ConfigError with every problem of every venue
 */
export function parseConfigs(value: unknown, options: VenueParseOptions): readonly VenueConfig[] {
  return parseVenues(readConfigSchema(), value, options);
}

/**
 * The same for a single venue, such as an embedder's.
 *
 * @param value `{}` is a whole config
 * @throws ConfigError with every problem found
 */
export function parseConfig(value: unknown, options: VenueParseOptions): VenueConfig {
  return parseVenue(readConfigSchema(), value, options);
}

/**
 * The same for the part that configures the file adapter alone; key paths in problems start there: `roots.docs.path`.
 *
 * @throws ConfigError with every problem found
 */
export function parseFileConfig(value: unknown, options: FileParseOptions): FileConfig {
  return parseFile(readConfigSchema(), value, options);
}

/** `schemas/config.json`, which states types, ranges, names and defaults of all keys. */
export function readConfigSchema(): JsonSchema {
  return JSON.parse(readFileSync(packageFile("schemas/config.json"), "utf8"));
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
    const { code } = isObject(error) ? error : {};
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

function parseText(quotedName: string, bytes: Uint8Array): unknown {
  const text = textOf(quotedName, bytes);
  try {
    return json5().parse(text);
  } catch (error) {
    const { lineNumber, columnNumber } = error as { lineNumber?: number; columnNumber?: number };
    const where = lineNumber === undefined ? "" : ` at line ${lineNumber}, column ${columnNumber}`;
    throw new ConfigError([`Cannot read ${quotedName}: not valid JSON5${where}`], 78);
  }
}
