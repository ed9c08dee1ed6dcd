// A lock held by a listening Unix socket: the system releases it when the process dies.

import { connect, createServer } from "node:net";
import { codeOf } from "../../core/unknown.js";

/** Error codes of file systems and sandboxes that do not support Unix sockets. */
const NO_SOCKETS: ReadonlySet<string | undefined> = new Set([
  "EPERM",
  "EACCES",
  "ENOTSUP",
  "EOPNOTSUPP",
  "EINVAL",
  "ENOSYS",
]);

/**
 * Listens on a socket for as long as this process lives. Unlike a pid file it cannot be misread after a crash, not even
 * in another container on the same machine.
 *
 * @param path at most 107 bytes
 * @returns a function that stops listening; `undefined` where sockets are not supported
 */
export async function answerAt(path: string): Promise<(() => Promise<void>) | undefined> {
  const server = createServer((socket) => socket.destroy());
  try {
    await new Promise<void>((resolve, reject) => {
      server.once("error", reject);
      server.listen({ path, exclusive: true }, resolve);
    });
  } catch (error) {
    if (NO_SOCKETS.has(codeOf(error))) return undefined;
    throw error;
  }
  // For example EMFILE: without a free descriptor connecting still succeeds, since the system accepts into the backlog.
  server.on("error", () => {});
  server.unref();
  return () => new Promise((resolve) => server.close(() => resolve()));
}

/** Whether a process listens on a socket. Anything but a definite refusal counts as yes. */
export function isAnswered(path: string): Promise<boolean> {
  return new Promise((resolve) => {
    const socket = connect(path);
    socket.once("connect", () => {
      socket.destroy();
      resolve(true);
    });
    socket.once("error", (error) => resolve(!["ECONNREFUSED", "ENOENT"].includes(codeOf(error) ?? "")));
  });
}
