// Creates directories on the host.

import { existsNotDirectory } from "../../../core/errors/texts.js";
import type { Io } from "../../../core/io.js";
import type { WriteOptions } from "../../../core/ports/backend.js";
import { release, statBelow } from "../../../jail/handles.js";
import { quietly } from "../../../jail/sys.js";
import { expectationError, requireExpected } from "../../preconditions.js";
import { commitKept, newDirectory, noteChange } from "../history/note.js";
import { type Change, createParents, locate, lockTarget, makeOne, type Reached } from "../target.js";
import { isReported, realPath, report, stateOf } from "./report.js";

const RACES = 5;

/** Creates a directory, with `parents` also the missing directories above it. */
export function* makeDirectory(change: Change, found: Reached, options: WriteOptions): Io<{ created: boolean }> {
  const target = locate(change, found, options);
  if (target.old !== undefined) {
    if (!target.old.stat.isDirectory()) throw existsNotDirectory(change.access.place);
    return acceptExisting(change, options);
  }
  if (options.expected !== undefined) requireExpected(options.expected, undefined, change.access);
  const turn = yield* lockTarget(change, target.name);
  try {
    change.access.scope.commit();
    yield* createParents(change, target.parents);
    for (let attempt = 1; ; attempt++) {
      const keeping = noteChange(change, newDirectory(realPath(change, target.name)));
      if (yield* commitKept(makeOne(change, target.name), keeping)) {
        yield* reportDirectory(change, target.name);
        return { created: true };
      }
      const other = yield* change.jail.handles.enter(change.walk.directory, target.name);
      if (typeof other !== "string") {
        release(other);
        return acceptExisting(change, options);
      }
      // The entry in the way has been removed by another process.
      if (other !== "missing" || attempt === RACES) throw existsNotDirectory(change.access.place);
    }
  } finally {
    turn.release();
  }
}

function* reportDirectory(change: Change, name: string): Io<void> {
  if (!isReported(change)) return;
  const stat = yield* quietly(statBelow(change.jail.sys, change.walk.directory, name));
  const after = stat?.isDirectory() === true ? stateOf(stat) : { size: 0, modified: Date.now() };
  yield* report(change, { action: "created", kind: "directory", path: realPath(change, name), before: null, after });
}

/** Creating it atomically decides whether it existed, so no lock is needed. */
function acceptExisting({ access }: Change, { expected }: WriteOptions): { created: false } {
  if (expected !== undefined) throw expectationError(expected, undefined, access);
  return { created: false };
}
