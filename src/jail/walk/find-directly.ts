// Shortcut of a walk: one system call for a path without links.

import { isReservedName } from "../../path/grammar.js";
import { type Pinned, release } from "../handles.js";
import type { WalkRoot } from "./walk-options.js";

/**
 * Finds the object at the end of `names` without walking, if no link is involved and nothing is in doubt.
 * @returns `undefined`: the names must be walked; this discloses nothing
 */
export function findDirectly(root: WalkRoot, names: readonly string[], takesLink: boolean): Pinned | undefined {
  const { handles, top, crossDevice, foldsCase } = root;
  if (handles.reach === undefined || foldsCase || names.length === 0) return undefined;
  if (names.some((name, index) => isReservedName(name, index > 0))) return undefined;
  const object = handles.reach(top, names);
  if (object === undefined) return undefined;
  let isFound = false;
  try {
    const { stat } = object;
    isFound = (crossDevice || stat.device === top.stat.device) && (takesLink || !stat.isSymbolicLink());
  } finally {
    if (!isFound) release(object);
  }
  return isFound ? object : undefined;
}
