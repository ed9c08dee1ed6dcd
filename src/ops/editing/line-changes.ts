// Finds the lines that replacements change, as the basis of a diff.

import { applyReplacements, type Replacement } from "./match.js";
import { sharedLines } from "./text-search.js";

/** Most pairs of lines compared to find the common lines of two versions; beyond it, all lines count as changed. */
const MAX_PAIRS = 40_000;

/** Consecutive lines that are replaced by others; either side may be empty. */
export interface LineChange {
  /** Position in the original, in characters. */
  readonly start: number;
  readonly end: number;
  /** 0-based line of `start` in the original. */
  readonly oldLine: number;
  /** 0-based line of `start` in the new text. */
  readonly newLine: number;
  /** Lines with their terminators. */
  readonly removed: readonly string[];
  readonly added: readonly string[];
}

/** Whole lines with replacements in them. */
interface Block {
  readonly start: number;
  readonly end: number;
  readonly replacements: Replacement[];
}

/** Splits a text into lines with their terminators; only `\n` ends a line. */
export const splitLines = (text: string): string[] => text.match(/[^\n]*\n|[^\n]+$/g) ?? [];

/** The lines that replacements change, in order. @param replacements by position, not overlapping */
export function* changedLines(text: string, replacements: readonly Replacement[]): Generator<LineChange> {
  let counted = 0;
  let oldLine = 0;
  let more = 0;
  for (const { start, end, replacements: inside } of blocksOf(text, replacements)) {
    oldLine += newlinesBetween(text, counted, start);
    counted = start;
    const shifted = inside.map((one) => ({ ...one, start: one.start - start, end: one.end - start }));
    const before = text.slice(start, end);
    for (const change of changesOf(splitLines(before), splitLines(applyReplacements(before, shifted)))) {
      yield {
        ...change,
        start: start + change.start,
        end: start + change.end,
        oldLine: oldLine + change.oldLine,
        newLine: oldLine + more + change.newLine,
      };
    }
    more += inside.reduce((sum, one) => sum + newlinesIn(one.text) - newlinesBetween(text, one.start, one.end), 0);
  }
}

function* blocksOf(text: string, replacements: readonly Replacement[]): Generator<Block> {
  let block: Block | undefined;
  for (const one of replacements) {
    if (text.startsWith(one.text, one.start) && one.text.length === one.end - one.start) continue;
    if (block !== undefined && one.start < block.end) {
      block.replacements.push(one);
      if (one.end >= block.end) block = { ...block, end: lineEnd(text, one.end) };
    } else {
      if (block !== undefined) yield block;
      block = { start: lineStart(text, one.start), end: lineEnd(text, one.end), replacements: [one] };
    }
  }
  if (block !== undefined) yield block;
}

const lineStart = (text: string, at: number): number => (at === 0 ? 0 : text.lastIndexOf("\n", at - 1) + 1);

/** End of the line that contains a position. */
function lineEnd(text: string, at: number): number {
  const newline = text.indexOf("\n", at);
  return newline < 0 ? text.length : newline + 1;
}

/** Slices first, to search no further than `end`: a line may be as long as the file. */
const newlinesBetween = (text: string, start: number, end: number): number => newlinesIn(text.slice(start, end));

function newlinesIn(text: string): number {
  let count = 0;
  for (let at = text.indexOf("\n"); at >= 0; at = text.indexOf("\n", at + 1)) count++;
  return count;
}

/** The differences of two versions of some lines; positions are relative to their start. */
function* changesOf(before: readonly string[], after: readonly string[]): Generator<LineChange> {
  let start = 0;
  let from = 0;
  for (const { oldLine, newLine, removed, added } of gapsBetween(before, after)) {
    start += lengthOf(before.slice(from, oldLine));
    from = oldLine + removed;
    const gone = before.slice(oldLine, from);
    const end = start + lengthOf(gone);
    yield { start, end, oldLine, newLine, removed: gone, added: after.slice(newLine, newLine + added) };
    start = end;
  }
}

const lengthOf = (lines: readonly string[]): number => lines.reduce((sum, { length }) => sum + length, 0);

/** A run of lines between two common ones: its position and length in each version. */
interface Gap {
  readonly oldLine: number;
  readonly newLine: number;
  readonly removed: number;
  readonly added: number;
}

function* gapsBetween(olds: readonly string[], news: readonly string[]): Generator<Gap> {
  let oldLine = 0;
  let newLine = 0;
  for (const [sharedOld, sharedNew] of [...sharedLines(olds, news, MAX_PAIRS), [olds.length, news.length] as const]) {
    const gap = { oldLine, newLine, removed: sharedOld - oldLine, added: sharedNew - newLine };
    if (gap.removed > 0 || gap.added > 0) yield gap;
    oldLine = sharedOld + 1;
    newLine = sharedNew + 1;
  }
}
