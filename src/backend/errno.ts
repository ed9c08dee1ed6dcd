// Maps errno codes to errors for callers.

import { inUse, readOnlyFileSystem } from "../core/errors/edit-texts.js";
import type { FileAdapterError } from "../core/errors/errors.js";
import {
  invalidPath,
  ioError,
  isADirectory,
  noSpace,
  notADirectory,
  notFound,
  type Place,
  permissionDenied,
  symlinkEscape,
} from "../core/errors/texts.js";
import type { Io } from "../core/io.js";
import { isWindows } from "../core/system.js";
import { errnoOf } from "../jail/sys.js";

const BY_ERRNO: Readonly<Record<string, (place: Place) => FileAdapterError>> = {
  ENOENT: notFound,
  ENOTDIR: notADirectory,
  EISDIR: isADirectory,
  EACCES: permissionDenied,
  EPERM: permissionDenied,
  EROFS: readOnlyFileSystem,
  ENOSPC: noSpace,
  EDQUOT: noSpace,
  // What was opened is not where the walk was: see `PlacedSys`.
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
    // Elsewhere it is a mount point, or a device.
    if (code === "EBUSY" && isWindows()) throw inUse(place);
    throw BY_ERRNO[code]?.(place) ?? ioError(place, code);
  }
}
