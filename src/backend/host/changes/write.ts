// Writes whole files of the host.

import { type Io, wait } from "../../../core/io.js";
import type { Body, WriteOptions, Written } from "../../../core/ports/backend.js";
import { setTimeOfOpen } from "../../../jail/times.js";
import { checkEarly, checkExpected, runExclusively } from "../guard.js";
import { requireRoom } from "../quota.js";
import { type Change, checkFile, createParents, locate, lockTarget, type Reached } from "../target.js";
import { fill } from "./content.js";
import { install, withCurrentEntry, withStagedFile } from "./stage.js";

/** Replaces the content of a file with one rename. */
export function* replaceFile(change: Change, found: Reached, options: WriteOptions & { body: Body }): Io<Written> {
  const { expected } = options;
  const target = locate(change, found, options);
  yield* checkFile(change, target.old);
  yield* checkEarly(change, target.old, expected);
  const content = yield* wait(options.body.borrow?.() ?? options.body.load());
  // No other call has had the lock since the walk, and no other process either, but for an instant.
  const instant =
    Buffer.isBuffer(content) && !change.rules.durable && !change.jail.sys.pooled && expected === undefined;
  return yield* withStagedFile(change, target.old, function* (file) {
    const { bytes, sha256 } = yield* fill(change, file.fd, content);
    if (options.modified !== undefined) yield* setTimeOfOpen(change.jail.sys, file.fd, options.modified);
    if (change.rules.durable) yield* change.jail.sys.fsync(file.fd);
    change.access.scope.checkpoint();
    requireRoom(change, { bytes, files: 1 }, target.old);
    yield* createParents(change, target.parents);
    const turn = yield* lockTarget(change, target.name);
    try {
      const created = yield* runExclusively(change, expected !== undefined, (guard) =>
        withCurrentEntry(change, { target, stale: turn.stale || !instant }, function* (old) {
          if (old !== target.old) yield* checkFile(change, old);
          yield* checkExpected(change, old, expected);
          yield* install(change, file, { name: target.name, old, guard, sha256 });
          return old === undefined;
        }),
      );
      return { bytes, created, sha256, size: bytes };
    } finally {
      turn.release();
    }
  });
}
