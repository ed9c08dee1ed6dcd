// Creates a small file with its whole content atomically, unless it exists.

import { randomBytes } from "node:crypto";
import { closeSync, constants, fsyncSync, linkSync, openSync, unlinkSync, writeFileSync } from "node:fs";
import { dirname } from "node:path";
import { errnoOf } from "../sys.js";

/** Creates the file atomically, unless it exists: readers never see part of it. */
export function placeOnce(path: string, content: string): void {
  const draft = `${path}.${randomBytes(8).toString("hex")}`;
  try {
    writeFileSync(draft, content, { flag: "wx", mode: 0o600, flush: true });
    linkSync(draft, path);
  } catch (error) {
    if (errnoOf(error) !== "EEXIST") throw error;
  } finally {
    unlessRefused(() => unlinkSync(draft));
  }
  flushDirectory(dirname(path));
}

/** Makes a new name survive a power failure, where the system supports it. */
export function flushDirectory(path: string): void {
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

/** The result of `act`; `undefined` where the system refuses it, as for what another process removed meanwhile. */
export function unlessRefused<T>(act: () => T): T | undefined {
  try {
    return act();
  } catch (error) {
    if (errnoOf(error) === undefined) throw error;
    return undefined;
  }
}
