// Reads the passphrase of a backup.

import { resolve } from "node:path";
import { ConfigError } from "../../config/errors.js";
import { readSecretFile } from "../../venue/start/state/state-dir.js";
import { type CommandContext, EXIT } from "../context.js";
import { parseVariable, readVariable } from "../environment-reference.js";

const MAX_BYTES = 4096;
const MIN_CHARACTERS = 12;

/** The passphrase in a file or `env:NAME`: its first line. @throws ConfigError */
export function passphraseOf(reference: string | undefined, { cwd, env }: CommandContext): string | undefined {
  if (reference === undefined) return undefined;
  const text = textOf(reference, { cwd, env }).split(/\r?\n/, 1)[0] ?? "";
  if ([...text].length >= MIN_CHARACTERS) return text;
  throw new ConfigError([`The passphrase must have ${MIN_CHARACTERS} characters at least`], EXIT.config);
}

function textOf(reference: string, { cwd, env }: Pick<CommandContext, "cwd" | "env">): string {
  const variable = parseVariable(reference);
  if (variable !== undefined) return readVariable(variable, env, { what: "the passphrase", maxBytes: MAX_BYTES });
  const file = readSecretFile(resolve(cwd, reference), { maxBytes: MAX_BYTES, follow: true });
  if ("fault" in file) throw new ConfigError([`The passphrase cannot be read: ${file.fault}`], file.exitStatus);
  return file.text;
}
