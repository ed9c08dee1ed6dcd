// Sets the times of files and directories.

import fs from "node:fs";
import { promisify } from "node:util";
import type { Io } from "../core/io.js";
import type { Sys } from "./sys.js";

/** Keeps a time in seconds, as a floating-point number, from being cut to the millisecond before. */
const ROUNDING_MS = 0.001;

const pool = { utimes: promisify(fs.utimes), futimes: promisify(fs.futimes) };

/** For a negative number Node sets the time of now, and its fractions are not understood by libuv. */
const timeOf = (modified: number): number | Date =>
  modified < 0 ? new Date(Math.floor(modified / 1000) * 1000) : (modified + ROUNDING_MS) / 1000;

/** Sets access and modification time of what a path leads to. @param modified milliseconds since the epoch */
export function* setTime(sys: Sys, path: string, modified: number): Io<void> {
  const seconds = timeOf(modified);
  if (sys.pooled) yield pool.utimes(path, seconds, seconds);
  else fs.utimesSync(path, seconds, seconds);
}

/** Likewise of an open file. */
export function* setTimeOfOpen(sys: Sys, fd: number, modified: number): Io<void> {
  const seconds = timeOf(modified);
  if (sys.pooled) yield pool.futimes(fd, seconds, seconds);
  else fs.futimesSync(fd, seconds, seconds);
}
