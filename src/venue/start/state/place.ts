// Locates the state directory of a venue, and checks its format version.

import { join } from "node:path";
import { ConfigError } from "../../../config/errors.js";
import { isLoopbackListener } from "../../../config/loopback.js";
import type { VenueConfig } from "../../../config/types.js";
import { escapeText } from "../../../core/errors/texts.js";
import {
  checkLocalToken,
  checkStateDir,
  defaultStateDir,
  LOCAL_TOKEN,
  NoStateDir,
  openSecretFile,
  openStateDir,
  readSecretFile,
  realDirectory,
} from "./state-dir.js";
import { requireRestored } from "./unfinished-restore.js";

type Environment = Readonly<Record<string, string | undefined>>;
type StateConfig = Pick<VenueConfig, "stateDir" | "stateBase">;

const FORMAT = "format";
/** Version of the layout of the whole state directory. */
const CURRENT_FORMAT = 1;
const FORMAT_FILE = { maxBytes: 16, follow: false };
/** Names in a state directory that a venue's own folder must not have. */
const TAKEN = [
  "access",
  "audit",
  "drive-cache",
  "drives",
  "format",
  "intents",
  "journal",
  "keys",
  "local-token",
  "revocations",
  "webdav-properties.json",
];

/** @throws NoStateDir when there is none */
export function stateDirOf({ stateDir }: StateConfig, env: Environment): string {
  if (stateDir === false) throw new NoStateDir("'stateDir' is false, so there is no state directory");
  return stateDir ?? defaultStateDir(env);
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
export const libraryState = (stateDir: string): string => realDirectory(stateFormat(openStateDir(stateDir)));

/** Opens the state directory of a venue for its journals. @returns its canonical path @throws ConfigError */
export const journalState = (config: StateConfig, env: Environment): string =>
  realDirectory(openState(config, env, "journal"));

/** Checks whether {@link openState} and the local token would work, without creating anything. @throws ConfigError */
export function checkState(config: VenueConfig, env: Environment): void {
  const directory = stateDirOf(config, env);
  let isThere = false;
  for (const path of config.stateBase === undefined ? [directory] : [config.stateBase, directory]) {
    isThere = checkStateDir(path);
    checkFormat(path);
  }
  if (hasLocalToken(config) && isThere) checkLocalToken(directory);
}

/** Checks the format and records it. @returns the directory */
function stateFormat(directory: string): string {
  checkFormat(directory);
  // Failure is ignored: a directory that is not writable is reported by whatever has to write to it.
  openSecretFile(join(directory, FORMAT), { ...FORMAT_FILE, make: () => `${CURRENT_FORMAT}\n` });
  return directory;
}

/**
 * To be called before anything else is read. A directory without a format file is of format 1. @throws ConfigError 78
 */
export function checkFormat(directory: string): void {
  const file = readSecretFile(join(directory, FORMAT), FORMAT_FILE);
  if ("missing" in file) return;
  const refuse = (fault: string, exitStatus: 66 | 78) =>
    new ConfigError([`'stateDir' cannot be used: ${fault}: ${escapeText(directory)}`], exitStatus);
  if ("fault" in file) {
    // The directory does not exist yet.
    if (file.fault === NOT_MADE) return;
    throw refuse(`its file '${FORMAT}' cannot be read: ${file.fault}`, file.exitStatus);
  }
  const [, digits] = /^([1-9][0-9]{0,8})\r?\n?$/.exec(file.text) ?? [];
  if (digits === undefined) throw refuse(`its file '${FORMAT}' holds no number`, 78);
  if (Number(digits) <= CURRENT_FORMAT) return;
  throw refuse(`it is of format ${digits}, and this version knows ${CURRENT_FORMAT}. Use a newer version`, 78);
}

const NOT_MADE = "its folder does not exist";

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
    const base = config.stateDir === false ? undefined : baseOf(config, env);
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

/** The default directory; `undefined` if none can be determined, which is an error only once something needs it. */
function baseOf(config: VenueConfig, env: Environment): string | undefined {
  try {
    return stateDirOf(config, env);
  } catch (error) {
    if (error instanceof NoStateDir) return undefined;
    throw error;
  }
}

/**
 * Encodes a name as a folder name valid on every system: other characters become `%` and the hex of their UTF-8 bytes.
 */
export function folderOf(name: string): string {
  const encoded = name.replace(/[^\p{L}\p{N}._ -]/gu, (character) =>
    [...Buffer.from(character)].map((byte) => `%${byte.toString(16).toUpperCase().padStart(2, "0")}`).join(""),
  );
  // Windows drops trailing dots and spaces, and leading dots hide or lead up.
  return encoded.replace(/^[. ]|[. ]$/g, (end) => (end === "." ? "%2E" : "%20"));
}
