// Writes a new token to a new file, which nobody else can read, or to standard output.

import { resolve } from "node:path";
import { ConfigError, type ConfigExitStatus } from "../../config/errors.js";
import { escapeText } from "../../core/errors/texts.js";
import { openSecretFile, readSecretFile } from "../../venue/start/state/state-dir.js";
import { UsageError } from "../arguments/options.js";
import { type CommandContext, print } from "../context.js";

/** "-" forces standard output, even to a terminal. */
const STDOUT = "-";

/** Refuses to print a secret to a terminal, before the secret is created. @throws UsageError */
export function checkTokenOutput(
  out: string | undefined,
  { stdout }: Pick<CommandContext, "stdout">,
  what: "token" | "key" = "token",
): void {
  if (out !== undefined || stdout.isTTY !== true) return;
  throw new UsageError(
    `The ${what} would be shown on this terminal. Write it to a file with --out FILE, or pipe it; --out - shows it`,
  );
}

/**
 * Writes a token or key to standard output or to a new file, mode 0600.
 *
 * @throws ConfigError 66 if the file cannot be created, 78 if the path exists
 */
export async function putToken(
  token: string,
  out: string | undefined,
  context: Pick<CommandContext, "stdout" | "cwd">,
): Promise<void> {
  if (out === undefined || out === STDOUT) await print(context, `${token}\n`);
  else makeNewFile(resolve(context.cwd, out), `${token}\n`, "--out");
}

/**
 * Creates a file atomically, mode 0600, never replacing an existing one.
 *
 * @param path absolute
 * @param what beginning of the error message
 * @throws ConfigError 66 if it cannot be created, 78 if the path exists
 */
export function makeNewFile(path: string, content: string, what: string): void {
  const refuse = (fault: string, exitStatus: ConfigExitStatus) =>
    new ConfigError([`${what}: ${fault}: ${escapeText(path)}`], exitStatus);
  const taken = () => refuse("something is there already, and is not overwritten", 78);
  const options = { maxBytes: Buffer.byteLength(content), follow: false };
  const found = readSecretFile(path, options);
  if (!("missing" in found)) throw "fault" in found && found.exitStatus === 66 ? refuse(found.fault, 66) : taken();
  const made = openSecretFile(path, { ...options, make: () => content });
  if ("fault" in made && made.exitStatus === 66) throw refuse(made.fault, 66);
  // Another process created the file first.
  if ("fault" in made || made.text !== content) throw taken();
}
