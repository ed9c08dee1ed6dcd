// Finds a text of several lines in another when all terminators count as equal.

import { terminatorAfter, terminatorBefore } from "../content/terminators.js";
import { LOOK, PATIENCE, PROBE } from "./text-search.js";

/** Occurrences of a text; their lengths vary with the terminators. */
export interface Spans {
  /** Number of all occurrences, including overlapping ones. */
  readonly count: number;
  /** The first occurrences, in order. */
  readonly spans: readonly { readonly start: number; readonly end: number }[];
}

/**
 * Finds a text in another when all terminators count as equal. Searches for its longest line, then compares the lines
 * around it, so that nothing is copied.
 * @param needle its lines end in `\n`
 * @returns `undefined`: its longest line occurs so often that searching a newline-normalised copy is cheaper
 */
export function spansOf(needle: string, text: string, keep: number): Spans | undefined {
  const lines = needle.split("\n");
  const anchor = lines.reduce((longest, line, at) => (line.length > (lines[longest]?.length ?? 0) ? at : longest), 0);
  const line = lines[anchor] ?? "";
  if (line === "") return undefined;
  const probe = line.slice(0, PROBE);
  const spans: { start: number; end: number }[] = [];
  let count = 0;
  let credit = PATIENCE * (text.length + needle.length);
  for (let at = text.indexOf(probe); at >= 0; at = text.indexOf(probe, at + 1)) {
    credit -= LOOK + needle.length;
    if (credit < 0) return undefined;
    if (!text.startsWith(line, at)) continue;
    const start = startOf(lines.slice(0, anchor), text, at);
    const end = start < 0 ? -1 : endOf(lines.slice(anchor + 1), text, at + line.length);
    if (end < 0) continue;
    count++;
    if (spans.length < keep) spans.push({ start, end });
  }
  return { count, spans };
}

/** Start of the lines that end right before `before`; -1: they do not match. */
function startOf(lines: readonly string[], text: string, before: number): number {
  let at = before;
  for (const line of lines.toReversed()) {
    at = terminatorBefore(at, text) - line.length;
    if (at < 0 || !text.startsWith(line, at)) return -1;
  }
  return at;
}

/** End of the lines that begin right after `behind`; -1: they do not match. */
function endOf(lines: readonly string[], text: string, behind: number): number {
  let at = behind;
  for (const line of lines) {
    at = terminatorAfter(at, text);
    if (at < 0 || !text.startsWith(line, at)) return -1;
    at += line.length;
  }
  return at;
}
