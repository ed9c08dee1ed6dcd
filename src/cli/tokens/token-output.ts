import { resolve } from "node:path";
import { UsageError } from "../arguments/options.js";
import { type CommandContext, print } from "../context.js";
import { makeNewFile } from "./new-file.js";

/** Standard output, even where that is a terminal. */
const STDOUT = "-";

/** Refuses to show a secret to whoever looks over a shoulder, before there is one. @throws UsageError */
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
 * Writes a token or key to standard output or into a new file, mode 0600.
 *
 * @throws ConfigError 66 when the file cannot be made, 78 when something is there
 */
export async function putToken(
  token: string,
  out: string | undefined,
  context: Pick<CommandContext, "stdout" | "cwd">,
): Promise<void> {
  if (out === undefined || out === STDOUT) await print(context, `${token}\n`);
  else makeNewFile(resolve(context.cwd, out), `${token}\n`, "--out");
}
