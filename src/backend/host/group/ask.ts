// Asks once about a whole group, before its first batch is made.

import type { Io } from "../../../core/io.js";
import type { GroupChange, PlannedChange } from "../../../core/ports/backend.js";
import type { EntryChange } from "../../../core/ports/changes/change.js";
import { plannedOf, requireApproval, type Step } from "../changes/step.js";
import type { Member } from "./member.js";

/** @param members of the first batch, prepared @throws as {@link requireApproval} */
export function* askAboutGroup(
  steps: readonly Step[],
  changes: readonly GroupChange[],
  members: readonly Member[],
): Io<void> {
  const planned: PlannedChange[] = [];
  for (const [index, step] of steps.entries()) {
    const given = changes[index];
    const member = members[index];
    const change = member === undefined ? given && foreseen(given, step) : member.plan.change;
    if (change !== undefined) planned.push(plannedOf(step, change));
  }
  yield* requireApproval(planned);
}

/** A change of a later batch as it was asked for: the batches before decide what it will find. */
function foreseen(given: GroupChange, { staged }: Step): EntryChange {
  const { path } = given.kind === "move" ? given.to : given.at;
  const unknown = { kind: "other", path: path.segments, before: null, after: null } as const;
  switch (given.kind) {
    case "remove":
      return { ...unknown, action: "deleted" };
    case "move":
      return { ...unknown, action: "moved", from: given.from.path.segments };
    case "mkdir":
      return { ...unknown, action: "created", kind: "directory" };
    case "write":
      return { ...unknown, action: "created", kind: "file", after: staged?.after ?? null };
    case "restore":
      return { ...unknown, action: "created" };
  }
}
