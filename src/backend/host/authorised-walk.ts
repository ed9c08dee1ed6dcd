// Walks to a path and authorises the real path before anything is disclosed.

import type { RelPath } from "../../core/call/path.js";
import { danglingSymlink, isADirectory, notADirectory, notAFile, notFound } from "../../core/errors/texts.js";
import type { Io } from "../../core/io.js";
import type { Access } from "../../core/ports/backend.js";
import type { Pinned } from "../../jail/handles.js";
import type { Walk } from "../../jail/walk/walk.js";
import type { Found } from "../../jail/walk/walk-result.js";
import type { Reached } from "./target.js";

/**
 * Walks, then authorises the real path. An unsuccessful walk behind a link discloses something about the place where it
 * stopped, so the caller needs rights there as well.
 */
export function* arrive(walk: Walk, path: RelPath, access: Access): Io<Reached> {
  let found: Found;
  try {
    found = yield* walk.run();
  } catch (error) {
    authoriseEnd(walk, path, access);
    throw error;
  }
  if (found.state !== "dangling") {
    access.real(found.real, walk.crossedLink);
    return found;
  }
  authoriseEnd(walk, path, access);
  access.real(found.real);
  throw danglingSymlink(access.place);
}

function authoriseEnd(walk: Walk, path: RelPath, access: Access): void {
  const { reached } = walk;
  // On the requested path itself, nothing beyond the request is disclosed.
  const requested = reached.every((name, index) => name === path.segments[index]);
  if (walk.crossedLink && !requested) access.real(reached);
}

export function directoryOf(found: Reached, access: Access): Pinned {
  if (found.state !== "found") throw notFound(access.place);
  if (!found.object.stat.isDirectory()) throw notADirectory(access.place);
  return found.object;
}

export function fileOf(found: Reached, access: Access): Pinned {
  if (found.state !== "found") throw notFound(access.place);
  if (found.object.stat.isDirectory()) throw isADirectory(access.place);
  if (!found.object.stat.isFile()) throw notAFile(access.place);
  return found.object;
}
