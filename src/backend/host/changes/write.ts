// Writes whole files of the host.

import type { Sha256 } from "../../../core/etag.js";
import { withoutChangeTime } from "../../../core/identity.js";
import { type Io, wait } from "../../../core/io.js";
import type { Body, GroupWriteOptions, Standing, Written } from "../../../core/ports/backend.js";
import { type Pinned, statBelow } from "../../../jail/handles.js";
import type { StagedFile } from "../../../jail/staging/staging.js";
import { quietly } from "../../../jail/sys.js";
import { setTimeOfOpen } from "../../../jail/times.js";
import { checkEarly, checkExpected, checkVersion, type Guard, runExclusively } from "../guard.js";
import { ownTime, rememberOwn } from "../open.js";
import { requireRoom } from "../quota.js";
import { type Change, checkFile, createParents, locate, lockTarget, type Reached, type Target } from "../target.js";
import { type Content, fill } from "./content.js";
import { install, withCurrentEntry, withStagedFile } from "./stage.js";

type ReplaceOptions = GroupWriteOptions & Standing & { readonly body: Body };

/** Replaces the content of a file with one rename. */
export function* replaceFile(change: Change, found: Reached, options: ReplaceOptions): Io<Written> {
  const { expected } = options;
  const target = locate(change, found, options);
  yield* checkFile(change, target.old);
  yield* checkEarly(change, target.old, expected);
  const content = yield* wait(options.body.borrow?.() ?? options.body.load());
  // No other call has had the lock since the walk, and no other process either, but for an instant.
  const instant =
    Buffer.isBuffer(content) && !change.rules.durable && !change.jail.sys.pooled && !isConditional(options);
  const replacement = { target, options, content, mayBeStale: !instant };
  return yield* withStagedFile(change, target.old, (file) => replaceBy(change, file, replacement));
}

/** A replacement whose target has been found. */
interface Replacement {
  readonly target: Target;
  readonly options: ReplaceOptions;
  readonly content: Content;
  /** Others may have changed the target since it was found. */
  readonly mayBeStale: boolean;
}

// Functions of their own, here and below: a generator function that is made for a call costs more than most system calls, and
// keeps all that it refers to until the next full collection.
function* replaceBy(change: Change, file: StagedFile, replacement: Replacement): Io<Written> {
  const { target, options, content, mayBeStale } = replacement;
  const { bytes, sha256 } = yield* fill(change, file.fd, content, {
    hash: options.body.hash?.(),
    length: options.body.length,
  });
  const modified = options.modified ?? (options.stamps === true ? ownTime() : undefined);
  if (modified !== undefined) yield* setTimeOfOpen(change.jail.sys, file.fd, modified);
  if (change.rules.durable) yield* change.jail.sys.fsync(file.fd);
  change.access.scope.checkpoint();
  requireRoom(change, { bytes, files: 1 }, target.old);
  yield* createParents(change, target.parents);
  const turn = yield* lockTarget(change, target.name);
  try {
    const put = yield* runExclusively(change, isConditional(options), (guard) =>
      withCurrentEntry(change, { target, stale: turn.stale || mayBeStale }, (old) =>
        putContent(change, file, { replacement, old, guard, sha256 }),
      ),
    );
    return { bytes, ...put, sha256, size: bytes };
  } finally {
    turn.release();
  }
}

/** A replacement whose content is staged, under the lock of its target. */
interface Staged {
  readonly replacement: Replacement;
  /** What is to be replaced now. */
  readonly old: Pinned | undefined;
  readonly guard: Guard;
  readonly sha256: Sha256;
}

function* putContent(
  change: Change,
  file: StagedFile,
  { replacement, old, guard, sha256 }: Staged,
): Io<Pick<Written, "created" | "stamp">> {
  const { target, options } = replacement;
  const { sys } = change.jail;
  if (old !== target.old) yield* checkFile(change, old);
  checkVersion(change, old, options.version);
  yield* checkExpected(change, old, options.expected);
  const staged = options.stamps === true ? yield* sys.fstat(file.fd) : undefined;
  yield* install(change, file, { name: target.name, old, guard, sha256, mode: options.mode });
  const created = old === undefined;
  if (staged === undefined) return { created };
  // Its name has changed it once more. Another process may have put something else there.
  const { version } = (yield* quietly(statBelow(sys, change.walk.directory, target.name))) ?? {};
  const isSame = version !== undefined && withoutChangeTime(version) === withoutChangeTime(staged.version);
  const stamp = isSame ? rememberOwn(version) : undefined;
  return stamp === undefined ? { created } : { created, stamp };
}

const isConditional = ({ expected, version }: ReplaceOptions): boolean =>
  expected !== undefined || version !== undefined;
