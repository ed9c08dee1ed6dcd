import { ConfigError, type ConfigExitStatus } from "../../config/errors.js";
import { escapeText } from "../../core/errors/texts.js";
import { openSecretFile, readSecretFile } from "../../venue/start/state-dir.js";

/**
 * Puts a new file in place, mode 0600, whole or not at all, and over nothing.
 *
 * @param path absolute
 * @param what begins the sentence that says what went wrong
 * @throws ConfigError 66 when it cannot be made, 78 when something is there
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
  // Another process was faster.
  if ("fault" in made || made.text !== content) throw taken();
}
