// Sets the time of an entry of the host.

import { notADirectory, notAFile, notFound, permissionDenied } from "../../../core/errors/texts.js";
import type { Io } from "../../../core/io.js";
import type { TouchOptions } from "../../../core/ports/backend.js";
import { setTime } from "../../../jail/times.js";
import { type Change, lockTarget, prefix, type Reached } from "../target.js";

/** @param options without `modified` it only says whether the time could be set */
export function* touchEntry(change: Change, found: Reached, { modified }: TouchOptions): Io<void> {
  const { access, jail } = change;
  if (found.state === "blocked") throw notADirectory(prefix(change, found.prefix));
  if (found.state !== "found") throw notFound(access.place);
  change.walk.settle();
  const { object, real } = found;
  if (!object.stat.isDirectory() && !object.stat.isFile()) throw notAFile(access.place);
  if (object.stat.isFile() && !(yield* jail.sys.mayWrite(object.path))) throw permissionDenied(access.place);
  if (modified === undefined) return;
  const turn = yield* lockTarget(change, real.at(-1) ?? "");
  try {
    access.scope.commit();
    yield* setTime(jail.sys, object.path, modified);
  } finally {
    turn.release();
  }
}
