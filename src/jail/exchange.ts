// Exchanges two names in one step where the kernel, the file system and the native library allow it.

import type { Io } from "../core/io.js";
import { codeOf, nativeLibrary, systemError } from "./native/library.js";
import type { Sys } from "./sys.js";

/** The number of `renameat2`, by processor. */
const SYS_RENAMEAT2: Readonly<Record<string, number>> = { x64: 316, arm64: 276 };
const AT_FDCWD = -100;
const RENAME_EXCHANGE = 2;
/** Errors that mean that this file system cannot exchange these names; two renames may do. */
const CANNOT = new Set(["EINVAL", "ENOSYS", "ENOTSUP", "EOPNOTSUPP", "EXDEV"]);

/** Exchanges two names. @returns 0, or the number of the error */
export type ExchangeNames = (one: string, other: string) => number;

let loaded: ExchangeNames | undefined;
let isTried = false;

/**
 * Exchanges two names in one step: at no moment is either of them missing.
 * @param load for tests: loads the native call, if available
 * @returns `false` where that is not possible: nothing has changed
 * @throws system errors
 */
export function* exchange(sys: Sys, one: string, other: string, load = native): Io<boolean> {
  // The call blocks, so it is not for network file systems.
  const call = sys.pooled ? undefined : load();
  // The native call would end a path there. The path grammar admits no NUL.
  if (call === undefined || `${one}${other}`.includes("\0")) return false;
  const errno = call(one, other);
  if (errno === 0) return true;
  if (CANNOT.has(codeOf(errno))) return false;
  throw systemError(errno, "renameat2");
}

function native(): ExchangeNames | undefined {
  if (!isTried) loaded = load();
  isTried = true;
  return loaded;
}

/** @returns `undefined` if the native library is not installed or not usable */
function load(): ExchangeNames | undefined {
  const [library, number] = [nativeLibrary(), SYS_RENAMEAT2[process.arch]];
  if (library === undefined || number === undefined) return undefined;
  const call = library.declare<[number, number, string, number, string, number]>(
    "int, const char *, int, const char *, unsigned int",
  );
  return (one, other) => (call(number, AT_FDCWD, one, AT_FDCWD, other, RENAME_EXCHANGE) === 0 ? 0 : library.errno());
}
