// The walk where the system has no handles of directories: by paths.

import fs from "node:fs";
import type { Io } from "../../core/io.js";
import { below, entryPath, type Handles, identity, type Pinned, type PinnedRoot } from "../handles.js";
import { type Stat, statOfName } from "../stat.js";
import { closeNow, type Sys } from "../sys.js";

const { O_NOFOLLOW = 0, O_NONBLOCK = 0 } = fs.constants;

class PathObject implements Pinned {
  readonly fd = -1;
  path: string;
  readonly stat: Stat;

  constructor(path: string, stat: Stat) {
    this.path = path;
    this.stat = stat;
  }

  respell(directory: Pinned, name: string): void {
    this.path = below(directory, name);
  }
}

/**
 * Plain paths, with a no-follow check of each component: the real-path check for platforms without procfs. Links are
 * resolved and judged as on Linux, but a link swapped in between check and use is followed. A file opened through it is refused by
 * `PlacedSys`.
 */
export class PathHandles implements Handles {
  readonly engine = "real-path check";
  readonly #sys: Sys;

  constructor(sys: Sys) {
    this.#sys = sys;
  }

  openRoot(realPath: string): PinnedRoot {
    const stat = statOfName(realPath);
    if (stat === undefined) throw Object.assign(new Error("gone meanwhile"), { code: "ENOENT", syscall: "lstat" });
    return { fd: -1, path: realPath, stat };
  }

  *enter(parent: Pinned, name: string | Buffer): Io<Pinned | "missing" | "not a directory"> {
    const path = entryPath(parent, name);
    const stat = yield* this.#sys.lstat(path);
    if (stat === undefined) return "missing";
    // A name that is not UTF-8 cannot be part of a path string.
    return stat.isDirectory() && typeof path === "string" ? new PathObject(path, stat) : "not a directory";
  }

  *pin(parent: Pinned, name: string | Buffer): Io<Pinned | undefined> {
    const path = entryPath(parent, name);
    const stat = yield* this.#sys.lstat(path);
    // A name that is not UTF-8 cannot be part of a path string.
    return stat === undefined || typeof path !== "string" ? undefined : new PathObject(path, stat);
  }

  *reopen(object: Pinned, flags: number): Io<number> {
    const fd = yield* this.#sys.open(object.path, flags | O_NOFOLLOW | O_NONBLOCK);
    try {
      const now = yield* this.#sys.fstat(fd);
      if (now.identity === identity(object)) return fd;
    } catch (error) {
      closeNow(fd);
      throw error;
    }
    closeNow(fd);
    throw Object.assign(new Error("replaced while it was opened"), { code: "ESTALE", syscall: "open" });
  }
}
