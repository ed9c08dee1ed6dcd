import { chmodSync, lstatSync, unlinkSync } from "node:fs";
import { connect } from "node:net";
import { codeOf } from "./context.js";

const PRIVATE = 0o600;

/**
 * Listens on a Unix socket that only its owner may use. A socket that a process left behind is removed first; one that
 * somebody answers on is not.
 *
 * @throws the error of the system, for example with `code` `EADDRINUSE`
 */
export async function listenOnSocket(path: string, listen: () => Promise<unknown>): Promise<void> {
  if (isSocket(path) && !(await isAnswered(path))) unlinkSync(path);
  await listen();
  chmodSync(path, PRIVATE);
}

function isSocket(path: string): boolean {
  return lstatSync(path, { throwIfNoEntry: false })?.isSocket() === true;
}

function isAnswered(path: string): Promise<boolean> {
  return new Promise((resolve) => {
    const socket = connect(path);
    const end = (answered: boolean) => {
      socket.destroy();
      resolve(answered);
    };
    socket.once("connect", () => end(true));
    // Anything but a clear "nobody is there" means hands off.
    socket.once("error", (error) => end(codeOf(error) !== "ECONNREFUSED"));
  });
}
