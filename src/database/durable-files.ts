// Writes to files that have to survive a crash.

import { type FileHandle, open } from "node:fs/promises";
import { isWindows } from "../core/system.js";

/** Windows flushes no directories: NTFS logs their names. */
export const flushesDirectories = (): boolean => !isWindows();

/** Some file systems flush no directories, and one without read permission cannot be opened for it. */
export const isUnflushable = (code: string | undefined): boolean => /^(EINVAL|ENOTSUP|EACCES)$/.test(code ?? "");

/** Makes the names in a directory durable, where that can be. @param flags to open it with @throws the system's error */
export async function syncDirectory(path: string, flags: string | number = "r"): Promise<void> {
  if (!flushesDirectories()) return;
  let handle: FileHandle | undefined;
  try {
    handle = await open(path, flags);
    await handle.sync();
  } catch (error) {
    if (!isUnflushable((error as NodeJS.ErrnoException).code)) throw error;
  } finally {
    await handle?.close();
  }
}

/** Writes all of the bytes, from a position on. @throws the system's error */
export async function writeAll(handle: FileHandle, bytes: Uint8Array, at: number): Promise<void> {
  for (let written = 0; written < bytes.length; ) {
    const { bytesWritten } = await handle.write(bytes, written, bytes.length - written, at + written);
    written += bytesWritten;
  }
}
