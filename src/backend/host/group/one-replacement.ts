// A group of one change that replaces a file: a write, whose rename is atomic without what a group needs.

import type { Io } from "../../../core/io.js";
import type { GroupChange, GroupEffect } from "../../../core/ports/backend.js";
import { replaceFile } from "../changes/write.js";
import type { Change, Reached } from "../target.js";
import { requireTopDevice } from "./step.js";

type Write = Extract<GroupChange, { kind: "write" }>;

/** Whether a change replaces a file that is there, as it was seen, and does nothing else. */
export const isReplacement = (change: GroupChange): change is Write => {
  if (change.kind !== "write" || change.options.parents) return false;
  const { version, expected } = change.options;
  return version !== undefined || (expected !== undefined && expected !== "nothing");
};

/** @throws NOT_SUPPORTED on another device, as any group */
export function* replaceAlone(change: Change, found: Reached, { body, options }: Write): Io<readonly GroupEffect[]> {
  requireTopDevice(change);
  const { created, sha256 } = yield* replaceFile(change, found, { body, ...options });
  return [{ existed: !created, ...(sha256 === undefined ? {} : { sha256 }) }];
}
