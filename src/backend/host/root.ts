// The current jail of a root, replaced when its directory was deleted and recreated; how calls arrive in it, authorised before
// anything is disclosed, and what they are told of errors of the system.

import type { RelPath } from "../../core/call/path.js";
import { adapterError, type FileAdapterError } from "../../core/errors/errors.js";
import {
  at,
  briefPath,
  danglingSymlink,
  escapeText,
  invalidPath,
  ioError,
  isADirectory,
  noSpace,
  notADirectory,
  notAFile,
  notFound,
  type Place,
  permissionDenied,
  symlinkEscape,
} from "../../core/errors/texts.js";
import type { Io } from "../../core/io.js";
import type { Access } from "../../core/ports/backend.js";
import { isWindows } from "../../core/system.js";
import { type Pinned, renew } from "../../jail/handles.js";
import type { Jail } from "../../jail/jail.js";
import { errnoOf, quietly } from "../../jail/sys.js";
import type { Walk } from "../../jail/walk/walk.js";
import type { Found } from "../../jail/walk/walk-options.js";
import type { Reached } from "./target.js";

/** How a call resolves its path; a change also needs the directories on the way. */
export interface Way {
  readonly followLast: boolean;
  readonly onlyTarget: boolean;
}

/** A finished walk whose real path has been authorised. */
export interface Arrival {
  /** The jail of the walk; the call must do everything else in the same one. */
  readonly jail: Jail;
  /** Closed by the caller that requested it. */
  readonly walk: Walk;
  readonly found: Reached;
}

/**
 * The jail of a root over time. A renamed directory remains the root. A deleted one is replaced by the directory now at
 * its real path, if {@link Jail.replacement} accepts it; until then calls find nothing.
 */
export class HostRoot {
  #jail: Jail;
  readonly #onReplaced: (jail: Jail) => void;
  /** Jails of deleted directories that still serve calls. */
  readonly #old = new Set<Promise<void>>();
  #closing: Promise<void> | undefined;

  /** @param onReplaced receives the new jail before any call uses it */
  constructor(jail: Jail, onReplaced: (jail: Jail) => void) {
    this.#jail = jail;
    this.#onReplaced = onReplaced;
  }

  get jail(): Jail {
    return this.#jail;
  }

  /**
   * Walks to the path and authorises the real path.
   * @param jail of the call's earlier walk: both must be in the same directory
   */
  *enter(path: RelPath, access: Access, way: Way, jail?: Jail): Io<Arrival> {
    for (;;) {
      const entered = jail ?? this.#jail;
      if (entered.recovering !== undefined) yield entered.recovering;
      const { place, scope, links, rules, spellings } = access;
      const walk = entered.walk(path, { place, scope, links, rules, spellings, ...way });
      let isArrived = false;
      try {
        const found = yield* arrive(walk, path, access);
        // A deleted directory is empty, so only these two states can indicate one.
        if (found.state === "missing" && walk.names.length === 0) yield* renew(entered.sys, entered.top);
        const isDeleted = entered.top.stat.nlink === 0 && jail === undefined;
        isArrived = !isDeleted || (yield* this.#replace(entered)) === entered;
        if (isArrived) return { jail: entered, walk, found };
      } finally {
        if (!isArrived) walk.close();
      }
    }
  }

  close(): Promise<void> {
    this.#closing ??= Promise.all([this.#jail.close(), ...this.#old]).then(() => {});
    return this.#closing;
  }

  /** @returns the jail of the current root directory; `deleted` itself if none can be accepted */
  *#replace(deleted: Jail): Io<Jail> {
    // This call uses the thread pool where the file system may be slow; the rest happens once, as after a restart.
    if ((yield* quietly(deleted.sys.lstat(deleted.realPath))) === undefined) return deleted;
    if (this.#jail !== deleted || this.#closing !== undefined) return this.#jail;
    const jail = deleted.replacement();
    if (jail === undefined) return deleted;
    this.#jail = jail;
    this.#onReplaced(jail);
    const ended = deleted.close().finally(() => this.#old.delete(ended));
    this.#old.add(ended);
    return jail;
  }
}

/**
 * Walks, then authorises the real path. An unsuccessful walk behind a link discloses something about the place where it
 * stopped, so the caller needs rights there as well.
 */
function* arrive(walk: Walk, path: RelPath, access: Access): Io<Reached> {
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
  // An end on the requested path discloses nothing beyond the request.
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

const named = (place: Place): string => `'${escapeText(place.root)}:${briefPath(place)}'`;

const BY_ERRNO: Readonly<Record<string, (place: Place) => FileAdapterError>> = {
  ENOENT: notFound,
  ENOTDIR: notADirectory,
  EISDIR: isADirectory,
  EACCES: permissionDenied,
  EPERM: permissionDenied,
  // Not the rights of the caller or the mode of a file: nothing on this file system can be changed.
  EROFS(place) {
    const told = `The file system of ${named(place)} is mounted read-only. Write elsewhere, or have it mounted for writing`;
    return adapterError("READ_ONLY_ROOT", told, at(place));
  },
  ENOSPC: noSpace,
  EDQUOT: noSpace,
  // The opened entry is not at the place of the walk: see `PlacedSys`.
  ELOOP: symlinkEscape,
  ENAMETOOLONG: (place) => invalidPath(place, "too long"),
};

/** Turns failed system calls of `io` into errors that name the requested place and disclose nothing of the system. */
export function* mapErrors<T>(place: Place, io: Io<T>): Io<T> {
  try {
    return yield* io;
  } catch (error) {
    const code = errnoOf(error);
    if (code === undefined) throw error;
    // Windows: open in another program. Elsewhere it is a mount point, or a device.
    if (code === "EBUSY" && isWindows()) {
      const told = `In use by another program: ${named(place)}. Try again, or have it closed there`;
      throw adapterError("BUSY", told, at(place));
    }
    throw BY_ERRNO[code]?.(place) ?? ioError(place, code);
  }
}
