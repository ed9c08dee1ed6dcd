// System calls by path that use nothing of what they opened before it is known to be where its path says.

import fs from "node:fs";
import type { Identity } from "../../core/identity.js";
import type { Io } from "../../core/io.js";
import { isWindows } from "../../core/system.js";
import { type Pinned, READ_DIRECTORY } from "../handles.js";
import { statOfOpen } from "../stat.js";
import { closeNow, Sys } from "../sys.js";
import type { NativeSource } from "./calls.js";
import type { Where } from "./where.js";

const { O_NONBLOCK = 0 } = fs.constants;

/** Where a root is. */
interface RootPlace {
  /** As its paths begin. */
  readonly path: string;
  /** As the system says it. */
  readonly told: string;
  readonly where: Where;
  readonly identity: Identity;
}

/**
 * For the real-path check: another program may put a link in place of a directory after the walk has looked at it, so the system is
 * asked where the opened one is. Names, stats, renames and removals go by their paths alone.
 */
export class PlacedSys extends Sys {
  #root: RootPlace | undefined;

  /** @param root absent: the system cannot be asked */
  constructor(usePool: boolean, native?: NativeSource, root?: RootPlace) {
    super(usePool, native);
    this.#root = root;
  }

  override *open(path: string | Buffer, flags: number, mode?: number): Io<number> {
    const fd = yield* super.open(path, flags, mode);
    try {
      this.#requirePlace(fd, String(path));
      return fd;
    } catch (error) {
      closeNow(fd);
      throw error;
    }
  }

  *confirm({ path }: Pinned): Io<void> {
    if (this.#root !== undefined) closeNow(yield* this.open(path, READ_DIRECTORY | O_NONBLOCK));
  }

  /** @throws ELOOP, ESTALE */
  #requirePlace(fd: number, path: string): void {
    const root = this.#root;
    const is = root?.where(fd);
    if (root === undefined || isAt(is, root, path)) return;
    // A file without a name is nowhere.
    const isGone = is === undefined || statOfOpen(fd).nlink === 0;
    // The root, or a directory above it, may have got another spelling since: it is the same directory still.
    const now = isGone ? undefined : placeOf(root.path, root.where);
    if (now === undefined || now.identity !== root.identity || !isAt(is, now, path))
      throw Object.assign(new Error("elsewhere"), { code: isGone ? "ESTALE" : "ELOOP", syscall: "open" });
    this.#root = now;
  }
}

const isAt = (is: string | undefined, { path: top, told }: RootPlace, path: string): boolean =>
  is !== undefined && path.startsWith(top) && plain(is) === plain(told + path.slice(top.length));

/** macOS may store a name in another normal form; Windows ends the top of a volume, which may be a folder, with a separator. */
const plain = (path: string): string => (isWindows() ? path.replaceAll(/[\\/]+/g, "/") : path).normalize("NFC");

/** @returns `undefined` if the system does not say where the root is */
export function placeOf(path: string, where: Where): RootPlace | undefined {
  const fd = fs.openSync(path, fs.constants.O_RDONLY);
  try {
    const told = where(fd);
    return told === undefined ? undefined : { path, told, where, identity: statOfOpen(fd).identity };
  } finally {
    fs.closeSync(fd);
  }
}

/** @throws ELOOP if a directory that is known by its path is not where that says */
export function* confirm(sys: Sys, directory: Pinned): Io<void> {
  if (sys instanceof PlacedSys) yield* sys.confirm(directory);
}

/** Does what goes by the path of a directory, and drops the result if that led elsewhere before or afterwards. */
export function* confirmed<T>(sys: Sys, directory: Pinned, work: Io<T>): Io<T> {
  yield* confirm(sys, directory);
  const result = yield* work;
  yield* confirm(sys, directory);
  return result;
}
