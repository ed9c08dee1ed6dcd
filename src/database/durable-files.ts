// Writes to files that have to survive a crash.

import { randomBytes } from "node:crypto";
import { type FileHandle, open, rename, rm, writeFile } from "node:fs/promises";
import { dirname } from "node:path";
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

/**
 * Writes a file whole, mode 0600, or leaves what was there.
 * @param durable it is on the disk when this resolves
 * @throws the system's error
 */
export async function replaceWhole(path: string, content: string | Uint8Array, { durable }: { durable: boolean }) {
  const draft = `${path}.${randomBytes(6).toString("hex")}.new`;
  try {
    await writeFile(draft, content, { flag: "wx", mode: 0o600, flush: durable });
    await rename(draft, path);
  } catch (error) {
    await rm(draft, { force: true });
    throw error;
  }
  if (durable) await syncDirectory(dirname(path));
}

/** Writes all of the bytes, from a position on. @throws the system's error */
export async function writeAll(handle: FileHandle, bytes: Uint8Array, at: number): Promise<void> {
  for (let written = 0; written < bytes.length; ) {
    const { bytesWritten } = await handle.write(bytes, written, bytes.length - written, at + written);
    written += bytesWritten;
  }
}
