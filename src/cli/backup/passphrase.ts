// Reads the passphrase of a backup.

import { ConfigError } from "../../config/errors.js";
import { type CommandContext, EXIT } from "../context.js";
import { readReference } from "../environment-reference.js";

const SECRET = { what: "the passphrase", maxBytes: 4096, unreadable: "The passphrase cannot be read" };
const MIN_CHARACTERS = 12;

/** The passphrase in a file or `env:NAME`: its first line. @throws ConfigError */
export function passphraseOf(reference: string | undefined, context: CommandContext): string | undefined {
  if (reference === undefined) return undefined;
  const text = readReference(reference, context, SECRET).text.split(/\r?\n/, 1)[0] ?? "";
  if ([...text].length >= MIN_CHARACTERS) return text;
  throw new ConfigError([`The passphrase must have ${MIN_CHARACTERS} characters at least`], EXIT.config);
}
