// A disk that is full at some point, without a mount: writes to files of a directory fail as on such a disk.

import fs from "node:fs";
import { join } from "node:path";
import { jest } from "@jest/globals";
import { pool } from "../../src/jail/pool.js";

/** Bytes of all files below a directory, each once. */
export function bytesBelow(directory: string): number {
  const seen = new Map<number, number>();
  for (const entry of fs.readdirSync(directory, { recursive: true, withFileTypes: true })) {
    if (!entry.isFile()) continue;
    const { ino, size } = fs.statSync(join(entry.parentPath, entry.name));
    seen.set(ino, size);
  }
  return [...seen.values()].reduce((sum, size) => sum + size, 0);
}

/** From now on the directory has room for so many bytes in all, until mocks are restored. */
export function limitDisk(directory: string, bytes: number): void {
  const { writeSync } = fs;
  const write = (fd: number, buffer: Uint8Array, at: number, length: number): number => {
    const isThere = fs.readlinkSync(`/proc/self/fd/${fd}`).startsWith(directory);
    const room = isThere ? Math.max(0, bytes - bytesBelow(directory)) : length;
    if (room === 0 && length > 0) throw Object.assign(new Error("ENOSPC"), { code: "ENOSPC", syscall: "write" });
    return writeSync(fd, buffer, at, Math.min(room, length));
  };
  jest.spyOn(fs, "writeSync").mockImplementation(write as typeof fs.writeSync);
  jest.spyOn(pool, "write").mockImplementation((async (...args: Parameters<typeof write>) => ({
    bytesWritten: write(...args),
  })) as unknown as typeof pool.write);
}
