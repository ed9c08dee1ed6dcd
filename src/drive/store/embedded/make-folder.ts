import { lstatSync, mkdirSync, statSync } from "node:fs";
import { dirname } from "node:path";

const PRIVATE = 0o700;

/**
 * Makes a folder for its owner alone, and what is missing above it, one level at a time. Node's recursive mkdir never
 * returns where a file system answers ENOENT for a folder that cannot be made although its parent is there, such as /proc.
 *
 * @param path absolute
 * @throws the system's error
 */
export function makeFolder(path: string): void {
  const missing: string[] = [];
  for (let at = path; isMissing(at) && dirname(at) !== at; at = dirname(at)) missing.unshift(at);
  for (const folder of missing) makeOne(folder);
  // The system says best what is in its place.
  if (!isDirectory(path)) mkdirSync(path, { mode: PRIVATE });
}

function isDirectory(path: string): boolean {
  return statSync(path, { throwIfNoEntry: false })?.isDirectory() === true;
}

function isMissing(path: string): boolean {
  try {
    return lstatSync(path, { throwIfNoEntry: false }) === undefined;
  } catch {
    // Whatever it is, to make something in it will tell.
    return true;
  }
}

function makeOne(path: string): void {
  try {
    mkdirSync(path, { mode: PRIVATE });
  } catch (error) {
    // Another process was faster.
    if (!isExisting(error)) throw error;
  }
}

const isExisting = (error: unknown): boolean =>
  typeof error === "object" && error !== null && "code" in error && error.code === "EEXIST";
