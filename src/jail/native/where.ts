// Asks the system where an open file or directory is now: what a path led to, told by what was opened.

import { closeSync, openSync, readlinkSync, realpathSync } from "node:fs";
import { createRequire } from "node:module";
import { basename } from "node:path";
import { fileURLToPath } from "node:url";
import { isMainThread } from "node:worker_threads";
import { attempt } from "../../core/io.js";
import { systemName } from "../../core/system.js";

/** The path of what a descriptor stands for, in the system's own spelling; `undefined`: it has none, or none that the system tells. */
export type Where = (fd: number) => string | undefined;

type Koffi = typeof import("koffi");

const F_GETPATH = 50;
/** Bytes of the longest path on macOS, and characters of the longest on Windows. */
const MAX_PATH = 1024;
const MAX_WIDE_PATH = 32_768;
/** Names of volumes as the kernel has them: every volume has one, not every one a letter. */
const VOLUME_NAME_NT = 2;

let found: Where | undefined;
let isTried = false;

/** @returns `undefined` where the system cannot be asked: koffi is missing, or this is a thread that could be ended while it loads it */
export function findWhere(): Where | undefined {
  if (!isTried) found = [load(), byProc].find((one) => one !== undefined && isTrustworthy(one));
  isTried = true;
  return found;
}

function load(): Where | undefined {
  const make = isMainThread ? BY_SYSTEM[systemName()] : undefined;
  return attempt(() => make?.(createRequire(import.meta.url)("koffi")));
}

const BY_SYSTEM: Partial<Record<NodeJS.Platform, (koffi: Koffi) => Where>> = {
  darwin(koffi) {
    // Variadic: on arm64 such arguments are passed in another way.
    const fcntl = koffi.load(null).func("int fcntl(int, int, ...)");
    const path = Buffer.alloc(MAX_PATH);
    return (fd) => (fcntl(fd, F_GETPATH, "void *", path) === 0 ? path.toString("utf8", 0, path.indexOf(0)) : undefined);
  },
  win32(koffi) {
    const handleOf = koffi.load(null).func("intptr_t uv_get_osfhandle(int)");
    const nameOf = koffi
      .load("kernel32.dll")
      .func("uint32_t __stdcall GetFinalPathNameByHandleW(intptr_t, void *, uint32_t, uint32_t)");
    const path = Buffer.alloc(2 * MAX_WIDE_PATH);
    return (fd) => {
      const length: number = nameOf(handleOf(fd), path, MAX_WIDE_PATH, VOLUME_NAME_NT);
      return length === 0 || length > MAX_WIDE_PATH ? undefined : path.toString("utf16le", 0, 2 * length);
    };
  },
};

/** Linux, where paths are all that is gone by in tests alone. */
const byProc: Where = (fd) => attempt(() => readlinkSync(`/proc/self/fd/${fd}`));

/** Whether it knows this very file. By its name alone: volumes and shares may have other paths than those that led to them. */
function isTrustworthy(where: Where): boolean {
  const own = fileURLToPath(import.meta.url);
  let fd: number | undefined;
  try {
    fd = openSync(own, "r");
    return where(fd)?.endsWith(basename(realpathSync.native(own))) === true;
  } catch {
    return false;
  } finally {
    if (fd !== undefined) closeSync(fd);
  }
}
