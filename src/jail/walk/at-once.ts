import { isReservedName } from "../../path/grammar.js";
import { type Pinned, release } from "../handles.js";
import type { WalkRoot } from "./walk-options.js";

/**
 * What a walk would find at the end of `names`, without the walk; only where it meets neither link nor doubt.
 * @returns `undefined` to have the names walked: nothing is known then, and nothing may be told
 */
export function findAtOnce(root: WalkRoot, names: readonly string[], takesLink: boolean): Pinned | undefined {
  const { handles, top, crossDevice, foldsCase } = root;
  if (handles.reach === undefined || foldsCase || names.length === 0) return undefined;
  if (names.some((name, index) => isReservedName(name, index === 0))) return undefined;
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
