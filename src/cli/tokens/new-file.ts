// Creates secret files.

import { ConfigError, type ConfigExitStatus } from "../../config/errors.js";
import { escapeText } from "../../core/errors/texts.js";
import { openSecretFile, readSecretFile } from "../../venue/start/state/state-dir.js";

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
