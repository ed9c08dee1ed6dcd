// Writes a new token to a file or to standard output.

import { resolve } from "node:path";
import { UsageError } from "../arguments/options.js";
import { type CommandContext, print } from "../context.js";
import { makeNewFile } from "./new-file.js";

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
