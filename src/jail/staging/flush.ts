// Makes the names in directories survive a power failure.

import type { Io } from "../../core/io.js";
import { flushesDirectories, isUnflushable } from "../../database/durable-files.js";
import { type Pinned, READ_DIRECTORY } from "../handles.js";
import type { Jail } from "../jail.js";
import { pool } from "../pool.js";
import { closeNow, errnoOf } from "../sys.js";

/** Flushes directories at once. @throws system errors, unless they cannot be flushed at all */
export function* flushDirectories(jail: Jail, directories: readonly Pinned[]): Io<void> {
  const fds = yield* openDirectories(jail, directories);
  try {
    yield* flushOpen(fds);
  } finally {
    fds.forEach(closeNow);
  }
}

/** Opens those that can be flushed. */
export function* openDirectories(jail: Jail, directories: readonly Pinned[]): Io<number[]> {
  const fds: number[] = [];
  if (!flushesDirectories()) return fds;
  for (const directory of directories) {
    try {
      fds.push(yield* jail.handles.reopen(directory, READ_DIRECTORY));
    } catch (error) {
      if (isUnflushable(errnoOf(error))) continue;
      fds.forEach(closeNow);
      throw error;
    }
  }
  return fds;
}

/** Flushes open files and directories. Several at once cost a journalling file system little more than one. */
export function* flushOpen(fds: readonly number[], isTolerated = isUnflushable): Io<void> {
  const results = (yield Promise.allSettled(fds.map((fd) => pool.fsync(fd)))) as PromiseSettledResult<void>[];
  for (const result of results) {
    if (result.status === "rejected" && !isTolerated(errnoOf(result.reason))) throw result.reason;
  }
}
