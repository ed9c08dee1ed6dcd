import { createWriteStream } from "node:fs";
import { open } from "node:fs/promises";
import type { AuditRecord, AuditSink } from "./record.js";

/**
 * Appends records to a file as JSON lines, mode 0600 when it is new.
 * @param onError told of every failure after opening; records are lost then, calls are not
 * @throws the system's error when the file cannot be opened
 */
export async function openAuditFile(path: string, onError: (error: Error) => void): Promise<AuditSink> {
  // Opened here, so that a wrong path is a start-up error and not a surprise at the first call.
  const handle = await open(path, "a", 0o600);
  const stream = createWriteStream("", { fd: handle, autoClose: true });
  stream.on("error", onError);
  return {
    write: (record: AuditRecord) => void stream.write(`${JSON.stringify(record)}\n`),
    close: () =>
      new Promise((resolve) => {
        if (stream.closed) return resolve();
        stream.once("close", resolve);
        stream.end();
      }),
  };
}
