// References to secrets in arguments: a file, or `env:NAME` for an environment variable.

import { resolve } from "node:path";
import { ConfigError } from "../config/errors.js";
import { escapeText } from "../core/errors/texts.js";
import { readSecretFile, type SecretFile } from "../venue/start/state/state-dir.js";
import { UsageError } from "./arguments/options.js";
import type { CommandContext } from "./context.js";

const PREFIX = "env:";
const NAME = /^[A-Za-z_][A-Za-z0-9_]{0,127}$/;

/** The name in `env:NAME`; `undefined`: the reference is a file. @throws UsageError */
export function parseVariable(reference: string): string | undefined {
  if (!reference.startsWith(PREFIX)) return undefined;
  const name = reference.slice(PREFIX.length);
  if (NAME.test(name)) return name;
  throw new UsageError(`'${escapeText(reference)}' names no environment variable. Write env:NAME, or ./ before a file`);
}

/**
 * What a file or variable holds; `stat`: of the file.
 *
 * @param what as of {@link readVariable} @param unreadable message for a file that cannot be read, without the reason
 * @throws ConfigError, UsageError
 */
export function readReference(
  reference: string,
  { cwd, env }: Pick<CommandContext, "cwd" | "env">,
  options: { readonly what: string; readonly maxBytes: number; readonly unreadable: string },
): Partial<SecretFile> & Pick<SecretFile, "text"> {
  const variable = parseVariable(reference);
  if (variable !== undefined) return { text: readVariable(variable, env, options) };
  const file = readSecretFile(resolve(cwd, reference), { maxBytes: options.maxBytes, follow: true });
  if ("fault" in file) throw new ConfigError([`${options.unreadable}: ${file.fault}`], file.exitStatus);
  return file;
}

/** @param what description of the value, for the message @param maxBytes of the value @throws ConfigError (78) */
export function readVariable(
  name: string,
  env: CommandContext["env"],
  { what, maxBytes }: { readonly what: string; readonly maxBytes: number },
): string {
  const value = Object.hasOwn(env, name) ? env[name] : undefined;
  const refuse = (fault: string) => new ConfigError([`Cannot read ${what} from variable '${name}': ${fault}`], 78);
  if (value === undefined || value === "") throw refuse("it is not set");
  if (Buffer.byteLength(value) > maxBytes) throw refuse("it is too long");
  return value;
}
