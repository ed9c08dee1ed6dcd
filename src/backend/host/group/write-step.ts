// Puts the content of a file in place, as a step of a group.

import { conflict } from "../../../core/errors/texts.js";
import type { Sha256 } from "../../../core/etag.js";
import { type Io, wait } from "../../../core/io.js";
import type { GroupChange, GroupEffect } from "../../../core/ports/backend.js";
import type { EntryChange, EntryState } from "../../../core/ports/changes/change.js";
import { CREATE, type Pinned, release, WRITE_NEW } from "../../../jail/handles.js";
import type { Jail } from "../../../jail/jail.js";
import { inodeOf, type Stat } from "../../../jail/stat.js";
import { closeNow } from "../../../jail/sys.js";
import { setTimeOfOpen } from "../../../jail/times.js";
import { fill } from "../changes/content.js";
import { isReported, plannedState, realPath, stateAfter, stateOf } from "../changes/report.js";
import { applyRights } from "../changes/stage.js";
import { replaceFile } from "../changes/write.js";
import { checkEarly, checkExpected, checkVersion, type Guard } from "../guard.js";
import { freedBy } from "../quota.js";
import {
  type Change,
  checkFile,
  createParents,
  locate,
  openedJournal,
  type Reached,
  type WriteRules,
} from "../target.js";
import { type Intent, imageOf, type RealPath } from "./intent.js";
import {
  type Committed,
  End,
  keepBefore,
  madeFor,
  madePaths,
  pinCurrent,
  putInGroup,
  type Ready,
  requireTopDevice,
  type Step,
} from "./step.js";

type Write = Extract<GroupChange, { kind: "write" }>;

export class WriteStep implements Step {
  readonly ends: readonly End[];
  readonly makesParents: boolean;
  readonly #end: End;
  readonly #write: Write;
  readonly #staged: string;
  readonly #rules: WriteRules;
  readonly #before: string;
  #content: { readonly bytes: number; readonly sha256: Sha256 } | undefined;
  #old: EntryState | null = null;
  #placed: Stat | undefined;

