// Describes the entry at a path of a root now; the journal completes the entries of dead processes from this.

import { FileAdapterError } from "../../../core/errors/errors.js";
import type { Sha256 } from "../../../core/etag.js";
import type { Io } from "../../../core/io.js";
import type { Part, Present } from "../../../core/ports/changes/journal-writer.js";
import { type Pinned, READ, release } from "../../../jail/handles.js";
import type { Jail } from "../../../jail/jail.js";
import { finishWithReserve } from "../../../jail/reserve.js";
import { closeNow, errnoOf } from "../../../jail/sys.js";
import { kindOf, stateOf } from "../changes/report.js";
import { directoryFinder } from "../group/recovery.js";
import { hashOpen } from "../open.js";

/** Looks at a path. @throws ABORTED if the jail is closing: the next start then completes the journal entry */
export function* lookAtPresent(
  jail: Jail,
  path: readonly string[],
  part: Part | undefined,
): Io<Present | "missing" | "unknown"> {
  try {
    return yield* finishWithReserve(presentAt(jail, path, part));
  } catch (error) {
    const isRefused = errnoOf(error) !== undefined || error instanceof FileAdapterError;
    if (jail.isClosing || !isRefused) throw error;
    return "unknown";
  }
}

function* presentAt(jail: Jail, path: readonly string[], part: Part | undefined): Io<Present | "missing"> {
  if (path.length === 0) return { kind: "directory", state: stateOf(jail.top.stat) };
  const opened = yield* directoryFinder(jail)(path);
  if (opened === undefined) return "missing";
  try {
    const object = yield* jail.handles.pin(opened.directory, path.at(-1) ?? "");
    if (object === undefined) return "missing";
    try {
      const found = { kind: kindOf(object.stat), state: stateOf(object.stat) };
      if (part === undefined || !object.stat.isFile()) return found;
      return { ...found, partSha256: yield* hashPart(jail, object, part) };
    } finally {
      release(object);
    }
  } finally {
    opened.close();
  }
}

function* hashPart(jail: Jail, file: Pinned, part: Part): Io<Sha256> {
  const fd = yield* jail.handles.reopen(file, READ);
  try {
    return yield* hashOpen(jail.sys, fd, part);
  } finally {
    closeNow(fd);
  }
}
