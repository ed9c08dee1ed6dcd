// Differences of text files, as a person is shown them.

import { attempt } from "../../core/io.js";
import { unifiedDiff } from "../../ops/editing/unified-diff.js";

/** Most bytes of a file of which a difference is made. */
export const MAX_TEXT = 1_048_576;
const MAX_DIFF_CHARS = 16_000;
/** Most characters of the differences of several files or roots together. */
const MAX_JOINT_CHARS = 64_000;
const CUT = "\\ The difference goes on: it is cut here\n";

/** A unified diff of a text file and what it becomes; `undefined` where one of them is no text, or too long. */
export function contentDiff(
  path: string,
  { state, content: old }: { readonly state?: unknown; readonly content?: Buffer | undefined },
  content: Buffer,
  adds = false,
): string | undefined {
  if (state !== undefined && old === undefined) return undefined;
  const before = textOf(old ?? Buffer.alloc(0));
  const added = textOf(content);
  if (before === undefined || added === undefined) return undefined;
  const after = adds ? before + added : added;
  const start = commonLines(before, after);
  const end = commonEnd(before, after, start);
  const replacements = [{ start, end: before.length - end, text: after.slice(start, after.length - end) }];
  const { diff, diffTruncated } = unifiedDiff(before, { path, replacements, maxChars: MAX_DIFF_CHARS });
  return diffTruncated ? `${diff}${CUT}` : diff;
}

/** Several differences as one, which a person decides by: what is cut says so. `undefined`: there is none. */
export function joinDiffs(all: readonly (string | undefined)[]): string | undefined {
  const diffs = all.filter((one) => one !== undefined);
  if (diffs.length === 0) return undefined;
  const text = diffs.join("");
  return text.length > MAX_JOINT_CHARS ? `${text.slice(0, MAX_JOINT_CHARS)}\n${CUT}` : text;
}

const textOf = (bytes: Buffer): string | undefined =>
  attempt(() => new TextDecoder("utf-8", { fatal: true, ignoreBOM: true }).decode(bytes));

/** Characters that two texts have in common at their start, up to the end of a line. */
function commonLines(one: string, other: string): number {
  const most = Math.min(one.length, other.length);
  let index = 0;
  while (index < most && one[index] === other[index]) index += 1;
  return one.lastIndexOf("\n", index - 1) + 1;
}

function commonEnd(one: string, other: string, start: number): number {
  const most = Math.min(one.length, other.length) - start;
  let length = 0;
  while (length < most && one[one.length - 1 - length] === other[other.length - 1 - length]) length += 1;
  return length;
}
