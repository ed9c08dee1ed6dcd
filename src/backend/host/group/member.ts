// One step of a group in the journal: noted before it is made, told of once the group is committed.

import type { Io } from "../../../core/io.js";
import { release } from "../../../jail/handles.js";
import { report } from "../changes/report.js";
import { type Committed, type Plan, placeOf, type Step } from "../changes/step.js";
import { keepReplaced } from "../history/keep.js";
import { dropNote, type Keeping } from "../history/note.js";
import type { Change } from "../target.js";
import { keyOf } from "./batches.js";
import type { Intent, RealPath, StepRecord } from "./intent.js";

export class Member {
  readonly step: Step;
  readonly plan: Plan;
  readonly record: StepRecord;
  /** The change without its walk, which ends with the batch. */
  readonly #change: Pick<Change, "jail" | "access" | "journal" | "made" | "id" | "rules">;
  #committed: Committed | undefined;
  #keeping: Keeping | undefined;

  /** @param step prepared */
  constructor(step: Step, plan: Plan) {
    this.step = step;
    this.plan = plan;
    this.record = step.record;
    const { jail, access, journal, made, id, rules } = placeOf(step).change;
    this.#change = { jail, access, journal, made, id, rules };
  }

  /** How to undo it as it was really made: a directory that others have made in the meantime is theirs. */
  get done(): StepRecord {
    const { made = [], put, moved } = this.record;
    const isLastMade = put === undefined && moved === undefined && this.#committed?.effect.existed === false;
    const onTheWay = this.#change.made.map(keyOf);
    const isOwn = (path: RealPath): boolean => onTheWay.includes(keyOf(path)) || (isLastMade && path === made.at(-1));
    return { ...this.record, made: made.filter(isOwn) };
  }

  /** Notes the change, with the content of the file that is replaced, which the intent keeps. */
  *note({ jail, folder }: Intent): Io<void> {
    const { change: planned, inode, notes } = this.plan;
    if (planned === undefined || notes === "in commit") return;
    const name = this.record.put?.before ?? this.record.moved?.before;
    const old = name === undefined ? undefined : yield* jail.handles.pin(folder, name);
    if (name !== undefined && old === undefined)
      throw Object.assign(new Error("not kept"), { code: "ESTALE", syscall: "open" });
    try {
      const replaced = old && { old, at: { directory: folder, name: name ?? "" }, isSpare: true };
      this.#keeping = yield* keepReplaced(this.#change, replaced, { planned, inode });
    } finally {
      if (old !== undefined) release(old);
    }
  }

  commit(committed: Committed): void {
    this.#committed = committed;
    this.#keeping = committed.keeping ?? this.#keeping;
  }

  /** After the group was undone. */
  *forget(): Io<void> {
    yield* this.#keeping?.undo() ?? dropNote(this.#change);
  }

  /** After the group was committed. */
  *report(): Io<void> {
    const { change } = this.#committed ?? {};
    if (change === undefined) return yield* this.forget();
    yield* report(this.#change, change, this.#keeping);
  }
}
