// Predicts whether a file, directory or socket could be created at a host path, without creating anything.

import { accessSync, constants, lstatSync, statfsSync, statSync } from "node:fs";
import { dirname } from "node:path";
import { isLinux } from "../core/system.js";
import { errnoOf } from "./sys.js";

const { W_OK, X_OK } = constants;
/** Kernel file systems (magic number → name): nothing can be created there, although access(2) tells root otherwise. */
const KERNEL_TYPES: ReadonlyMap<number, string> = new Map([
  [0x9fa0, "ENOENT"],
  [0x62656572, "EPERM"],
]);

/**
 * Checks whether a file could be opened for appending, or created.
 * @returns the errno it would fail with; `undefined`: it would succeed
 */
export const fileErrno = (path: string): string | undefined =>
  catchErrno(() => {
    const stat = statSync(path, { throwIfNoEntry: false });
    if (stat === undefined) return parentErrno(dirname(path));
    if (stat.isDirectory()) return "EISDIR";
    accessSync(path, W_OK);
    return undefined;
  });

/**
 * Checks whether a directory exists and is writable, or could be created.
 * @returns the errno it would fail with; `undefined`: it would succeed
 */
export const folderErrno = (path: string): string | undefined =>
  catchErrno(() => {
    let at = path;
    while (lstatSync(at, { throwIfNoEntry: false }) === undefined && dirname(at) !== at) at = dirname(at);
    return parentErrno(at);
  });

/** Checks whether a Unix socket could be listened on. An existing socket is accepted without connecting to it. */
export const socketErrno = (path: string): string | undefined =>
  catchErrno(() => {
    const stat = lstatSync(path, { throwIfNoEntry: false });
    if (stat === undefined) return parentErrno(dirname(path));
    return stat.isSocket() ? undefined : "EADDRINUSE";
  });

function parentErrno(folder: string): string | undefined {
  if (!statSync(folder).isDirectory()) return "ENOTDIR";
  accessSync(folder, W_OK | X_OK);
  return isLinux() ? KERNEL_TYPES.get(statfsSync(folder).type) : undefined;
}

function catchErrno(look: () => string | undefined): string | undefined {
  try {
    return look();
  } catch (error) {
    const errno = errnoOf(error);
    if (errno === undefined) throw error;
    return errno;
  }
}
