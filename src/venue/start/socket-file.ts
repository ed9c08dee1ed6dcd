// Listens on Unix sockets that only their owner can use.

import { chmodSync, lstatSync, rmSync } from "node:fs";
import { isAnswered } from "../assets/lock.js";

const PRIVATE = 0o600;

/**
 * Listens on a Unix socket that only its owner may use. A stale socket file is removed first; a socket that a process
 * answers on is not.
 *
 * @throws the system's error, for example with `code` `EADDRINUSE`
 */
export async function listenOnSocket<T>(path: string, listen: () => Promise<T>): Promise<T> {
  if (isSocket(path) && !(await isAnswered(path))) rmSync(path, { force: true });
  const listening = await listen();
  chmodSync(path, PRIVATE);
  return listening;
}

function isSocket(path: string): boolean {
  return lstatSync(path, { throwIfNoEntry: false })?.isSocket() === true;
}
