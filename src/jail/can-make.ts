import { accessSync, constants, lstatSync, statfsSync, statSync } from "node:fs";
import { dirname } from "node:path";
import { errnoOf } from "./sys.js";

const { W_OK, X_OK } = constants;
/** File systems of the kernel, in which nobody makes anything, although even root is told that it may. */
const KERNEL_TYPES: ReadonlyMap<number, string> = new Map([
  [0x9fa0, "ENOENT"],
  [0x62656572, "EPERM"],
]);

/** Whether a file could be opened to append to it, or made. Nothing is opened or made. @returns the errno it would fail with */
export const whyNotFile = (path: string): string | undefined =>
  failing(() => {
    const stat = statSync(path, { throwIfNoEntry: false });
    if (stat === undefined) return whyNotIn(dirname(path));
    if (stat.isDirectory()) return "EISDIR";
    accessSync(path, W_OK);
    return undefined;
  });

/** Whether a folder is there and can be written in, or could be made. Nothing is made. @returns the errno it would fail with */
export const whyNotFolder = (path: string): string | undefined =>
  failing(() => {
    let at = path;
    while (lstatSync(at, { throwIfNoEntry: false }) === undefined && dirname(at) !== at) at = dirname(at);
    return whyNotIn(at);
  });

/** The same of listening on a Unix socket. One that is there may be a live one, which is not asked. */
export const whyNotSocket = (path: string): string | undefined =>
  failing(() => {
    const stat = lstatSync(path, { throwIfNoEntry: false });
    if (stat === undefined) return whyNotIn(dirname(path));
    return stat.isSocket() ? undefined : "EADDRINUSE";
  });

function whyNotIn(folder: string): string | undefined {
  if (!statSync(folder).isDirectory()) return "ENOTDIR";
  accessSync(folder, W_OK | X_OK);
  return process.platform === "linux" ? KERNEL_TYPES.get(statfsSync(folder).type) : undefined;
}

function failing(look: () => string | undefined): string | undefined {
  try {
    return look();
  } catch (error) {
    const errno = errnoOf(error);
    if (errno === undefined) throw error;
    return errno;
  }
}
