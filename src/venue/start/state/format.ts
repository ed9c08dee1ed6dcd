// The format of a state directory: a number in its file `format`.

import { join } from "node:path";
import { ConfigError, type ConfigExitStatus } from "../../../config/errors.js";
import { escapeText } from "../../../core/errors/texts.js";
import { openSecretFile, readSecretFile } from "./state-dir.js";

/** Version of the layout of the whole state directory. Drives have a format of their own. */
const CURRENT_FORMAT = 1;
const FORMAT = "format";
const FORMAT_FILE = { maxBytes: 16, follow: false };
/** `1>2`: a newer version is bringing the directory from one format to another. */
const FORMAT_TEXT = /^([1-9][0-9]{0,8})(>[1-9][0-9]{0,8})?\r?\n?$/;

/** Checks the format of the directory and records it. @returns the directory @throws ConfigError */
export function stateFormat(directory: string): string {
  checkFormat(directory);
  // Failure is ignored: a directory that is not writable is reported by whatever has to write to it.
  openSecretFile(join(directory, FORMAT), { ...FORMAT_FILE, make: () => `${CURRENT_FORMAT}\n` });
  return directory;
}

/**
 * To be called before anything in the directory is read; it may be missing. Without a format file, or with an empty one, a
 * directory is of format 1. @throws ConfigError 78 if it is of a newer one
 */
export function checkFormat(directory: string): void {
  const file = readSecretFile(join(directory, FORMAT), FORMAT_FILE);
  if ("missing" in file) return;
  const refuse = (fault: string, exitStatus: ConfigExitStatus) =>
    new ConfigError([`'stateDir' cannot be used: ${fault}: ${escapeText(directory)}`], exitStatus);
  if ("fault" in file) {
    // The directory does not exist yet.
    if (file.errno === "ENOTDIR") return;
    throw refuse(`its file '${FORMAT}' cannot be read: ${file.fault}`, file.exitStatus);
  }
  // A full disk or a crash left it empty.
  if (file.text === "") return;
  const [, digits, next] = FORMAT_TEXT.exec(file.text) ?? [];
  if (digits === undefined) {
    const way = "Write 1 into it, unless a newer version has used this directory";
    throw refuse(`its file '${FORMAT}' holds no number. ${way}`, 78);
  }
  const reached = Number(next?.slice(1) ?? digits);
  if (reached <= CURRENT_FORMAT) return;
  const what = next === undefined ? "it is of" : "it is on the way to";
  throw refuse(`${what} format ${reached}, and this version knows ${CURRENT_FORMAT}. Use a newer version`, 78);
}
