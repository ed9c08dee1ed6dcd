import { randomBytes } from "node:crypto";
import { closeSync, constants, fsyncSync, linkSync, openSync, unlinkSync, writeFileSync } from "node:fs";
import { dirname } from "node:path";
import { errnoOf } from "../sys.js";

/** Puts a file in place as a whole, unless one is there: a reader never finds half of it. */
export function placeOnce(path: string, content: string): void {
  const draft = `${path}.${randomBytes(8).toString("hex")}`;
  try {
    writeFileSync(draft, content, { flag: "wx", mode: 0o600, flush: true });
    linkSync(draft, path);
  } catch (error) {
    if (errnoOf(error) !== "EEXIST") throw error;
  } finally {
    removeDraft(draft);
  }
  flushDirectory(dirname(path));
}

function removeDraft(path: string): void {
  try {
    unlinkSync(path);
  } catch (error) {
    if (errnoOf(error) === undefined) throw error;
  }
}

/** Else a power failure could take the file away again, and with it who the venue is. Some systems cannot do it. */
function flushDirectory(path: string): void {
  let fd: number | undefined;
  try {
    fd = openSync(path, constants.O_RDONLY);
    fsyncSync(fd);
  } catch (error) {
    if (errnoOf(error) === undefined) throw error;
  } finally {
    if (fd !== undefined) closeSync(fd);
  }
}
