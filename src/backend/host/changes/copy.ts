// Copies a tree into a directory of the host.

import { alreadyExists, invalidInput, notSupportedByRoot } from "../../../core/errors/texts.js";
import type { Io } from "../../../core/io.js";
import type { At, Copied, CopyOptions } from "../../../core/ports/backend.js";
import type { EntryChange, EntryState } from "../../../core/ports/changes/change.js";
import type { TreeSource } from "../../../core/ports/tree-source.js";
import { identity, statBelow } from "../../../jail/handles.js";
import type { Stat } from "../../../jail/stat.js";
import { errnoOf, quietly } from "../../../jail/sys.js";
import type { Guard } from "../guard.js";
import { NONE } from "../quota.js";
import type { WriteRules } from "../target.js";
import { ALONE, makeAlone } from "./alone.js";
import { type Begun, Copying } from "./copying.js";
import { type Coming, type Describe, Goal } from "./goal.js";
import { isReported, stateOf } from "./report.js";
import { type Committed, End, type Plan, type Step } from "./step.js";

/** Places a copy of a tree: prepared in a stage, then made visible by one rename. */
export class CopyStep implements Step {
  readonly ends: readonly [End];
  readonly isConditional: boolean;
  readonly record = {};
  readonly #goal: Goal;
  readonly #source: TreeSource;
  readonly #options: CopyOptions;
  readonly #isFile: boolean;
  #copying: Copying | undefined;
  #stage: Begun | undefined;
  #copied: Omit<Copied, "overwritten"> = { files: 0, bytes: 0 };
  #isOverwritten = false;

  constructor(at: At, source: TreeSource, options: CopyOptions, rules: WriteRules) {
    this.#source = source;
    this.#options = options;
    this.#isFile = source.top.type === "file";
    const end = new End(at, { followLast: false, onlyTarget: false }, rules);
    this.#goal = new Goal(end, options, ALONE);
    this.ends = [end];
    this.isConditional = options.expected !== undefined;
  }

  *check(): Io<void> {
    const { change, found } = this.#goal.place;
    if (change.path.segments.length === 0) throw alreadyExists(change.access.place);
    if (found.state === "found" && this.#source.identity === identity(found.object)) {
      throw invalidInput("'to' is the same as 'path'", "/to", "another path");
    }
    yield* this.#goal.check(this.#coming(undefined));
  }

  *stage(): Io<void> {
    const { change } = this.#goal.place;
    const copying = new Copying(change, this.#options);
    this.#copying = copying;
    this.#stage = yield* copying.begin(this.#source);
    this.#copied = yield* copying.run(this.#source);
    this.#options.approve?.(this.#copied.sha256);
  }

  *prepare(): Io<Plan> {
    const { change } = this.#goal.place;
    const stat = isReported(change) ? yield* quietly(change.jail.sys.lstat(this.#begun.path)) : undefined;
    // The quota for the contents of a directory was reserved entry by entry.
    const added = this.#isFile ? this.#copied : NONE;
    return yield* this.#goal.prepare(this.#coming(stat), (told) => this.#describe(told, stat), { added });
  }

  *commit(guard: Guard): Io<Committed> {
    const entry = { path: this.#begun.path, isDirectory: !this.#isFile, copies: true };
    const copying = this.#copying;
    if (copying === undefined) throw notStaged();
    const committed = yield* this.#goal.commit(entry, guard, {
      describe: (told) => this.#describe(told, undefined),
      after: (name) => this.#stateNow(name),
      // The copy gets its permissions last, so the reported state is the final one.
      finish: () => copying.finish(),
    });
    this.#isOverwritten = committed.effect.existed;
    return committed;
  }

  *#stateNow(name: string): Io<EntryState> {
    const { jail, walk } = this.#goal.place.change;
    return this.#stateOf(yield* quietly(statBelow(jail.sys, walk.directory, name)));
  }

  #stateOf(stat: Stat | undefined): EntryState {
    const { bytes, sha256 } = this.#copied;
    return stat === undefined ? { size: bytes, modified: Date.now() } : stateOf(stat, sha256);
  }

  #describe({ path, made = [], before, after }: Parameters<Describe>[0], stat: Stat | undefined): EntryChange {
    const { from } = this.#options;
    return {
      action: before === null ? "created" : "modified",
      kind: this.#isFile ? "file" : "directory",
      path,
      ...(made.length > 0 && { made }),
      ...(from === undefined ? {} : { from: from.path }),
      ...(from === undefined || from.root === this.#goal.place.at.access.place.root ? {} : { fromRoot: from.root }),
      ...(this.#isFile ? {} : { files: this.#copied.files }),
      before,
      after: after ?? this.#stateOf(stat),
    };
  }

  #coming(stat: Stat | undefined): Coming {
    return { stat, isDirectory: !this.#isFile, isFile: this.#isFile, identity: this.#source.identity };
  }

  get #begun(): Begun {
    if (this.#stage === undefined) throw notStaged();
    return this.#stage;
  }

  *end(): Io<void> {
    yield* this.#goal.end();
    if (this.#copying !== undefined) yield* this.#copying.end();
  }

  get copied(): Copied {
    return { ...this.#copied, overwritten: this.#isOverwritten };
  }
}

const notStaged = (): Error => new TypeError("A copy is staged before it gets its place");

export function* copyAlone(step: CopyStep): Io<Copied> {
  try {
    yield* makeAlone(step);
    return step.copied;
  } catch (error) {
    if (errnoOf(error) !== "EXDEV") throw error;
    // A directory whose place is taken, or that came to lie on another mount meanwhile.
    const { place } = step.ends[0].at.access;
    throw notSupportedByRoot(place, "replacing a directory on another mount by a copy. Delete it first");
  }
}
