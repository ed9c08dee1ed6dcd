// Compares paths of the host. One folder has many spellings (case, normalisation, short names, mounts), so text alone lets some pass.

import { readlinkSync, realpathSync, statSync } from "node:fs";
import { basename, dirname, join, resolve } from "node:path";
import { type Identity, identityOf } from "../core/identity.js";
import { attempt } from "../core/io.js";
import { isSameSpelling, isWindows } from "../core/system.js";

/** The path as the system itself spells it, without links. @throws the system's error */
export function realHostPath(path: string): string {
  return attempt(() => realpathSync.native(path)) ?? realByNode(path);
}

/** Some drives of Windows (in memory, in a network) cannot tell: there the spelling is the one given, so it is folded. */
function realByNode(path: string): string {
  const real = realpathSync(path);
  // Letters that every file system folds: the path is used as well.
  return isWindows() ? real.replace(/[A-Z]/g, (letter) => letter.toLowerCase()) : real;
}

/** Links that lead to what is not there yet are followed so often, then taken as they are. */
const MAX_LINKS = 40;

/** The real path; of a path that does not exist yet, where it would be created: what is made through a link is made where that leads. */
export function realPath(path: string, links = MAX_LINKS): string {
  try {
    return realHostPath(path);
  } catch {
    const parent = dirname(path);
    if (parent === path) return path;
    const folder = realPath(parent, links);
    const at = join(folder, basename(path));
    const target = links > 0 ? attempt(() => readlinkSync(at)) : undefined;
    return target === undefined ? at : realPath(resolve(folder, target), links - 1);
  }
}

/**
 * The names from a folder down to a path in it, none for the folder itself; `undefined` if it lies elsewhere.
 *
 * @param path absolute, need not exist; a real path unless links on its way are to count as names
 * @param folder likewise
 */
export function namesBelow(path: string, folder: string): readonly string[] | undefined {
  const top = identityAt(folder);
  const isFolder = (at: string): boolean => {
    const own = top === undefined ? undefined : identityAt(at);
    return at === folder || (own === undefined ? isSameSpelling(at, folder) : own === top);
  };
  const names: string[] = [];
  for (let at = path; ; at = dirname(at)) {
    if (isFolder(at)) return names.reverse();
    if (dirname(at) === at) return undefined;
    names.push(basename(at));
  }
}

/** Whether a path is a folder or lies in it. Both are real paths. */
export const isInside = (path: string, folder: string): boolean => namesBelow(path, folder) !== undefined;

/** Whether a path lies below a folder. Both are real paths. */
export const isBelow = (path: string, folder: string): boolean => (namesBelow(path, folder)?.length ?? 0) > 0;

/** Whether two paths name one folder, including case-insensitive file systems and bind mounts. */
export function isSameFolder(one: string, other: string): boolean {
  if (one === other) return true;
  const identity = identityAt(one);
  return identity !== undefined && identity === identityAt(other);
}

/** `undefined` where nothing is, or the file system has no numbers. An unreadable path is told when it is opened. */
function identityAt(path: string): Identity | undefined {
  const stat = attempt(() => statSync(path, { bigint: true }));
  return stat === undefined || stat.ino === 0n ? undefined : identityOf(stat);
}
