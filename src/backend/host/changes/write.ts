// Writes whole files of the host.

import { type Io, wait } from "../../../core/io.js";
import type {
  Body,
  GroupChange,
  GroupEffect,
  GroupWriteOptions,
  Standing,
  Written,
} from "../../../core/ports/backend.js";
import { setTimeOfOpen } from "../../../jail/times.js";
import { checkEarly, checkExpected, checkVersion, runExclusively } from "../guard.js";
import { requireRoom } from "../quota.js";
import { type Change, checkFile, createParents, locate, lockTarget, type Reached } from "../target.js";
import { fill } from "./content.js";
import { install, withCurrentEntry, withStagedFile } from "./stage.js";

type Write = Extract<GroupChange, { kind: "write" }>;

/**
 * Whether a change replaces a file that is there, as it was seen, and does nothing else: its rename is atomic without what a
 * group needs.
 */
export const isReplacement = (change: GroupChange): change is Write => {
  if (change.kind !== "write" || change.options.parents) return false;
  const { version, expected } = change.options;
  return version !== undefined || (expected !== undefined && expected !== "nothing");
};

/** The effect of a write, as of a change of a group. */
export const effectOf = ({ created, sha256 }: Written): GroupEffect => ({
  existed: !created,
  ...(sha256 === undefined ? {} : { sha256 }),
});

type ReplaceOptions = GroupWriteOptions & Standing & { readonly body: Body };

/** Replaces the content of a file with one rename. */
export function* replaceFile(change: Change, found: Reached, options: ReplaceOptions): Io<Written> {
  const { expected, version, mode } = options;
  const isConditional = expected !== undefined || version !== undefined;
  const target = locate(change, found, options);
  yield* checkFile(change, target.old);
  yield* checkEarly(change, target.old, expected);
  const content = yield* wait(options.body.borrow?.() ?? options.body.load());
  // No other call has had the lock since the walk, and no other process either, but for an instant.
  const instant = Buffer.isBuffer(content) && !change.rules.durable && !change.jail.sys.pooled && !isConditional;
  return yield* withStagedFile(change, target.old, function* (file) {
    const { bytes, sha256 } = yield* fill(change, file.fd, content);
    if (options.modified !== undefined) yield* setTimeOfOpen(change.jail.sys, file.fd, options.modified);
    if (change.rules.durable) yield* change.jail.sys.fsync(file.fd);
    change.access.scope.checkpoint();
    requireRoom(change, { bytes, files: 1 }, target.old);
    yield* createParents(change, target.parents);
    const turn = yield* lockTarget(change, target.name);
    try {
      const created = yield* runExclusively(change, isConditional, (guard) =>
        withCurrentEntry(change, { target, stale: turn.stale || !instant }, function* (old) {
          if (old !== target.old) yield* checkFile(change, old);
          checkVersion(change, old, version);
          yield* checkExpected(change, old, expected);
          yield* install(change, file, { name: target.name, old, guard, sha256, mode });
          return old === undefined;
        }),
      );
      return { bytes, created, sha256, size: bytes };
    } finally {
      turn.release();
    }
  });
}