  constructor(write: Write, index: number, rules: WriteRules) {
    this.#write = write;
    this.#rules = rules;
    this.#staged = `after-${index}`;
    this.#before = `before-${index}`;
    this.#end = new End(write.at, { followLast: true, onlyTarget: false }, rules);
    this.ends = [this.#end];
    this.makesParents = write.options.parents;
  }

  *check(): Io<void> {
    const { change, found } = this.#end;
    const { options } = this.#write;
    const { old } = locate(change, found, options);
    yield* checkFile(change, old);
    yield* checkEarly(change, old, options.expected);
    requireTopDevice(change);
  }

  get length(): number {
    return this.#write.body.length ?? Number.POSITIVE_INFINITY;
  }

  *stage(intent: Intent, later: number): Io<void> {
    const content = yield* wait(this.#write.body.load());
    const { jail } = intent;
    const fd = yield* jail.sys.open(intent.pathOf(this.#staged), CREATE, 0o666);
    try {
      this.#content = yield* fill(
        { jail, access: this.#end.at.access, journal: openedJournal(this.#rules) },
        fd,
        content,
        { length: this.length, later },
      );
    } catch (error) {
      closeNow(fd);
      throw error;
    }
    yield* intent.flushLater(fd);
  }

  *prepare(intent: Intent): Io<Ready> {
    const { change, found } = this.#end;
    const { expected, parents, version } = this.#write.options;
    const target = locate(change, found, { parents });
    requireTopDevice(change);
    const old = target.parents.length > 0 ? undefined : yield* pinCurrent(change, target.name);
    try {
      yield* checkFile(change, old);
      checkVersion(change, old, version);
      yield* checkExpected(change, old, expected);
      const freed = freedBy(old?.stat);
      this.#old = old === undefined ? null : stateOf(old.stat);
      if (old !== undefined) yield* this.#keep(change, { name: target.name, old }, intent);
      const placed = yield* this.#setAttributes(change, old, intent);
      const { sha256 } = this.#content ?? {};
      const after = imageOf(placed, sha256);
      const made = madePaths(change, target.parents);
      const path = [...change.walk.names, ...target.parents, target.name];
      return {
        amount: { bytes: after.size - freed.bytes, files: 1 - freed.files },
        planned: this.#changeOf(path, plannedState(placed, sha256), made),
        inode: inodeOf(placed),
        record: {
          made,
          put: {
            path,
            after,
            staged: this.#staged,
            ...(old === undefined ? {} : { before: this.#before }),
          },
        },
      };
    } finally {
      if (old !== undefined) release(old);
    }
  }

  *#keep(change: Change, from: { name: string; old: Pinned }, intent: Intent): Io<void> {
    if (yield* keepBefore(change, from, intent.pathOf(this.#before))) return;
    const { access } = change;
    throw conflict(access.place, { verb: access.verb, expected: "no change meanwhile" });
  }

  /** The staged file gets the permissions and times that it will have. */
  *#setAttributes(change: Change, old: Pinned | undefined, intent: Intent): Io<Stat> {
    const { sys } = change.jail;
    const { modified, newMode, executable, mode = old === undefined ? newMode : undefined } = this.#write.options;
    const fd = yield* sys.open(intent.pathOf(this.#staged), WRITE_NEW);
    try {
      yield* applyRights(change, fd, old);
      if (mode !== undefined) yield* sys.fchmod(fd, mode);
      if (executable !== undefined) yield* setExecutable(sys, fd, executable);
      if (modified !== undefined) yield* setTimeOfOpen(sys, fd, modified);
      this.#placed = yield* sys.fstat(fd);
      return this.#placed;
    } finally {
      closeNow(fd);
    }
  }

  #changeOf(path: RealPath, after: EntryState, made: readonly RealPath[] = []): EntryChange {
    const action = this.#old === null ? "created" : "modified";
    return { action, kind: "file", path, ...(made.length > 0 && { made }), before: this.#old, after };
  }

  *commit(intent: Intent, guard: Guard): Io<Committed> {
    const { change, found } = this.#end;
    const target = locate(change, found, this.#write.options);
    yield* createParents(change, target.parents);
    const ready = { path: intent.pathOf(this.#staged), isDirectory: false };
    const existed = this.#old !== null;
    const options = { parents: false, overwrite: existed, expected: existed ? undefined : ("nothing" as const) };
    yield* putInGroup(change, ready, { name: target.name, old: undefined, guard, options });
    const { sha256 } = this.#content ?? {};
    const effect = { existed, ...(sha256 === undefined ? {} : { sha256 }) };
    if (!isReported(change) || this.#placed === undefined) return { effect };
    const after = yield* stateAfter(change, target.name, { placed: this.#placed, sha256 });
    return { effect, change: this.#changeOf(realPath(change, target.name), after, madeFor(change).made) };
  }
}

/** Whoever may read it may run it, or nobody may. */
function* setExecutable(sys: Jail["sys"], fd: number, executable: boolean): Io<void> {
  const mode = (yield* sys.fstat(fd)).mode & 0o777;
  const wanted = executable ? mode | ((mode & 0o444) >> 2) : mode & 0o666;
  if (wanted !== mode) yield* sys.fchmod(fd, wanted);
}

// A group of one change that replaces a file is a write: its rename is atomic without what a group needs.

/** Whether a change replaces a file that is there, as it was seen, and does nothing else. */
export const isReplacement = (change: GroupChange): change is Write => {
  if (change.kind !== "write" || change.options.parents || change.options.executable !== undefined) return false;
  const { version, expected } = change.options;
  return version !== undefined || (expected !== undefined && expected !== "nothing");
};

/** @throws NOT_SUPPORTED on another device, as any group */
export function* replaceAlone(change: Change, found: Reached, { body, options }: Write): Io<readonly GroupEffect[]> {
  requireTopDevice(change);
  const { created, sha256 } = yield* replaceFile(change, found, { body, ...options });
  return [{ existed: !created, ...(sha256 === undefined ? {} : { sha256 }) }];
}
