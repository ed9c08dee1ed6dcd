// Loads the configuration and the caller that the command line names, and prints warnings.

import { basename } from "node:path";
import { grantsFiles } from "../authz/grant.js";
import { ConfigError } from "../config/errors.js";
import { locate, type Problem } from "../config/lines.js";
import { loadCapsList, loadConfigFile, locateKeys, parseConfig } from "../config/load.js";
import type { VenueConfig } from "../config/types.js";
import { escapeText } from "../core/errors/texts.js";
import { compileDeny } from "../path/deny.js";
import { FOLDER_SETS } from "../path/pattern-sets.js";
import type { OwnCaller } from "../venue/identity/access.js";
import type { OpenVenue } from "../venue/start/open-venue.js";
import type { CallerSource, ConfigSource } from "./arguments/remote.js";
import { parseRootArguments, withGuards } from "./arguments/root.js";
import { type CommandContext, EXIT } from "./context.js";

/** Reads the configuration named on the command line: one venue or several. @throws ConfigError */
export function loadConfigs(source: ConfigSource, cwd: string): readonly VenueConfig[] {
  const { file, roots, listener, folders = [], clientRoots, noProtect, guards } = source;
  checkGuards(guards);
  const protect = noProtect === true ? [] : FOLDER_SETS;
  const options = {
    extraRoots: Object.assign(parseRootArguments(roots, cwd, { folders, protect }), clientRoots),
    isGrant: grantsFiles,
    listener,
  };
  const loaded = file === undefined ? [parseConfig({}, { ...options, baseDir: cwd })] : loadConfigFile(file, options);
  return guards === undefined ? loaded : loaded.map((config) => withGuards(config, guards));
}

/** @throws ConfigError for a pattern that is no glob and no set */
function checkGuards(guards: ConfigSource["guards"]): void {
  const problems: string[] = [];
  for (const option of ["deny", "protect"] as const) {
    for (const pattern of guards?.[option] ?? []) {
      try {
        compileDeny([pattern], { foldsCase: true });
      } catch (error) {
        problems.push(`--${option} must be a glob: ${error instanceof Error ? error.message : "it does not compile"}`);
      }
    }
  }
  if (problems.length > 0) throw new ConfigError(problems, EXIT.config);
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

/** Reads a caps list (`--caps`). A list that grants nothing would silently deny all, so it is a ConfigError. */
export function loadCaps(file: string | undefined): readonly unknown[] | undefined {
  if (file === undefined) return undefined;
  const caps = loadCapsList(file);
  if (caps !== undefined) return caps;
  const name = `"${escapeText(basename(file))}"`;
  throw new ConfigError([`${name} must hold a list such as [{ with: "file://docs/", can: "crud/read" }]`], EXIT.config);
}

/** Problems that are found only when a configuration is put to use, with the places of the keys that they name. */
export function locateProblems(error: unknown, file: string | undefined): unknown {
  if (!(error instanceof ConfigError) || error.exitStatus !== EXIT.config || file === undefined) return error;
  try {
    const isLocated = (text: string): boolean => text.startsWith(`${escapeText(file)}:`);
    const problems: Problem[] = error.problems.filter((text) => !isLocated(text)).map((text) => ({ text }));
    const located = [...error.problems.filter(isLocated), ...locate(problems, locateKeys(file))];
    return new ConfigError(located, error.exitStatus);
  } catch {
    // The file has changed since it was read.
    return error;
  }
}

/** Prints warnings to standard error once per start; not to the log, since they may contain host paths. */
export function warn({ config, adapter }: Pick<OpenVenue, "config" | "adapter">, { stderr }: CommandContext): void {
  for (const warning of [...config.warnings, ...adapter.warnings]) stderr.write(`Warning: ${warning}\n`);
}

/**
 * The caller named by `--key` and `--proof`. The modules that read keys and tokens are loaded only if needed.
 *
 * @returns an empty object for the operator
 * @throws ConfigError for a key or token that cannot be read
 */
export async function ownCaller(
  source: CallerSource | undefined,
  config: VenueConfig,
  context: CommandContext,
): Promise<{ readonly caller?: OwnCaller }> {
  if (source === undefined) return {};
  const [{ keyPlace, openSigningKey }, { readTokens }] = await Promise.all([
    import("./tokens/signing-key.js"),
    import("./tokens/token-files.js"),
  ]);
  const key = openSigningKey(source.key, keyPlace(config, context));
  return { caller: { key, proofs: readTokens(source.proofs, context) } };
}
