// Sets the time of an entry of the host.

import { notADirectory, notAFile, notFound } from "../../../core/errors/texts.js";
import type { Io } from "../../../core/io.js";
import type { TouchOptions } from "../../../core/ports/backend.js";
import { quietly } from "../../../jail/sys.js";
import { setTime } from "../../../jail/times.js";
import { type Change, lockTarget, placeOfPrefix, type Reached } from "../target.js";
import { kindOf, report, stateOf } from "./report.js";

/** @param options without `modified` it only says whether the time could be set */
export function* touchEntry(change: Change, found: Reached, { modified }: TouchOptions): Io<void> {
  const { access, jail } = change;
  if (found.state === "blocked") throw notADirectory(placeOfPrefix(change, found.prefix));
  if (found.state !== "found") throw notFound(access.place);
  change.walk.settle();
  const { object, real } = found;
  if (!object.stat.isDirectory() && !object.stat.isFile()) throw notAFile(access.place);
  if (object.stat.isFile()) yield* jail.sys.checkWrite(object);
  if (modified === undefined) return;
  const turn = yield* lockTarget(change, real.at(-1) ?? "");
  try {
    access.scope.commit();
    yield* setTime(jail.sys, object.path, modified);
    const now = yield* quietly(object.fd >= 0 ? jail.sys.fstat(object.fd) : jail.sys.lstat(object.path));
    if (now === undefined) return;
    const states = { before: stateOf(object.stat), after: stateOf(now) };
    const touched = { action: "modified", kind: kindOf(now), path: real, ...states } as const;
    // Tells watchers only: times alone are not worth an undo, and journal entries for them would hide real changes.
    yield* report({ access, journal: undefined, made: [] }, touched);
  } finally {
    turn.release();
  }
}
