// Puts the content of a file in place with one rename.

import type { Sha256 } from "../../../core/etag.js";
import { withoutChangeTime } from "../../../core/identity.js";
import { type Io, runIo, wait } from "../../../core/io.js";
import type { At, Body, GroupChange, GroupWriteOptions, Standing, Written } from "../../../core/ports/backend.js";
import type { Addition, EntryChange, EntryState } from "../../../core/ports/changes/change.js";
import { type Pinned, READ_NEW, statBelow, WRITE_NEW, withOpen } from "../../../jail/handles.js";
import type { Jail } from "../../../jail/jail.js";
import type { StagedFile } from "../../../jail/staging/staging.js";
import { inodeOf, type Stat } from "../../../jail/stat.js";
import { quietly } from "../../../jail/sys.js";
import { setTimeOfOpen } from "../../../jail/times.js";
import { imageOf, type StepRecord } from "../group/intent.js";
import { checkEarly, checkExpected, checkVersion, type Guard } from "../guard.js";
import { ownTime, readGrowing, rememberOwn } from "../open.js";
import { freedBy, NONE } from "../quota.js";
import { type Change, checkFile, type WriteRules } from "../target.js";
import { makeAlone } from "./alone.js";
import { type Content, fill } from "./content.js";
import { PERMISSION_BITS, putInPlace, setRights } from "./put.js";
import { isReported, plannedState, realPath, stateNow, stateOf } from "./report.js";
import { type Committed, End, type Ground, madePaths, type Plan, type StagedContent, type Step } from "./step.js";

export interface Write {
  readonly at: At;
  readonly body: Body;
  readonly options: GroupWriteOptions & Standing;
  /** No entry may be replaced, not even one that another process creates in the last moment. */
  readonly isNew?: boolean;
  /** Present if the content is that of the old file with something added. */
  readonly addition?: Addition | undefined;
}

/** Whether a change replaces a file that is there, as it was seen, and does nothing else. */
export const isReplacement = (change: GroupChange): change is Extract<GroupChange, { kind: "write" }> => {
  if (change.kind !== "write" || change.options.parents || change.options.executable !== undefined) return false;
  const { version, expected } = change.options;
  return version !== undefined || (expected !== undefined && expected !== "nothing");
};

export class WriteStep implements Step {
  readonly ends: readonly [End];
  readonly isConditional: boolean;
  readonly #ground: Ground;
  readonly #end: End;
  readonly #write: Write;
  #file: StagedFile | undefined;
  #content: { readonly bytes: number; readonly sha256: Sha256 } | undefined;
  #old: Pinned["stat"] | undefined;
  /** Name by which a group keeps the replaced file. */
  #before: string | undefined;
  #placed: Stat | undefined;
  #stamp: string | undefined;
  #isPut = false;
  /** Only the entry that was there before, and is kept, may be replaced. */
  #isStrict = false;

