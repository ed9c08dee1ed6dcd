// Asks once about a whole group, before its first batch is made.

import type { Io } from "../../../core/io.js";
import type { GroupChange, Recheck } from "../../../core/ports/backend.js";
import type { EntryChange } from "../../../core/ports/changes/change.js";
import { placeOf, plannedOf, requireApproval, type Step } from "../changes/step.js";
import type { Member } from "./member.js";

/** @param members of the first batch, prepared @throws as {@link requireApproval} */
export function* askAboutGroup(
  steps: readonly Step[],
  changes: readonly GroupChange[],
  members: readonly Member[],
): Io<Recheck | undefined> {
  const planned = steps.flatMap((step, index) => {
    const [given, member] = [changes[index], members[index]];
    const change = member === undefined ? given && foreseen(given, step) : member.plan.change;
    return change === undefined ? [] : [plannedOf(step, change)];
  });
  return yield* requireApproval(planned);
}

const ACTIONS = { remove: "deleted", move: "moved", mkdir: "created", write: "created", restore: "created" } as const;

/** A change of a later batch as it was asked for: the batches before decide what it will find. */
function foreseen({ kind }: GroupChange, step: Step): EntryChange {
  const path = placeOf(step).at.path.segments;
  const after = step.staged?.after ?? null;
  return { action: ACTIONS[kind], kind: kind === "mkdir" ? "directory" : "other", path, before: null, after };
}
