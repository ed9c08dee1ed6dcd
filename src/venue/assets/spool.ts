// The body of an upload on a disk of this machine, until it has come whole and is the right one.

import { randomBytes } from "node:crypto";
import { constants } from "node:fs";
import { open, unlink } from "node:fs/promises";
import { join } from "node:path";
import { writeBody } from "./files.js";

const { O_CREAT, O_EXCL, O_NOFOLLOW, O_RDWR } = constants;

export interface Spooled {
  /** Bytes. */
  readonly size: number;
  read(start: number, length: number): Promise<Buffer>;
  close(): Promise<void>;
}

/** Takes a body in. Its file has no name, so nothing of it outlives the process. @throws the error of the body, or the system's */
export async function spool(folder: string, body: AsyncIterable<Uint8Array>): Promise<Spooled> {
  const path = join(folder, randomBytes(16).toString("hex"));
  const handle = await open(path, O_CREAT | O_EXCL | O_RDWR | O_NOFOLLOW, 0o600);
  try {
    await unlink(path);
    const size = await writeBody(handle, body);
    return {
      size,
      async read(start, length) {
        const { buffer, bytesRead } = await handle.read(Buffer.allocUnsafe(length), 0, length, start);
        if (bytesRead < length) throw new Error("Cannot read an upload again: it has become shorter");
        return buffer;
      },
      close: () => handle.close(),
    };
  } catch (error) {
    await handle.close();
    throw error;
  }
}
