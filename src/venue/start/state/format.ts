// The format of a state directory: a number in its file `format`.

import { join } from "node:path";
import { ConfigError, type ConfigExitStatus } from "../../../config/errors.js";
import { escapeText } from "../../../core/errors/texts.js";
import { CURRENT_FORMAT, migrateState, type StateFormat } from "./migrate.js";
import { openSecretFile, readSecretFile } from "./state-dir.js";

const FORMAT = "format";
const FORMAT_FILE = { maxBytes: 16, follow: false };
/** `2>3` while the directory is being brought from one format to another, so that no version reads what is half done. */
const FORMAT_TEXT = /^([1-9][0-9]{0,8})(>[1-9][0-9]{0,8})?\r?\n?$/;
const NOT_MADE = "its folder does not exist";

/** Brings the directory to the newest format and records it. @returns the directory @throws ConfigError */
export function stateFormat(directory: string): string {
  bringUpToDate(directory);
  // Failure is ignored: a directory that is not writable is reported by whatever has to write to it.
  openSecretFile(join(directory, FORMAT), { ...FORMAT_FILE, make: () => `${CURRENT_FORMAT}\n` });
  return directory;
}

/** To be called before anything in the directory is read; it may be missing. @throws ConfigError */
export function bringUpToDate(directory: string): void {
  const { number, isUnderWay } = checkFormat(directory);
  if (number < CURRENT_FORMAT || isUnderWay) migrateState(directory, { formatOf: () => checkFormat(directory) });
}

/** Reads the format. Without a format file, or with an empty one, a directory is of format 1. @throws ConfigError 78 if it is a newer one */
export function checkFormat(directory: string, newest = CURRENT_FORMAT): StateFormat {
  const file = readSecretFile(join(directory, FORMAT), FORMAT_FILE);
  const none = { number: 1, isUnderWay: false };
  if ("missing" in file) return none;
  const refuse = (fault: string, exitStatus: ConfigExitStatus) =>
    new ConfigError([`'stateDir' cannot be used: ${fault}: ${escapeText(directory)}`], exitStatus);
  if ("fault" in file) {
    // The directory does not exist yet.
    if (file.fault === NOT_MADE) return none;
    throw refuse(`its file '${FORMAT}' cannot be read: ${file.fault}`, file.exitStatus);
  }
  // A full disk or a crash left it empty.
  if (file.text === "") return none;
  const [, digits, next] = FORMAT_TEXT.exec(file.text) ?? [];
  if (digits === undefined) {
    const way = "Write 1 into it, unless a newer version has used this directory";
    throw refuse(`its file '${FORMAT}' holds no number. ${way}`, 78);
  }
  const reached = Number(next?.slice(1) ?? digits);
  if (reached <= newest) return { number: Number(digits), isUnderWay: next !== undefined };
  const what = next === undefined ? "it is of" : "it is on the way to";
  throw refuse(`${what} format ${reached}, and this version knows ${newest}. Use a newer version`, 78);
}
