// Removes and creates entries, as steps of a group.

import {
  conflict,
  existsNotDirectory,
  ioError,
  isADirectory,
  notAFile,
  notEmpty,
  notFound,
  rootDelete,
  symlinkEscape,
} from "../../../core/errors/texts.js";
import type { Io } from "../../../core/io.js";
import type { GroupChange } from "../../../core/ports/backend.js";
import { below, identity, type NameIn, type Pinned, release } from "../../../jail/handles.js";
import { TRASH } from "../../../jail/staging/folder.js";
import { moveBelow, whileMovable } from "../../../jail/staging/movable.js";
import { renameNoReplace } from "../../../jail/staging/rename.js";
import type { Stat } from "../../../jail/stat.js";
import { expectationError, requireExpected } from "../../preconditions.js";
import type { Amount } from "../../quota.js";
import { kindOf, realPath, removalOf, stateOf } from "../changes/report.js";
import { checkExpected, checkVersion, type Guard } from "../guard.js";
import { newDirectory } from "../history/note.js";
import { requireDeletable } from "../history/to-trash.js";
import { unlessUnkeepable } from "../history/trash.js";
import { countTree, freedBy } from "../quota.js";
import { type Change, createParents, locate, makeOne, type WriteRules } from "../target.js";
import { requireAllAllowed } from "../tree-policy.js";
import { type Intent, imageOf } from "./intent.js";
import {
  type Committed,
  End,
  madeFor,
  madePaths,
  pinCurrent,
  type Ready,
  requireTopDevice,
  type Step,
} from "./step.js";

type Remove = Extract<GroupChange, { kind: "remove" }>;
type MakeDirectory = Extract<GroupChange, { kind: "mkdir" }>;

const NONE: Amount = { bytes: 0, files: 0 };

/** Takes an entry away by renaming it into the intent, a whole tree too. */
export class RemoveStep implements Step {
  readonly ends: readonly End[];
  readonly makesParents: boolean;
  readonly #end: End;
  readonly #options: Remove["options"];
  readonly #own: string;
  /** In the trash, where that keeps it. */
  #bin: string | undefined;
  #taken: Stat | undefined;

