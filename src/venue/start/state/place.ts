// Locates and opens the state directory of a venue.

import { join } from "node:path";
import { ConfigError } from "../../../config/errors.js";
import { isLoopbackListener } from "../../../config/loopback.js";
import type { VenueConfig } from "../../../config/types.js";
import { attempt } from "../../../core/io.js";
import { folderErrno } from "../../../jail/creatable.js";
import { realHostPath } from "../../../process/host-path.js";
import { checkFormat, stateFormat } from "./format.js";
import { checkLocalToken, checkStateDir, defaultStateDir, LOCAL_TOKEN, NoStateDir, openStateDir } from "./state-dir.js";
import { requireRestored } from "./unfinished-restore.js";
import { folderOf } from "./venue-folder.js";

type Environment = Readonly<Record<string, string | undefined>>;
type StateConfig = Pick<VenueConfig, "stateDir" | "stateBase">;

/** Names in a state directory that a venue's own folder must not have. */
const TAKEN = [
  "access",
  "asset-uploads",
  "audit",
  "drive-cache",
  "drives",
  "format",
  "intents",
  "journal",
  "keys",
  "local-token",
  "revocation-guard",
  "revocations",
  "webdav-properties.json",
];

/** @throws NoStateDir when there is none */
export function stateDirOf({ stateDir }: StateConfig, env: Environment): string {
  if (stateDir === false) throw new NoStateDir("'stateDir' is false, so there is no state directory");
  return stateDir ?? defaultStateDir(env);
}

/** As {@link stateDirOf}; `undefined` where there is none, which is an error only once something needs it. */
export function stateDirIfAny(config: StateConfig, env: Environment): string | undefined {
  try {
    return stateDirOf(config, env);
  } catch (error) {
    if (error instanceof NoStateDir) return undefined;
    throw error;
  }
}

/** Whether the operator has a bearer token. Without a state directory it would change with every start. */
export const hasLocalToken = (config: VenueConfig): boolean =>
  config.auth.localToken ?? (config.stateDir !== false && isLoopbackListener(config));

/** The file that holds the operator's bearer token. @throws NoStateDir when there is none */
export const localTokenFile = (config: StateConfig, env: Environment): string =>
  join(stateDirOf(config, env), LOCAL_TOKEN);

/**
 * Opens the state directory, creating it if missing and recording its format. Call only when something needs it.
 *
 * @param need the config key that needs it
 * @returns its path
 * @throws ConfigError 66 when it cannot be created, 78 when it is disabled, not trustworthy, or of a newer format
 */
export function openState(config: StateConfig, env: Environment, need: string): string {
  const { stateBase } = config;
  if (config.stateDir === false) throw new ConfigError([`'${need}' needs 'stateDir', which is false`], 78);
  if (stateBase !== undefined) stateFormat(openStateDir(stateBase));
  const directory = stateDirOf(config, env);
  requireRestored(directory);
  return stateFormat(openStateDir(directory));
}

/** Opens the state directory of an embedder. @returns its canonical path @throws ConfigError */
export const libraryState = (stateDir: string): string => realHostPath(stateFormat(openStateDir(stateDir)));

/** Opens the state directory of a venue for its journals. @returns its canonical path @throws ConfigError */
export const journalState = (config: StateConfig, env: Environment): string =>
  realHostPath(openState(config, env, "journal"));

/**
 * Where {@link journalState} is, or would be, without creating anything.
 * @throws NoStateDir, ConfigError if it cannot be used
 */
export function lookAtState(config: StateConfig, env: Environment): string {
  const { directory } = lookAtDirectories(config, env);
  const errno = folderErrno(join(directory, "journal"));
  if (errno !== undefined) throw new ConfigError([`'stateDir' cannot be written (${errno}): ${directory}`], 66);
  return attempt(() => realHostPath(directory)) ?? directory;
}

/** Checks whether {@link openState} and the local token would work, without creating anything. @throws ConfigError */
export function checkState(config: VenueConfig, env: Environment): void {
  const { directory, isThere } = lookAtDirectories(config, env);
  if (hasLocalToken(config) && isThere) checkLocalToken(directory);
}

function lookAtDirectories(config: StateConfig, env: Environment): { directory: string; isThere: boolean } {
  const directory = stateDirOf(config, env);
  let isThere = false;
  for (const path of config.stateBase === undefined ? [directory] : [config.stateBase, directory]) {
    isThere = checkStateDir(path);
    checkFormat(path);
  }
  return { directory, isThere };
}

/**
 * With several venues in one process, gives each a state directory of its own, named after the venue, below the one it
 * would otherwise have. So they never share an operator's token or a revocation list.
 *
 * @throws ConfigError 78 when two would have the same directory
 */
export function withOwnStateDirs(configs: readonly VenueConfig[], env: Environment): readonly VenueConfig[] {
  if (configs.length < 2) return configs;
  const problems: string[] = [];
  const firstOf = new Map<string, number>();
  const own = configs.map((config, index) => {
    const base = stateDirIfAny(config, env);
    if (base === undefined) return config;
    const folder = folderOf(config.name);
    const stateDir = join(base, folder);
    // Compared in lower case, for case-insensitive file systems.
    const first = firstOf.get(stateDir.toLowerCase());
    firstOf.set(stateDir.toLowerCase(), first ?? index);
    if (TAKEN.includes(folder.toLowerCase())) {
      problems.push(`'venues[${index}].name' must not be '${folder}': 'stateDir' has something else of that name`);
    } else if (first !== undefined) {
      const keys = ["name", "stateDir"].map((key) => `'venues[${index}].${key}'`).join(" or ");
      const venues = `'venues[${first}]' and 'venues[${index}]'`;
      problems.push(`${venues} have the same name and the same 'stateDir'. Set ${keys} to another`);
    }
    return { ...config, stateDir, stateBase: base };
  });
  if (problems.length > 0) throw new ConfigError(problems, 78);
  return own;
}
