import { formatPatch, type StructuredPatch, structuredPatch } from "diff";
import type { Overwritten } from "./changes.js";

/** Lines shown around a change. */
const CONTEXT = 3;
/** Most lines that are told apart: texts that differ in more are one change, since finding more takes the square of it. */
const MOST_EDITS = 400;
const NOWHERE = "/dev/null";

/**
 * Names with odd characters are quoted as git does.
 * @param oldText `null`: there was no file, or `overwrites` says what there was; that is told in a line before the difference
 * @returns `""`: nothing differs
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
  const options = { context: CONTEXT, maxEditLength: MOST_EDITS };
  const patch = structuredPatch(...names, before, newText, undefined, undefined, options);
  const headers = { includeIndex: false, includeUnderline: false, includeFileHeaders: true };
  const diff = formatPatch(patch ?? replaced(names, before, newText), headers);
  return overwrites === undefined ? diff : `Overwrites ${described(overwrites)}, which are not shown\n${diff}`;
}

const described = ({ size, hash }: Overwritten): string =>
  `${size === undefined ? "contents" : `${size} bytes`}${hash === undefined ? "" : ` (${hash})`}`;

/** All of the old lines, and then all of the new ones. */
function replaced([oldFileName, newFileName]: readonly [string, string], before: string, after: string) {
  const [old, fresh] = [marked("-", before), marked("+", after)];
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

function marked(mark: string, text: string): string[] {
  const lines = text.split("\n").map((line) => mark + line);
  const last = lines.pop();
  return last === mark || last === undefined ? lines : [...lines, last, "\\ No newline at end of file"];
}
