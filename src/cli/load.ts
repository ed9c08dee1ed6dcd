import { readFileSync } from "node:fs";
import { createRequire } from "node:module";
import { basename } from "node:path";
import { grantsFiles } from "../authz/grant.js";
import { ConfigError } from "../config/errors.js";
import { loadConfigFile, parseConfig } from "../config/load.js";
import type { VenueConfig } from "../config/types.js";
import { escapeText } from "../core/errors/texts.js";
import type { ConfigSource } from "./arguments/arguments.js";
import { parseRootArguments } from "./arguments/root.js";
import { codeOf, EXIT } from "./context.js";

/** Reads the configuration named on the command line: one venue or several. @throws ConfigError */
export function loadConfigs({ file, roots }: ConfigSource, cwd: string): readonly VenueConfig[] {
  const options = {
    extraRoots: parseRootArguments(roots, cwd),
    isGrant: grantsFiles,
  };
  return file === undefined ? [parseConfig({}, { ...options, baseDir: cwd })] : loadConfigFile(file, options);
}

/** {@link loadConfigs} for a command that needs exactly one venue. @throws ConfigError */
export function loadOneConfig(source: ConfigSource, cwd: string): VenueConfig {
  const [config, ...others] = loadConfigs(source, cwd);
  if (config !== undefined && others.length === 0) return config;
  throw new ConfigError(["This command needs a configuration with one venue, not several"], EXIT.config);
}

/** {@link loadOneConfig} for a command where the configuration is optional. @throws ConfigError */
export const loadOptionalConfig = (file: string | undefined, cwd: string): VenueConfig | undefined =>
  file === undefined ? undefined : loadOneConfig({ file, roots: [] }, cwd);

const READ_FAILURES: Readonly<Record<string, string>> = {
  ENOENT: "no such file",
  ENOTDIR: "no such file",
  EISDIR: "it is a directory",
  EACCES: "permission denied",
};

/** Reads a caps list (`--caps`). Anything but a list would deny every call, so it is a ConfigError instead. */
export function loadCaps(file: string | undefined): readonly unknown[] | undefined {
  if (file === undefined) return undefined;
  const name = `"${escapeText(basename(file))}"`;
  let caps: unknown;
  try {
    caps = parseJson5(readFileSync(file, "utf8"));
  } catch (error) {
    if (error instanceof SyntaxError) throw new ConfigError([`Cannot read ${name}: not valid JSON5`], EXIT.config);
    const code = codeOf(error);
    throw new ConfigError([`Cannot read ${name}: ${READ_FAILURES[code] ?? code}`], EXIT.noInput);
  }
  if (Array.isArray(caps)) return caps;
  throw new ConfigError([`${name} must hold a list such as [{ with: "file://docs/", can: "crud/read" }]`], EXIT.config);
}

function parseJson5(text: string): unknown {
  // Loaded lazily: most commands need no JSON5.
  const JSON5: typeof import("json5") = createRequire(import.meta.url)("json5");
  return JSON5.parse(text);
}
