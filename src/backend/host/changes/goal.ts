// The place that an existing entry gets: by a move, a copy, or out of the staging directory.

import { alreadyExists } from "../../../core/errors/texts.js";
import type { Io } from "../../../core/io.js";
import type { PlaceOptions } from "../../../core/ports/backend.js";
import type { EntryChange, EntryState } from "../../../core/ports/changes/change.js";
import { isOneEntry } from "../../../jail/directory.js";
import { below, identity, type Pinned } from "../../../jail/handles.js";
import { inodeOf, type Stat } from "../../../jail/stat.js";
import type { Amount } from "../../quota.js";
import type { StepRecord } from "../group/intent.js";
import type { Guard } from "../guard.js";
import { type Keeping, noteChange } from "../history/note.js";
import type { Hidden } from "../history/to-trash.js";
import { countTree, freedBy, NONE } from "../quota.js";
import type { Change, Target } from "../target.js";
import { checkTarget, needsExchange, putInPlace, refuseAround, refuseInside, swapIn } from "./put.js";
import { purge } from "./removal.js";
import { isReported, realPath, stateOf } from "./report.js";
import { type Committed, type End, type Ground, madePaths, type Plan } from "./step.js";

/** The entry that gets the place. */
export interface Coming {
  /** Absent: not needed. */
  readonly stat: Stat | undefined;
  readonly isDirectory: boolean;
  /** Only a file replaces a file: no link, and nothing special. */
  readonly isFile: boolean;
  /** Identity of an entry that has a place already, or is a copy of one that has. */
  readonly identity: string | undefined;
}

export type Describe = (told: {
  readonly path: readonly string[];
  readonly made: EntryChange["made"];
  readonly before: EntryState | null;
  readonly after?: EntryState | undefined;
}) => EntryChange;

/** The target: checked, kept if it is replaced, and put in place. */
export class Goal {
  readonly place: End;
  readonly #ground: Ground;
  readonly #options: PlaceOptions;
  #old: Pinned | undefined;
  /** `same`: both names are hard links of one file. */
  #how: "put" | "swap" | "same" = "put";
  /** New spelling of the name, where it is the one that the entry has. */
  #spelling: string | undefined;
  /** Only the entry that was there before, and is kept, may be replaced. */
  #isStrict = false;
  #before: string | undefined;
  #planned: EntryChange | undefined;
  #inode: string | undefined;
  #hidden: Hidden | undefined;

  constructor(place: End, options: PlaceOptions, ground: Ground) {
    this.place = place;
    this.#options = options;
    this.#ground = ground;
  }

