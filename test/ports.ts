import { createServer } from "node:net";

/** Below those that connections and listeners on any port take; other suites run in other processes, and begin elsewhere. */
let next = 10_000 + (process.pid % 20_000);

/** A port for a program that cannot be told to take any. */
export async function freePort(hostname = "127.0.0.1"): Promise<number> {
  const port = next++;
  const server = createServer();
  const isFree = await new Promise<boolean>((resolve) => {
    server.once("error", () => resolve(false));
    server.listen(port, hostname, () => resolve(true));
  });
  if (!isFree) return freePort(hostname);
  await new Promise((resolve) => server.close(resolve));
  return port;
}
