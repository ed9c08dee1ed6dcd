// Watches directories for changes, by handle: what is watched is the directory that the handle stands for.

import fs, { type FSWatcher } from "node:fs";
import { Holds } from "../core/turns.js";
import { below, type Pinned } from "./handles.js";

/** Most directories that this process watches. */
const MAX_WATCHED = 8192;

let watched = 0;
/** One caller has a quarter, so that the places of others are watched beside its large ones. */
const shares = new Holds(MAX_WATCHED / 4);

export interface DirectoryWatch {
  close(): void;
}

/**
 * Watches one directory, not what is below it.
 *
 * The kernel resolves the path of the handle to the directory itself, so neither a rename nor a link above leads
 * elsewhere; the handle may be closed afterwards. The path ends in `.`, by which events of the directory itself go.
 *
 * @param onEvent receives the name that changed, `.` for the directory itself; names that are not UTF-8 arrive damaged
 * @param caller whose share it uses; absent: nobody's
 * @returns `undefined` if no more can be watched
 */
export function watchDirectory(
  directory: Pinned,
  onEvent: (name: string) => void,
  caller?: string,
): DirectoryWatch | undefined {
  if (watched >= MAX_WATCHED) return undefined;
  const leave = caller === undefined ? () => {} : shares.take(caller);
  if (leave === undefined) return undefined;
  let watcher: FSWatcher;
  try {
    watcher = fs.watch(below(directory, "."), { persistent: false }, (_type, name) => onEvent(name ?? "."));
  } catch {
    // The system's own limit, or a file system that cannot.
    leave();
    return undefined;
  }
  watched += 1;
  let isOpen = true;
  const close = () => {
    if (!isOpen) return;
    isOpen = false;
    watched -= 1;
    leave();
    watcher.close();
  };
  // Where a watch ends by itself, the directory above tells why.
  watcher.on("error", close);
  return { close };
}
