import { join } from "node:path";
import { ConfigError } from "../../config/errors.js";
import { isLoopbackListener } from "../../config/loopback.js";
import type { VenueConfig } from "../../config/types.js";
import { escapeText } from "../../core/errors/texts.js";
import {
  checkLocalToken,
  checkStateDir,
  defaultStateDir,
  NoStateDir,
  openSecretFile,
  openStateDir,
  readSecretFile,
} from "./state-dir.js";

type Environment = Readonly<Record<string, string | undefined>>;
type StateConfig = Pick<VenueConfig, "stateDir" | "stateBase">;

const FORMAT = "format";
/** Of everything in a state directory together. */
const CURRENT_FORMAT = 1;
const FORMAT_FILE = { maxBytes: 16, follow: false };
/** What is in a state directory that is not a venue's own folder. */
const TAKEN = ["drive-cache", "drives", "format", "journal", "keys", "local-token", "revocations"];

/** @throws NoStateDir where there is none */
export function stateDirOf({ stateDir }: StateConfig, env: Environment): string {
  if (stateDir === false) throw new NoStateDir("'stateDir' is false, so there is no state directory");
  return stateDir ?? defaultStateDir(env);
}

/** Whether a token acts as the operator. Without a state directory it could not stay the same. */
export const hasLocalToken = (config: VenueConfig): boolean =>
  config.auth.localToken ?? (config.stateDir !== false && isLoopbackListener(config));

/**
 * Opens the state directory, to be called only by what needs it: makes it where it is missing, and states its format.
 *
 * @param need the key that it is needed for
 * @returns its path
 * @throws ConfigError 66 when it cannot be made, 78 when there is to be none, when it cannot be trusted, or is of a newer
 * version
 */
export function openState(config: StateConfig, env: Environment, need: string): string {
  const { stateBase } = config;
  if (config.stateDir === false) throw new ConfigError([`'${need}' needs 'stateDir', which is false`], 78);
  if (stateBase !== undefined) stateFormat(openStateDir(stateBase));
  return stateFormat(openStateDir(stateDirOf(config, env)));
}

/** Whether {@link openState} would do, and the local token in it, without making anything. @throws ConfigError */
export function checkState(config: VenueConfig, env: Environment): void {
  const directory = stateDirOf(config, env);
  let isThere = false;
  for (const path of config.stateBase === undefined ? [directory] : [config.stateBase, directory]) {
    isThere = checkStateDir(path);
    checkFormat(path);
  }
  if (hasLocalToken(config) && isThere) checkLocalToken(directory);
}

/** @returns the directory */
function stateFormat(directory: string): string {
  checkFormat(directory);
  // Where it cannot be written, as in a folder that is only read, what else has to be written will tell.
  openSecretFile(join(directory, FORMAT), { ...FORMAT_FILE, make: () => `${CURRENT_FORMAT}\n` });
  return directory;
}

/** Before anything in it is believed. A directory that states no format is of the first. @throws ConfigError 78 */
export function checkFormat(directory: string): void {
  const file = readSecretFile(join(directory, FORMAT), FORMAT_FILE);
  if ("missing" in file) return;
  const refuse = (fault: string, exitStatus: 66 | 78) =>
    new ConfigError([`'stateDir' cannot be used: ${fault}: ${escapeText(directory)}`], exitStatus);
  if ("fault" in file) {
    // There is no directory yet.
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
 * Gives each of several venues of a process a state directory of its own, named like the venue, below the one that it
 * would have alone: so that they never share an operator's token or a revocation list.
 *
 * @throws ConfigError 78 when two would have the same
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
    // Also where a file system takes them for one.
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

/** `undefined`: nobody knows one, which matters only to what needs it. */
function baseOf(config: VenueConfig, env: Environment): string | undefined {
  try {
    return stateDirOf(config, env);
  } catch (error) {
    if (error instanceof NoStateDir) return undefined;
    throw error;
  }
}

/** A name that is a folder on every system and never one elsewhere: other characters stand as `%` and their bytes. */
function folderOf(name: string): string {
  const encoded = name.replace(/[^\p{L}\p{N}._ -]/gu, (character) =>
    [...Buffer.from(character)].map((byte) => `%${byte.toString(16).toUpperCase().padStart(2, "0")}`).join(""),
  );
  // Nothing that is hidden, leads up, or that some system drops.
  return encoded.replace(/^[. ]|[. ]$/g, (end) => (end === "." ? "%2E" : "%20"));
}
