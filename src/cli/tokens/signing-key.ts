// Finds and reads signing keys, by name or path.

import { join, resolve } from "node:path";
import { ConfigError, type ConfigExitStatus } from "../../config/errors.js";
import type { VenueConfig } from "../../config/types.js";
import { escapeText } from "../../core/errors/texts.js";
import { parseSeed, type SigningKey, signingKeyFromSeed } from "../../ucan/mint/signing-key.js";
import { stateDirOf } from "../../venue/start/state/place.js";
import { isOpenToOthers, readSecretFile } from "../../venue/start/state/state-dir.js";
import { UsageError } from "../arguments/options.js";
import type { CommandContext } from "../context.js";
import { parseVariable, readVariable } from "../environment-reference.js";

/** 64 hex digits and a line ending. */
const MAX_BYTES = 66;
const NAME = /^[A-Za-z0-9][A-Za-z0-9_-]{0,62}$/;

/** Location of named keys. */
export interface KeyPlace extends Pick<CommandContext, "env" | "cwd"> {
  /** Absent: the user's state directory. `false`: none, so there are no named keys. */
  readonly stateDir?: string | false;
}

/** The location of named keys for a command with or without a configuration. */
export const keyPlace = (
  config: Pick<VenueConfig, "stateDir"> | undefined,
  { env, cwd }: Pick<CommandContext, "env" | "cwd">,
): KeyPlace => ({ env, cwd, ...(config?.stateDir === undefined ? {} : { stateDir: config.stateDir }) });

/** The directory of named keys. @throws ConfigError if there is no state directory */
export const keyDirectory = (place: KeyPlace): string => join(stateDirOf(place, place.env), "keys");

/** The file of a key reference: a name refers to the state directory; anything with `/`, `\` or `.` is a path. */
export interface KeyFile {
  readonly path: string;
  readonly name?: string;
}

/** Whether a text is a well-formed key name. */
export const isKeyName = (text: string): boolean => NAME.test(text);

/** @throws UsageError if the reference is neither a name nor a path */
export function keyFile(reference: string, place: KeyPlace): KeyFile {
  if (/[/\\.]/.test(reference)) return { path: resolve(place.cwd, reference) };
  if (!isKeyName(reference)) {
    throw new UsageError(
      `'${escapeText(reference)}' cannot be the name of a key: letters, digits, - and _ only. A path has a / in it`,
    );
  }
  return { path: join(keyDirectory(place), reference), name: reference };
}

/**
 * Opens the key of `--key`: a name, a path, or `env:NAME` for a variable with 64 hex digits.
 *
 * @throws ConfigError 66 if the file cannot be read, 78 if it is not a key or accessible to others. Never shows a seed
 */
export const openSigningKey = (reference: string, place: KeyPlace): SigningKey =>
  signingKeyFromSeed(readSeed(reference, place));

/** The 32-byte seed of a key reference. @throws ConfigError as {@link openSigningKey} */
export function readSeed(reference: string, place: KeyPlace): Uint8Array {
  const variable = parseVariable(reference);
  const text =
    variable === undefined
      ? readKeyFile(reference, place)
      : readVariable(variable, place.env, { what: "the key", maxBytes: MAX_BYTES });
  const seed = parseSeed(text.replace(/\r?\n$/, ""));
  if (seed !== undefined) return seed;
  throw unusable(reference, "it must hold 64 hex digits and nothing else", 78);
}

function readKeyFile(reference: string, place: KeyPlace): string {
  const { path, name } = keyFile(reference, place);
  // Paths may be symbolic links, as secrets mounted in containers are; named keys in the state directory may not.
  const file = readSecretFile(path, { maxBytes: MAX_BYTES, follow: name === undefined });
  if ("fault" in file) {
    const advice = file.missing && name !== undefined ? `. Make it with: venue-files key new ${name}` : "";
    throw unusable(reference, `${file.fault}${advice}`, file.exitStatus);
  }
  if (isOpenToOthers(file.stat, "read")) throw unusable(reference, "others may use it. Make its mode 0600", 78);
  return file.text;
}

const unusable = (reference: string, fault: string, exitStatus: ConfigExitStatus): ConfigError =>
  new ConfigError([`Cannot use key '${escapeText(reference)}': ${fault}`], exitStatus);
