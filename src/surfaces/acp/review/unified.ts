// Unified diffs for approval and for the modified set, in time bounded by the number of edits.

import { formatPatch, type StructuredPatch, structuredPatch } from "diff";
import type { Overwritten } from "./modified.js";

/** Context lines around a change. */
const CONTEXT = 3;
/** Maximum edits computed, since the cost is quadratic; texts that differ more become a single hunk. */
const MAX_EDITS = 400;
const NOWHERE = "/dev/null";

/**
 * A unified diff of two texts. File names with special characters are quoted as git does.
 * @param oldText `null`: the file did not exist, or `overwrites` describes it in a line before the diff
 * @returns `""` if the texts are equal
 */
export function unifiedDiff(
  path: string,
  oldText: string | null,
  newText: string,
  overwrites?: Overwritten | undefined,
): string {
  if (oldText === newText) return "";
  const before = oldText ?? "";
  const names = [oldText === null && overwrites === undefined ? NOWHERE : path, path] as const;
  const options = { context: CONTEXT, maxEditLength: MAX_EDITS };
  const patch = structuredPatch(...names, before, newText, undefined, undefined, options);
  const headers = { includeIndex: false, includeUnderline: false, includeFileHeaders: true };
  const diff = formatPatch(patch ?? replaceAll(names, before, newText), headers);
  return overwrites === undefined ? diff : `Overwrites ${describeBytes(overwrites)}, which are not shown\n${diff}`;
}

const describeBytes = ({ size, hash }: Overwritten): string =>
  `${size === undefined ? "contents" : `${size} bytes`}${hash === undefined ? "" : ` (${hash})`}`;

/** One hunk that removes all old lines and adds all new ones. */
function replaceAll([oldFileName, newFileName]: readonly [string, string], before: string, after: string) {
  const [old, fresh] = [markLines("-", before), markLines("+", after)];
  const counts = { oldLines: before.split(/(?<=\n)/).length, newLines: after.split(/(?<=\n)/).length };
  const hunk = { oldStart: 1, newStart: 1, ...counts, lines: [...old, ...fresh] };
  const patch: StructuredPatch = {
    oldFileName,
    newFileName,
    oldHeader: undefined,
    newHeader: undefined,
    hunks: [hunk],
  };
  return patch;
}

function markLines(mark: string, text: string): string[] {
  const lines = text.split("\n").map((line) => mark + line);
  const last = lines.pop();
  return last === mark || last === undefined ? lines : [...lines, last, "\\ No newline at end of file"];
}
