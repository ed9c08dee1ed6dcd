import { isUtf8 } from "node:buffer";

/** Leading bytes in which a NUL means that a file is not text. */
export const NUL_WINDOW = 8192;
/** Most bytes by which the end of a window can cut a code point short. */
const TORN = 3;
const NEWLINE = 0x0a;

/** A stretch of bytes that is whole UTF-8. */
export interface TextSlice {
  readonly bytes: Buffer;
  /** Bytes left out at the start, because they belong to a code point that began before. */
  readonly skipped: number;
}

/** Whether bytes are text: valid UTF-8, and no NUL in the first 8,192 bytes. */
export function isText(bytes: Buffer, options: { allowNul: boolean } = { allowNul: false }): boolean {
  return isUtf8(bytes) && (options.allowNul || !bytes.subarray(0, NUL_WINDOW).includes(0));
}

/**
 * The whole lines at the start of a file that fit a budget; of a first line that is longer, its whole code points.
 * @param head the first bytes, a few more than the budget
 * @returns `undefined` when the file is not text, as far as `head` can tell
 */
export function wholeLines(
  head: Buffer,
  budget: { size: number; maxBytes: number; maxLines: number; allowNul: boolean },
): TextSlice | undefined {
  const fits = budget.size <= budget.maxBytes && head.length >= budget.size;
  const byBytes = fits ? head.length : lineEnd(head, Math.min(head.length, budget.maxBytes));
  const end = Math.min(byBytes, endOfLine(head, budget.maxLines));
  const known = head.length >= budget.size ? head.length : Math.max(end, codePointStart(head, head.length - TORN));
  return isText(head.subarray(0, known), budget) ? { bytes: head.subarray(0, end), skipped: 0 } : undefined;
}

/** Where the last line ends that fits into `max` bytes; without one, the last whole code point. */
function lineEnd(head: Buffer, max: number): number {
  const newline = max === 0 ? -1 : head.lastIndexOf(NEWLINE, max - 1);
  return newline >= 0 ? newline + 1 : codePointStart(head, max) || codePointLength(head[0]);
}

/** Where line number `count` ends, or the end. */
function endOfLine(head: Buffer, count: number): number {
  let end = 0;
  for (let line = 0; line < count; line++) {
    const newline = head.indexOf(NEWLINE, end);
    if (newline < 0) return head.length;
    end = newline + 1;
  }
  return end;
}

/**
 * Shrinks a range to whole code points; a range that holds none becomes the next one, so that reading on gets ahead.
 * @param window the range with a few bytes on either side
 * @param range.before bytes of the window that stand before the range
 * @returns `undefined` when the range is not text
 */
export function wholeCodePoints(
  window: Buffer,
  range: { before: number; length: number; allowNul: boolean },
): TextSlice | undefined {
  let start = Math.min(range.before, window.length);
  while (isContinuation(window[start])) start++;
  if (start > range.before && !endsCodePoint(window, start)) return undefined;
  let end = codePointStart(window, Math.min(range.before + range.length, window.length));
  if (range.length > 0 && end <= start) end = Math.min(window.length, start + codePointLength(window[start]));
  const bytes = window.subarray(start, Math.max(start, end));
  return isText(bytes, range) ? { bytes, skipped: Math.max(0, start - range.before) } : undefined;
}

/** The last start of a code point at or before `at`, or `at` itself where the bytes end. */
function codePointStart(bytes: Buffer, at: number): number {
  let start = at;
  while (start > 0 && at - start < 3 && isContinuation(bytes[start])) start--;
  // Whole before `at`: then what stands at `at` continues nothing.
  return start < at && start + codePointLength(bytes[start]) <= at ? at : start;
}

/** Whether the bytes before `at` end a whole code point. */
function endsCodePoint(bytes: Buffer, at: number): boolean {
  for (let length = 2; length <= 4 && at - length >= 0; length++) {
    if (!isContinuation(bytes[at - length])) return isUtf8(bytes.subarray(at - length, at));
  }
  return false;
}

const isContinuation = (byte: number | undefined): boolean => byte !== undefined && (byte & 0xc0) === 0x80;

function codePointLength(lead: number | undefined): number {
  if (lead === undefined || lead < 0x80) return 1;
  if (lead < 0xe0) return 2;
  return lead < 0xf0 ? 3 : 4;
}
