// Rotation of the audit file: renames `<name>` to `<name>.1`, `<name>.1` to `<name>.2` and so on, one process at a
// time. Also whether a file ends within a line.

import { lstat, mkdir, open, rename, rmdir, unlink } from "node:fs/promises";
import { setTimeout as pause } from "node:timers/promises";

/** How a process waits for another that rotates: a few renames, so not for long. */
const LOCK_TRIES = 40;
const LOCK_PAUSE_MS = 5;
/** A lock directory this old belongs to no process that is still rotating. */
const LOCK_STALE_MS = 10_000;

/**
 * Rotates a full file. Two processes that rotate at once would rename over each other's files, so each takes a lock
 * directory beside the file, `<name>.rotating`.
 *
 * @param isStillNamed whether `name` is still the file found full; asked again under the lock
 * @returns `false`: another process held the lock for too long, and nothing was renamed
 */
export async function rotate(name: string, keep: number, isStillNamed: () => Promise<boolean>): Promise<boolean> {
  const lock = `${name}.rotating`;
  for (let tries = 0; tries < LOCK_TRIES; tries++) {
    if (await takeLock(lock)) {
      try {
        if (await isStillNamed()) await shift(name, keep);
      } finally {
        await rmdir(lock).catch(() => {});
      }
      return true;
    }
    await pause(LOCK_PAUSE_MS);
  }
  return false;
}

/** Takes a lock directory. One that a killed process left is removed. @throws the system's error, but for EEXIST */
async function takeLock(path: string): Promise<boolean> {
  try {
    await mkdir(path, 0o700);
    return true;
  } catch (error) {
    if (Object(error).code !== "EEXIST") throw error;
    const since = await lstat(path).catch(() => undefined);
    if (since !== undefined && Date.now() - since.mtimeMs > LOCK_STALE_MS) await rmdir(path).catch(() => {});
    return false;
  }
}

/** Deletes the oldest file, renames `<name>.1` to `<name>.2` and so on, and `name` to `<name>.1`. */
async function shift(name: string, keep: number): Promise<void> {
  if (keep === 0) await unlink(name).catch(ignoreMissing);
  for (let age = keep; age > 0; age--) {
    await rename(age === 1 ? name : `${name}.${age - 1}`, `${name}.${age}`).catch(ignoreMissing);
  }
}

function ignoreMissing(error: unknown): void {
  if (typeof error === "object" && error !== null && "code" in error && error.code === "ENOENT") return;
  throw error;
}

/** Whether the last line lacks its newline. A file that is writable but not readable counts as complete. */
export async function endsWithinLine(name: string, size: number): Promise<boolean> {
  const handle = size === 0 ? undefined : await open(name, "r").catch(() => undefined);
  try {
    const last = await handle?.read({ buffer: new Uint8Array(1), position: size - 1 });
    return last !== undefined && last.bytesRead === 1 && last.buffer[0] !== 0x0a;
  } finally {
    await handle?.close();
  }
}
