// Loads koffi, an optional dependency, for system calls that Node does not offer.

import { createRequire } from "node:module";
import { constants } from "node:os";
import { promisify } from "node:util";
import { isMainThread } from "node:worker_threads";
import { isLinux } from "../../core/system.js";

type Koffi = typeof import("koffi");

/** System calls of this process. They block, so they are not for network file systems. */
export interface Library {
  /**
   * Declares `syscall(2)` with the parameters of one system call, the number of the call first.
   * @param parameters C types
   */
  declare<P extends readonly unknown[]>(parameters: string): (...values: P) => number;
  /** Like {@link declare}, for calls in the thread pool. Why one failed is not known. */
  declareAsync<P extends readonly unknown[]>(parameters: string): (...values: P) => Promise<number>;
  /** Number of the error of the last call that was not in the thread pool. */
  errno(): number;
}

const PROCESSORS = new Set(["x64", "arm64"]);
let loaded: Library | undefined;
let isTried = false;

/**
 * @returns `undefined` if koffi is not installed or not usable, and in worker threads: there Node warns about every closed
 * descriptor that it has not opened itself
 */
export function nativeLibrary(): Library | undefined {
  if (!isTried) loaded = isMainThread ? load() : undefined;
  isTried = true;
  return loaded;
}

/** Whether it has been loaded: then to use it costs nothing more. */
export const isNativeLoaded = (): boolean => loaded !== undefined;

function load(): Library | undefined {
  if (!isLinux() || !PROCESSORS.has(process.arch)) return undefined;
  try {
    const koffi: Koffi = createRequire(import.meta.url)("koffi");
    const own = koffi.load(null);
    return {
      declare: <P extends readonly unknown[]>(parameters: string) => {
        const call = own.func(`long syscall(long, ${parameters})`);
        return call as unknown as (...values: P) => number;
      },
      declareAsync: <P extends readonly unknown[]>(parameters: string) => {
        const call = promisify(own.func(`long syscall(long, ${parameters})`).async);
        return call as unknown as (...values: P) => Promise<number>;
      },
      errno: () => koffi.errno(),
    };
  } catch {
    return undefined;
  }
}

/** The name of an error number. */
export const codeOf = (errno: number): string =>
  Object.entries(constants.errno).find(([, number]) => number === errno)?.[0] ?? "EIO";

/** An error in the shape of those of Node. */
export function systemError(errno: number, syscall: string): Error {
  const code = codeOf(errno);
  return Object.assign(new Error(code), { code, errno: -errno, syscall });
}
