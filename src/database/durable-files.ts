// Writes to files that have to survive a crash.

import { type FileHandle, open } from "node:fs/promises";

/** Makes the names in a directory durable. @param flags to open it with @throws the system's error */
export async function syncDirectory(path: string, flags: string | number = "r"): Promise<void> {
  const handle = await open(path, flags);
  await handle.sync().finally(() => handle.close());
}

/** Writes all of the bytes, from a position on. @throws the system's error */
export async function writeAll(handle: FileHandle, bytes: Uint8Array, at: number): Promise<void> {
  for (let written = 0; written < bytes.length; ) {
    const { bytesWritten } = await handle.write(bytes, written, bytes.length - written, at + written);
    written += bytesWritten;
  }
}
