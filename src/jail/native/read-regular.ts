// Reads a small regular file below a directory handle.

import fs from "node:fs";
import { NO_FOLLOW_PATH } from "../handles.js";
import type { NativeCalls } from "./calls.js";

/** Result of {@link readRegular} where the name is no regular file. */
export const NOT_REGULAR = -1;
/** The file has more than `maxBytes`. */
export const TOO_LARGE = -2;
/** Anything else: read it as without this, which decides what is wrong. */
const UNKNOWN = -3;

/**
 * Pins a file, looks at it, and opens only what is a regular file: never a FIFO or a device put in its place.
 * @param directory descriptor
 * @returns the number of bytes read, or one of the numbers above
 */
export function readRegular(
  calls: NativeCalls,
  directory: number,
  name: string,
  buffer: Buffer,
  maxBytes: number,
): number {
  const handle = calls.open(directory, name, NO_FOLLOW_PATH);
  if (handle === undefined) return UNKNOWN;
  let fd: number | undefined;
  try {
    const stat = calls.statOpen(handle);
    if (stat === undefined) return UNKNOWN;
    if (!stat.isFile()) return NOT_REGULAR;
    if (stat.size > maxBytes) return TOO_LARGE;
    // Requesting one byte more than expected detects the end in the same call.
    const length = stat.size + 1;
    if (length > buffer.length) return UNKNOWN;
    fd = calls.reopen(handle);
    if (fd === undefined) return UNKNOWN;
    const count = fs.readSync(fd, buffer, 0, length, 0);
    return count < length ? count : UNKNOWN;
  } catch {
    return UNKNOWN;
  } finally {
    if (fd !== undefined) fs.closeSync(fd);
    fs.closeSync(handle);
  }
}