  get target(): Target {
    this.#ground.requireNear(this.place.change);
    return this.place.target(this.#options);
  }

  /** @param from of an entry that has a name already */
  *check({ isFile, identity: source }: Coming, from?: End): Io<void> {
    const { change } = this.place;
    const { old, name } = this.target;
    refuseInside(change, source);
    if (this.#options.replaces === true && from !== undefined) refuseAround(from.change, old);
    if (from !== undefined && isThere(old, source) && (yield* this.#respells(from, name))) return;
    yield* checkTarget(change, old, { ...this.#options, isFile });
  }

  /** @param added quota that the entry takes @param from of an entry that has a name already */
  *prepare(coming: Coming, describe: Describe, { added = NONE, from }: { added?: Amount; from?: End }): Io<Plan> {
    const { change } = this.place;
    const { parents, name } = this.target;
    this.#spelling = undefined;
    this.#isStrict = this.#ground.isGroup || parents.length > 0;
    refuseInside(change, coming.identity);
    const now = yield* this.place.current();
    const isRespelling = from !== undefined && isThere(now, coming.identity) && (yield* this.#respells(from, name));
    const old = isRespelling ? undefined : now;
    this.#old = old;
    this.#how = yield* this.#judge(coming, old, from !== undefined);
    this.#before = old && this.#how === "put" ? yield* this.#ground.keepBefore(change, name, old) : undefined;
    const freed = yield* this.#freed(change);
    this.#inode = coming.stat && inodeOf(coming.stat);
    const before = old === undefined || this.#how !== "put" ? null : stateOf(old.stat);
    this.#planned = isReported(change)
      ? describe({ path: this.path, made: madePaths(change, parents), before })
      : undefined;
    return {
      amount: { bytes: added.bytes - freed.bytes, files: added.files - freed.files },
      change: this.#planned,
      inode: this.#inode,
      ...(this.#how === "put" ? { replaced: old } : {}),
      ...(this.#how === "swap" ? { notes: "in commit" as const } : {}),
    };
  }

  /** Checks the entry that has the name now. */
  *#judge(coming: Coming, old: Pinned | undefined, hasName: boolean): Io<"put" | "swap" | "same"> {
    const { change } = this.place;
    if (this.#spelling !== undefined) return "put";
    const isSame = isThere(old, coming.identity);
    if (isSame && this.#ground.isGroup) throw alreadyExists(change.access.place);
    yield* checkTarget(change, old, { ...this.#options, isFile: coming.isFile });
    if (isSame && hasName) return "same";
    if (old === undefined || !needsExchange(old, coming.isDirectory)) return "put";
    if (this.#ground.isGroup) throw alreadyExists(change.access.place);
    return "swap";
  }

  *#freed({ jail, rules }: Change): Io<Amount> {
    const old = this.#old;
    if (old === undefined || rules.usage === undefined) return NONE;
    return old.stat.isDirectory() ? yield* countTree(jail, old, true) : freedBy(old.stat);
  }

  /** @param path by which the entry is reached; it is told of by `after`, if anybody is */
  *commit(
    entry: { readonly path: string; readonly isDirectory: boolean; readonly copies: boolean },
    guard: Guard,
    tell: {
      readonly describe: Describe;
      readonly after: (name: string) => Io<EntryState>;
      /** Finishes the entry once it has its name. */
      readonly finish?: () => Io<void>;
    },
  ): Io<Committed> {
    yield* this.place.makeParents();
    const { change } = this.place;
    const name = this.#spelling ?? this.target.name;
    const old = this.#old;
    const existed = old !== undefined;
    if (old !== undefined && this.#how === "swap") {
      this.#hidden = yield* swapIn(change, { ready: entry.path, name, old, guard, note: () => this.#note(change) });
    } else if (this.#how === "same" || this.#spelling !== undefined) {
      yield* guard();
      change.access.scope.commit();
      const { sys } = change.jail;
      // Both names are hard links of one file, which rename(2) would leave unchanged.
      if (this.#how === "same") yield* sys.unlink(entry.path);
      else yield* sys.rename(entry.path, below(change.walk.directory, name));
    } else {
      const isNew = this.#isStrict && !existed;
      const how = isNew ? ({ parents: false, overwrite: false, expected: "nothing" } as const) : this.#options;
      const ground = entry.copies || this.#ground.isGroup ? this.#ground : undefined;
      yield* putInPlace(change, entry, { name, guard, options: how, ground });
    }
    const effect = { existed };
    if (tell.finish !== undefined) yield* tell.finish();
    if (!isReported(change)) return { effect };
    const after = yield* tell.after(name);
    const before = old === undefined || this.#how === "swap" ? null : stateOf(old.stat);
    return { effect, change: tell.describe({ path: realPath(change, name), made: [], before, after }) };
  }

  #note(change: Change): Keeping | undefined {
    return this.#planned && noteChange(change, this.#planned, { inode: this.#inode });
  }

  /** Deletes the content of the replaced entry. */
  *end(): Io<void> {
    if (this.#hidden !== undefined) yield* purge(this.place.change, this.#hidden);
  }

  /** Part of a step's record in a group. */
  get record(): Pick<NonNullable<StepRecord["moved"]>, "to" | "before"> & Pick<StepRecord, "made"> {
    const { parents } = this.target;
    return {
      made: madePaths(this.place.change, parents),
      to: this.path,
      ...(this.#before === undefined ? {} : { before: this.#before }),
    };
  }

  get path(): readonly string[] {
    const { parents, name } = this.target;
    return realPath(this.place.change, ...parents, this.#spelling ?? name);
  }

  *#respells({ change: from, real }: End, stored: string): Io<boolean> {
    const { change: to } = this.place;
    const name = requestedName(to, stored);
    const { directory } = from.walk;
    const old = real.at(-1) ?? "";
    if (name === old || identity(directory) !== identity(to.walk.directory)) return false;
    if (!(yield* isOneEntry(from.jail.sys, directory, old, name))) return false;
    this.#spelling = name;
    return true;
  }
}

/** Whether the entry of a name is the one that is to get it. */
const isThere = (entry: Pinned | undefined, own: string | undefined): boolean =>
  entry !== undefined && identity(entry) === own;

/** A name that differs from the stored one only in spelling that the file system folds still is a new name. */
export function requestedName(to: Change, stored: string): string {
  const requested = to.path.segments.at(-1) ?? stored;
  return to.walk.lastIsLink ? stored : requested;
}
