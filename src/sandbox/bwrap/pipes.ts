// Pipes for standard output and error of a run. Unlike the sockets that Node creates for children, pipes can be opened
// again by path (`> /dev/stderr`).

import { spawnSync } from "node:child_process";
import { closeSync, constants, fchownSync, mkdtempSync, openSync, rmSync } from "node:fs";
import { Socket } from "node:net";
import { tmpdir } from "node:os";
import { join } from "node:path";
import type { Readable } from "node:stream";
import type { Identity } from "./identity.js";

export const MKFIFO = "/usr/bin/mkfifo";
/** Pipes created at a time, so that few runs wait for a helper process. */
const BATCH = 8;

export interface OutputPipe {
  readonly reader: Readable;
  /** Descriptor for the child; close it here after the child has been started. */
  readonly writer: number;
}

export class PipeStock {
  /** Descriptors of named pipes already unlinked. */
  readonly #stock: number[] = [];

  /**
   * @param identity user who may open it by path; absent: this process's
   * @throws Error if none can be created
   */
  take(identity: Identity | undefined): OutputPipe {
    if (this.#stock.length === 0) this.#stock.push(...makePipes());
    const held = this.#stock.pop();
    if (held === undefined) throw new Error("there is no pipe");
    try {
      if (identity !== undefined) fchownSync(held, identity.uid, identity.gid);
      const writer = openSync(`/proc/self/fd/${held}`, constants.O_WRONLY);
      const fd = openSync(`/proc/self/fd/${held}`, constants.O_RDONLY | constants.O_NONBLOCK);
      return { writer, reader: new Socket({ fd, readable: true, writable: false }) };
    } finally {
      closeSync(held);
    }
  }
}

function makePipes(): number[] {
  const directory = mkdtempSync(join(tmpdir(), "venue-files-pipes-"));
  try {
    const names = Array.from({ length: BATCH }, (_, index) => String(index));
    const { status, error, stderr } = spawnSync(MKFIFO, ["-m", "600", ...names], { cwd: directory, env: {} });
    if (status !== 0) throw error ?? new Error(`mkfifo: ${stderr.toString("utf8").trim()}`);
    const flags = constants.O_RDWR | constants.O_NONBLOCK | constants.O_NOFOLLOW;
    return names.map((name) => openSync(join(directory, name), flags));
  } finally {
    rmSync(directory, { recursive: true, force: true });
  }
}