  constructor(write: Write, ground: Ground, rules: WriteRules) {
    this.#write = write;
    this.#ground = ground;
    this.#end = new End(write.at, { followLast: true, onlyTarget: false }, rules);
    this.ends = [this.#end];
    const { expected, version } = write.options;
    this.isConditional = expected !== undefined || version !== undefined;
  }

  *check(): Io<void> {
    const { options } = this.#write;
    const { change } = this.#end;
    const { old } = this.#end.target(options);
    yield* checkFile(change, old);
    yield* checkEarly(change, old, options.expected);
    this.#ground.requireNear(change);
  }

  get length(): number {
    return this.#write.body.length ?? Number.POSITIVE_INFINITY;
  }

  *stage(later: number): Io<void> {
    const { body, options } = this.#write;
    const content = yield* wait(this.#ground.isGroup ? body.load() : (body.borrow?.() ?? body.load()));
    if (!this.#ground.isGroup) this.#end.isStale = this.#mayBeStale(content);
    const site = this.#ground.siteOf(this.#end);
    const { sys } = site.jail;
    // A user who may not read the old file must not be able to read the new one meanwhile.
    const old = this.#end.isOpen ? this.#end.target(options).old : undefined;
    const file = yield* this.#ground.create(this.#end, old && old.stat.mode & PERMISSION_BITS);
    this.#file = file;
    this.#content = yield* fill(site, file.fd, content, { hash: body.hash?.(), length: this.length, later });
    const modified = options.modified ?? (options.stamps === true ? ownTime() : undefined);
    if (modified !== undefined) yield* setTimeOfOpen(sys, file.fd, modified);
    yield* this.#ground.complete(this.#end, file);
  }

  /** No other call has had the lock since the walk, and no other process either, but for an instant. */
  #mayBeStale(content: Content): boolean {
    const { rules, jail } = this.#end.change;
    return !Buffer.isBuffer(content) || rules.durable || jail.sys.pooled || this.isConditional;
  }

  get staged(): StagedContent | undefined {
    const [file, content] = [this.#file, this.#content];
    if (file === undefined || content === undefined) return undefined;
    const { bytes: size, sha256 } = content;
    const { jail } = this.#ground.siteOf(this.#end);
    const from = this.#write.addition?.offset ?? 0;
    return {
      after: { size, modified: Date.now(), sha256 },
      read: (most) => (size > most ? undefined : runIo(quietly(readStaged(jail, file.path, { size, from })))),
    };
  }

  *prepare(): Io<Plan> {
    const { options } = this.#write;
    const { change } = this.#end;
    const { parents, name, old: found } = this.#end.target(options);
    this.#ground.requireNear(change);
    const old = yield* this.#end.current();
    if (old === undefined || old !== found) yield* checkFile(change, old);
    checkVersion(change, old, options.version);
    yield* checkExpected(change, old, options.expected);
    this.#old = old?.stat;
    this.#isStrict = this.#ground.isGroup || parents.length > 0 || this.#write.isNew === true;
    this.#before = old && (yield* this.#ground.keepBefore(change, name, old));
    const placed = yield* this.#prepareFile(change, old);
    this.#placed = placed;
    const replaced = this.#write.addition === undefined ? old : undefined;
    if (placed === undefined) return { amount: NONE, replaced };
    const freed = freedBy(old?.stat);
    const made = madePaths(change, parents);
    return {
      amount: { bytes: placed.size - freed.bytes, files: 1 - freed.files },
      change: isReported(change) ? this.#changeTo(plannedState(placed, this.#content?.sha256), made) : undefined,
      inode: inodeOf(placed),
      replaced,
    };
  }

  /** The staged file gets its permissions. @returns its stat, where anybody asks for it */
  *#prepareFile(change: Change, old: Pinned | undefined): Io<Stat | undefined> {
    const file = this.#file;
    if (file === undefined) throw new TypeError("Content is staged before it is put in place");
    const { sys } = change.jail;
    const { newMode, executable, mode = old === undefined ? newMode : undefined, stamps } = this.#write.options;
    if (file.fd < 0) file.fd = yield* sys.open(file.path, WRITE_NEW);
    const prepared = yield* setRights(change, file.fd, old, { mode, executable });
    const isAsked = this.#ground.isGroup || stamps === true || change.rules.usage !== undefined || isReported(change);
    const placed = isAsked ? (prepared ?? (yield* sys.fstat(file.fd))) : undefined;
    const { fd } = file;
    file.fd = -1;
    // Network file systems report a full disk only at this point.
    yield* sys.close(fd);
    return placed;
  }

  get record(): StepRecord {
    if (this.#placed === undefined || this.#file === undefined) return {};
    return {
      made: madePaths(this.#end.change, this.#end.target(this.#write.options).parents),
      put: {
        path: this.#path,
        after: imageOf(this.#placed, this.#content?.sha256),
        staged: this.#file.name,
        ...(this.#before === undefined ? {} : { before: this.#before }),
      },
    };
  }

  *commit(guard: Guard): Io<Committed> {
    const { change, name } = this.#end;
    const file = this.#file;
    if (file === undefined) throw new TypeError("Content is staged before it is put in place");
    yield* this.#end.makeParents();
    const existed = this.#old !== undefined;
    const isNew = !existed && this.#isStrict;
    const options = { parents: false, overwrite: !isNew, expected: isNew ? ("nothing" as const) : undefined };
    const ready = { path: file.path, isDirectory: false, in: { directory: file.stage.directory, name: file.name } };
    yield* putInPlace(change, ready, { name, guard, options, ground: this.#ground });
    this.#isPut = true;
    const { sha256 } = this.#content ?? {};
    const effect = { existed, ...(sha256 === undefined ? {} : { sha256 }) };
    const placed = this.#placed;
    const isTold = isReported(change);
    if (placed === undefined || !(isTold || this.#write.options.stamps === true)) return { effect };
    const now = yield* quietly(statBelow(change.jail.sys, change.walk.directory, name));
    if (this.#write.options.stamps === true) this.#stamp = stampOf(now, placed);
    return { effect, change: isTold ? this.#changeTo(stateNow(now, { placed, sha256 })) : undefined };
  }

  get #path(): readonly string[] {
    const { parents, name } = this.#end.target(this.#write.options);
    return realPath(this.#end.change, ...parents, name);
  }

  #changeTo(after: EntryState, made: EntryChange["made"] = []): EntryChange {
    const { addition } = this.#write;
    return {
      action: this.#old === undefined ? "created" : "modified",
      kind: "file",
      path: this.#path,
      ...(made.length > 0 && { made }),
      before: this.#old === undefined ? null : stateOf(this.#old),
      after,
      ...(addition === undefined ? {} : { addition }),
    };
  }

  *end(): Io<void> {
    if (this.#file !== undefined) yield* this.#ground.discard(this.#end, this.#file, this.#isPut);
    this.#file = undefined;
  }

  get written(): Written {
    if (this.#content === undefined) throw new TypeError("Nothing was written");
    const { bytes, sha256 } = this.#content;
    const written = { bytes, created: this.#old === undefined, sha256, size: bytes };
    return this.#stamp === undefined ? written : { ...written, stamp: this.#stamp };
  }
}

/** The staged content, or what an append adds to the old one. */
function* readStaged(
  { sys }: Jail,
  path: string,
  { size, from }: { readonly size: number; readonly from: number },
): Io<Buffer> {
  return yield* withOpen(sys.open(path, READ_NEW), (fd) =>
    readGrowing(sys, fd, { offset: from, length: size - from, size }),
  );
}

/** Its name has changed it once more. Another process may have put something else there. */
function stampOf(now: Stat | undefined, placed: Stat): string | undefined {
  const isSame = now !== undefined && withoutChangeTime(now.version) === withoutChangeTime(placed.version);
  return isSame ? rememberOwn(now.version) : undefined;
}

export function* writeAlone(step: WriteStep): Io<Written> {
  yield* makeAlone(step);
  return step.written;
}
