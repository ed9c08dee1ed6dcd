import type { Body } from "../core/backend.js";
import { type Io, wait } from "../core/io.js";
import { fill, type Written } from "./host-content.js";
import { install, staged, withCurrent } from "./host-stage.js";
import { type Change, checkFile, createParents, locate, lockTarget, type Reached } from "./host-target.js";

/** Puts new content in place of whatever file has the name, in one rename. */
export function* replaceFile(change: Change, found: Reached, options: { body: Body; parents: boolean }): Io<Written> {
  const target = locate(change, found, options);
  yield* checkFile(change, target.old);
  const content = yield* wait(options.body.load());
  // Nobody has had a turn since the walk, in this process or (but for an instant) in another.
  const instant = Buffer.isBuffer(content) && !change.rules.durable && !change.jail.sys.pooled;
  return yield* staged(change, target.old, function* (file) {
    const bytes = yield* fill(change, file.fd, content);
    if (change.rules.durable) yield* change.jail.sys.fsync(file.fd);
    change.access.scope.checkpoint();
    yield* createParents(change, target.parents);
    const turn = yield* lockTarget(change, target.name);
    try {
      const created = yield* withCurrent(change, { target, stale: turn.stale || !instant }, function* (old) {
        if (old !== target.old) yield* checkFile(change, old);
        yield* install(change, file, { name: target.name, old });
        return old === undefined;
      });
      return { bytes, created };
    } finally {
      turn.release();
    }
  });
}