  constructor({ at, options }: Remove, index: number, rules: WriteRules) {
    if (at.path.segments.length === 0) throw rootDelete(at.access.place.root);
    this.#options = options;
    this.#own = `before-${index}`;
    this.#end = new End(at, { followLast: false, onlyTarget: false }, rules);
    this.ends = [this.#end];
    this.makesParents = false;
  }

  *check(): Io<void> {
    const { change, found } = this.#end;
    if (found.state !== "found") {
      yield* checkExpected(change, undefined, this.#options.expected);
      throw notFound(change.access.place);
    }
    this.#checkType(change, found.object);
    requireTopDevice(change);
    if (!this.#options.recursive) yield* this.#requireEmpty(change, found.object);
  }

  *stage(): Io<void> {}

  *prepare(_: Intent, bin: string | undefined): Io<Ready> {
    const { change, real } = this.#end;
    const trash = bin === undefined ? undefined : yield* unlessUnkeepable(change.jail.staging.heldFolder(TRASH, true));
    const isUsable = trash !== undefined && trash !== "unkeepable";
    if (isUsable) trash.release();
    this.#bin = isUsable ? bin : undefined;
    yield* this.check();
    const object = yield* pinCurrent(change, real.at(-1) ?? "");
    if (object === undefined) throw notFound(change.access.place);
    try {
      this.#checkType(change, object);
      checkVersion(change, object, this.#options.version);
      yield* checkExpected(change, object, this.#options.expected);
      if (this.#options.recursive) yield* requireAllAllowed(change, object);
      else yield* this.#requireEmpty(change, object);
      yield* requireDeletable(change, object);
      this.#taken = object.stat;
      const amount = yield* this.#freed(change, object);
      const kept = this.#bin === undefined ? { kept: this.#own } : { kept: this.#bin, isBinned: true as const };
      const record = { taken: { path: [...real], what: imageOf(object.stat), ...kept } };
      return { amount, planned: removalOf(change, real.at(-1) ?? "", object.stat), record };
    } finally {
      release(object);
    }
  }

  *commit(intent: Intent, guard: Guard): Io<Committed> {
    const { jail, access } = this.#end.change;
    if (this.#bin === undefined) return yield* this.#take({ directory: intent.folder, name: this.#own }, guard);
    const trash = yield* jail.staging.heldFolder(TRASH, true);
    if (trash === undefined) throw ioError(access.place, "ESTALE");
    try {
      return yield* this.#take({ directory: trash.directory, name: this.#bin }, guard);
    } finally {
      trash.release();
    }
  }

  /** @param to where it is kept */
  *#take(to: NameIn, guard: Guard): Io<Committed> {
    const { change, real } = this.#end;
    const { jail, access, walk } = change;
    const from = { directory: walk.directory, name: real.at(-1) ?? "" };
    yield* guard();
    access.scope.commit();
    yield* moveBelow(jail, from, to);
    // Entries that another process has put or added there since the check must not be removed.
    const now = yield* jail.handles.pin(to.directory, to.name);
    const effect = { existed: true };
    if (now === undefined) return { effect };
    try {
      if (identity(now) !== this.#taken?.identity) {
        const ready = { path: below(to.directory, to.name), isDirectory: now.stat.isDirectory() };
        yield* whileMovable(jail.sys, now, renameNoReplace(jail.sys, ready, below(from.directory, from.name)));
        throw conflict(access.place, { verb: access.verb, expected: "no change meanwhile" });
      }
      if (this.#options.recursive) yield* requireAllAllowed(change, now);
      else yield* this.#requireEmpty(change, now);
      const what = { action: "deleted", kind: kindOf(now.stat), path: [...real] } as const;
      return { effect, change: { ...what, before: stateOf(this.#taken), after: null } };
    } finally {
      release(now);
    }
  }

  #checkType({ access }: Change, { stat }: Pinned): void {
    if (stat.isSymbolicLink() && access.links === "refuse") throw symlinkEscape(access.place);
    const takesFiles = this.#options.expected !== undefined;
    const isDirectory = stat.isDirectory();
    if (isDirectory && (takesFiles || access.rules?.removesFilesOnly === true)) throw isADirectory(access.place);
    if (takesFiles && !stat.isFile()) throw notAFile(access.place);
  }

  *#requireEmpty({ jail, access }: Change, object: Pinned): Io<void> {
    if (!object.stat.isDirectory()) return;
    if ((yield* jail.sys.names(object)).length > 0) throw notEmpty(access.place);
  }

  *#freed({ jail, rules }: Change, object: Pinned): Io<Amount> {
    if (rules.usage === undefined) return NONE;
    const freed = object.stat.isDirectory() ? yield* countTree(jail, object, true) : freedBy(object.stat);
    return { bytes: -freed.bytes, files: -freed.files };
  }
}

export class MakeDirectoryStep implements Step {
  readonly ends: readonly End[];
  readonly makesParents: boolean;
  readonly #end: End;
  readonly #options: MakeDirectory["options"];

  constructor({ at, options }: MakeDirectory, rules: WriteRules) {
    this.#options = options;
    this.#end = new End(at, { followLast: true, onlyTarget: false }, rules);
    this.ends = [this.#end];
    this.makesParents = options.parents;
  }

  *check(): Io<void> {
    const { change, found } = this.#end;
    const { access } = change;
    const { expected } = this.#options;
    const { old } = locate(change, found, this.#options);
    if (old !== undefined && !old.stat.isDirectory()) throw existsNotDirectory(access.place);
    if (old !== undefined && expected !== undefined) throw expectationError(expected, undefined, access);
    if (old === undefined && expected !== undefined) requireExpected(expected, undefined, access);
  }

  *stage(): Io<void> {}

  *prepare(): Io<Ready> {
    yield* this.check();
    const { change, found } = this.#end;
    const { parents, name, old } = locate(change, found, this.#options);
    if (old !== undefined) return { amount: NONE, record: { made: [] } };
    const record = { made: madePaths(change, [...parents, name]) };
    const made = record.made.slice(0, -1);
    return {
      amount: NONE,
      planned: { ...newDirectory(record.made.at(-1) ?? []), ...(made.length > 0 && { made }) },
      record,
    };
  }

  *commit(_: Intent, guard: Guard): Io<Committed> {
    const { change, found } = this.#end;
    const { parents, name, old } = locate(change, found, this.#options);
    if (old !== undefined) return { effect: { existed: true } };
    yield* guard();
    change.access.scope.commit();
    yield* createParents(change, parents);
    if (yield* makeOne(change, name)) {
      return { effect: { existed: false }, change: { ...newDirectory(realPath(change, name)), ...madeFor(change) } };
    }
    const other = yield* change.jail.handles.enter(change.walk.directory, name);
    if (typeof other === "string") throw existsNotDirectory(change.access.place);
    release(other);
    return { effect: { existed: true } };
  }
}
