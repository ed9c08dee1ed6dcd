// Finds entries whose names look the same as a missing path, as far as the caller may list them.

import { adapterError, type FileAdapterError } from "../../core/errors/errors.js";
import { escapeText, type Place } from "../../core/errors/texts.js";
import type { PathCall } from "../../core/ports/operation.js";
import { unseenDifference } from "../../path/looks.js";
import { PathSearch } from "./path-search.js";

const searchIn = ({ root, at }: Pick<PathCall, "root" | "at">): PathSearch =>
  new PathSearch(root.name, { at, roots: [], disclosesHostPaths: false });

/** The path that is there and looks the same, if there is one, and how it differs. */
export async function findAlike(call: PathCall): Promise<{ path: string; hint: string } | undefined> {
  const path = (await searchIn(call).findAlike(call.path.segments))?.join("/");
  if (path === undefined) return undefined;
  const difference = unseenDifference(path, call.path.text) ?? "spelled otherwise";
  return { path, hint: `Looks the same: "${escapeText(path)}" (${difference})` };
}

/**
 * Refuses to make the folders above a path where an existing folder looks the same. A caller that wants both makes the
 * folder by itself. @throws PARENT_MISSING
 */
export async function refuseTwinFolders({ root, at, path, access, terms }: PathCall, parents = true): Promise<void> {
  const above = path.segments.slice(0, -1);
  // A profile has rules of its own.
  if (!parents || above.length === 0 || terms !== undefined) return;
  const search = searchIn({ root, at });
  if (await search.exists(above)) return;
  const alike = await search.findAlike(above, true);
  if (alike !== undefined) throw looksAlike(access.place, alike.join("/"));
}

const looksAlike = (place: Place, path: string): FileAdapterError =>
  adapterError(
    "PARENT_MISSING",
    `A folder that looks the same is there: "${escapeText(path)}". Use its name, or make another with file:mkdir`,
    { ...place, suggestions: [{ root: place.root, path }], next: { tool: "file:mkdir" } },
  );
