import { connect, createServer } from "node:net";

/** What a file system, or a sandbox, answers that has no sockets. */
const NO_SOCKETS = new Set(["EPERM", "EACCES", "ENOTSUP", "EOPNOTSUPP", "EINVAL", "ENOSYS"]);

/**
 * Answers at a socket for as long as this process lives. Unlike a file that names a process it cannot be mistaken after
 * a crash, not even in another container on the same machine.
 *
 * @param path at most 107 bytes
 * @returns a function that ends it; `undefined` where there are no sockets
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
  // Without descriptors for one more connection it still answers: the system accepts by itself.
  server.on("error", () => {});
  server.unref();
  return () => new Promise((resolve) => server.close(() => resolve()));
}

/** Whether a process answers at a socket. Anything but a clear "nobody is there" counts as one. */
export function isAnswered(path: string): Promise<boolean> {
  return new Promise((resolve) => {
    const socket = connect(path);
    socket.once("connect", () => {
      socket.destroy();
      resolve(true);
    });
    socket.once("error", (error) => resolve(!["ECONNREFUSED", "ENOENT"].includes(codeOf(error))));
  });
}

function codeOf(error: unknown): string {
  const { code }: { code?: unknown } = typeof error === "object" && error !== null ? error : {};
  return typeof code === "string" ? code : "";
}
