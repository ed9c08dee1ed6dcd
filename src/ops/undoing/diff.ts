// The difference that an undo makes, as one unified diff of all files that are text.

import { type UnifiedDiff, unifiedDiff } from "../editing/unified-diff.js";
import { type PastContent, streamOf } from "../history/past-content.js";
import type { FileTurn } from "./plan.js";

/** Longer files are left out of the diff. */
const MAX_BYTES = 524_288;
const MAX_FILES = 200;

/** @param maxChars of the whole */
export async function diffOfTurns(turns: readonly FileTurn[], maxChars: number): Promise<UnifiedDiff> {
  let diff = "";
  const shown = turns.filter(({ isPlain }) => isPlain !== true);
  let isCut = shown.length > MAX_FILES;
  for (const { path, now, next } of shown.slice(0, MAX_FILES)) {
    if (diff.length >= maxChars) return { diff, diffTruncated: true };
    const [old, text] = [await textOf(now), await textOf(next)];
    if (old === undefined || text === undefined) {
      isCut = true;
      continue;
    }
    const one = textDiff(old, text, { path: path.join("/"), maxChars: maxChars - diff.length });
    diff += one.diff;
    isCut ||= one.diffTruncated;
  }
  return { diff, diffTruncated: isCut };
}

/** The difference of two texts. */
export const textDiff = (
  old: string,
  next: string,
  { path, maxChars }: { readonly path: string; readonly maxChars: number },
): UnifiedDiff => unifiedDiff(old, { path, replacements: [replacementOf(old, next)], maxChars });

/** `undefined`: it is not text, too long, or cannot be read. */
async function textOf(content: PastContent | "kept" | undefined): Promise<string | undefined> {
  if (content === undefined) return "";
  if (content === "kept" || content.size > MAX_BYTES) return undefined;
  const bytes = await streamOf(content);
  if (!Buffer.isBuffer(bytes) || bytes.includes(0)) return undefined;
  const text = bytes.toString("utf8");
  return Buffer.byteLength(text) === bytes.length && !text.includes("\ufffd") ? text : undefined;
}

/** The part between the common beginning and the common end. */
function replacementOf(old: string, next: string): { start: number; end: number; text: string } {
  const most = Math.min(old.length, next.length);
  let start = 0;
  while (start < most && old[start] === next[start]) start++;
  let tail = 0;
  while (tail < most - start && old[old.length - 1 - tail] === next[next.length - 1 - tail]) tail++;
  return { start, end: old.length - tail, text: next.slice(start, next.length - tail) };
}
