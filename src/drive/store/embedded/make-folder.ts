// Creation of private folders.

import { lstatSync, mkdirSync, statfsSync, statSync } from "node:fs";
import { dirname } from "node:path";
import { codeOf } from "../../../core/unknown.js";
import { storeUnavailable } from "../checks.js";

const PRIVATE = 0o700;

/**
 * Creates a folder accessible to its owner only, with missing parents, one level at a time. Node's recursive mkdir
 * never returns where a file system answers ENOENT for a folder that cannot be created although its parent exists, such
 * as /proc.
 *
 * @param path absolute
 * @throws the system's error
 */
export function makeFolder(path: string): void {
  const missing: string[] = [];
  for (let at = path; isMissing(at) && dirname(at) !== at; at = dirname(at)) missing.unshift(at);
  for (const folder of missing) makeOne(folder);
  // Fails with the system's error for whatever is in its place.
  if (!isDirectory(path)) mkdirSync(path, { mode: PRIVATE });
}

function isDirectory(path: string): boolean {
  return statSync(path, { throwIfNoEntry: false })?.isDirectory() === true;
}

function isMissing(path: string): boolean {
  try {
    return lstatSync(path, { throwIfNoEntry: false }) === undefined;
  } catch {
    // Any other error shows when something is created in it.
    return true;
  }
}

function makeOne(path: string): void {
  try {
    mkdirSync(path, { mode: PRIVATE });
  } catch (error) {
    // Another process created it first.
    if (codeOf(error) !== "EEXIST") throw error;
  }
}

/**
 * File system types of NFS, SMB (three kinds), AFS, Coda, Ceph, Lustre, GPFS and OCFS2, where locks and memory maps are
 * unreliable.
 */
const NETWORK_TYPES = new Set([
  0x6969, 0x517b, 0xff534d42, 0xfe534d42, 0x5346414f, 0x73757245, 0x00c36400, 0x0bd00bd0, 0x47504653, 0x7461636f,
]);

/** @throws STORE_UNAVAILABLE if the folder is known to be on a network file system */
export function refuseNetwork(folder: string, typeOf = (path: string): number => statfsSync(path).type): void {
  // The type is a signed number on some systems.
  if (NETWORK_TYPES.has(typeOf(folder) >>> 0))
    throw storeUnavailable("it is on a network file system; use a local disk or an object store");
}
