// Reads a small regular file below a directory handle.

import fs from "node:fs";
import { NO_FOLLOW_PATH } from "../handles.js";
import type { NativeCalls } from "../native/calls.js";

/** What {@link readRegular} returns where it has read nothing: there is something else of that name. */
export const NOT_REGULAR = -1;
/** The file has more than `maxBytes`. */
export const TOO_LARGE = -2;
/** Anything else: read it as without this, which decides what is wrong. */
const UNKNOWN = -3;

/** The calls that it takes; each answers `undefined` for whatever it cannot do. */
export type FileCalls = Pick<NativeCalls, "open" | "statOpen" | "reopen">;

interface Room {
  readonly buffer: Buffer;
  /** Where the content is put. */
  readonly at: number;
  /** Most bytes that a file may have. */
  readonly maxBytes: number;
}

/**
 * Pins a file, looks at it, and opens only what is a regular file: never a FIFO or a device put in its place.
 * @param directory descriptor
 * @returns the number of bytes read, or one of the numbers above
 */
export function readRegular(calls: FileCalls, directory: number, name: string, room: Room): number {
  const handle = calls.open(directory, name, NO_FOLLOW_PATH);
  if (handle === undefined) return UNKNOWN;
  let fd: number | undefined;
  try {
    const stat = calls.statOpen(handle);
    if (stat === undefined) return UNKNOWN;
    if (!stat.isFile()) return NOT_REGULAR;
    if (stat.size > room.maxBytes) return TOO_LARGE;
    // Requesting one byte more than expected detects the end in the same call.
    const length = stat.size + 1;
    if (length > room.buffer.length - room.at) return UNKNOWN;
    fd = calls.reopen(handle);
    if (fd === undefined) return UNKNOWN;
    const count = fs.readSync(fd, room.buffer, room.at, length, 0);
    return count < length ? count : UNKNOWN;
  } catch {
    return UNKNOWN;
  } finally {
    if (fd !== undefined) fs.closeSync(fd);
    fs.closeSync(handle);
  }
}
