// Lines that replacements of a text change, and unified diffs of them.

import { escapeText } from "../../core/errors/texts.js";
import type { Call } from "../../core/ports/operation.js";
import { countOf } from "../content/terminators.js";
import { applyReplacements, type Replacement } from "./match.js";
import { sharedLines } from "./text-search.js";

/** Most characters of a diff in an answer, for models and for other callers. */
export const mostDiffChars = ({ budget }: Pick<Call, "budget">): number => (budget === undefined ? 16_000 : 4_000);

/** Context lines around a change. */
const CONTEXT = 2;
const NO_NEWLINE = "\\ No newline at end of file\n";

export interface UnifiedDiff {
  readonly diff: string;
  /** The diff was cut after a whole line. */
  readonly diffTruncated: boolean;
}

interface DiffOptions {
  readonly path: string;
  /** By position, not overlapping. */
  readonly replacements: readonly Replacement[];
  readonly maxChars: number;
}

/**
 * A unified diff, built from the known replacements: it takes one pass over the text, and stops once `maxChars` is
 * reached. Empty if nothing changes.
 */
export function unifiedDiff(text: string, { path, replacements, maxChars }: DiffOptions): UnifiedDiff {
  const name = escapeText(path);
  let diff = `--- ${name}\n+++ ${name}\n`;
  const emptyLength = diff.length;
  for (const line of diffLines(text, replacements)) {
    if (diff.length + line.length > maxChars) return { diff, diffTruncated: true };
    diff += line;
  }
  return { diff: diff.length === emptyLength ? "" : diff, diffTruncated: false };
}

/** The lines of a diff after its header, each with its line feed. */
export function* diffLines(text: string, replacements: readonly Replacement[]): Generator<string> {
  let hunk: LineChange[] = [];
  for (const change of changedLines(text, replacements)) {
    const last = hunk.at(-1);
    if (last !== undefined && change.oldLine - (last.oldLine + last.removed.length) > 2 * CONTEXT) {
      yield* hunkLines(text, hunk);
      hunk = [];
    }
    hunk.push(change);
  }
  yield* hunkLines(text, hunk);
}

function* hunkLines(text: string, changes: readonly LineChange[]): Generator<string> {
  const [first] = changes;
  const last = changes.at(-1);
  if (first === undefined || last === undefined) return;
  const before = linesBefore(text, first.start, CONTEXT);
  const after = linesAfter(text, last.end, CONTEXT);
  const lines: string[] = before.map((line) => ` ${line}`);
  let oldCount = before.length + after.length;
  let newCount = oldCount;
  let at = first.start;
  for (const { start, end, removed, added } of changes) {
    const between = splitLines(text.slice(at, start));
    for (const line of between) lines.push(` ${line}`);
    for (const line of removed) lines.push(`-${line}`);
    for (const line of added) lines.push(`+${line}`);
    oldCount += between.length + removed.length;
    newCount += between.length + added.length;
    at = end;
  }
  for (const line of after) lines.push(` ${line}`);
  const oldRange = range(first.oldLine - before.length, oldCount);
  yield `@@ -${oldRange} +${range(first.newLine - before.length, newCount)} @@\n`;
  for (const line of lines.map((one) => one.toWellFormed()))
    yield line.endsWith("\n") ? line : `${line}\n${NO_NEWLINE}`;
}

/** A range in a hunk header; an empty one names the line before it. @param first 0-based */
const range = (first: number, count: number): string => `${count === 0 ? first : first + 1},${count}`;

/** The last lines before `end`, at most `most`. @param end start of a line */
function linesBefore(text: string, end: number, most: number): string[] {
  const lines: string[] = [];
  for (let to = end; to > 0 && lines.length < most; ) {
    const from = to < 2 ? 0 : text.lastIndexOf("\n", to - 2) + 1;
    lines.unshift(text.slice(from, to));
    to = from;
  }
  return lines;
}

function linesAfter(text: string, start: number, most: number): string[] {
  const lines: string[] = [];
  for (let from = start; from < text.length && lines.length < most; ) {
    const newline = text.indexOf("\n", from);
    const to = newline < 0 ? text.length : newline + 1;
    lines.push(text.slice(from, to));
    from = to;
  }
  return lines;
}

/** Most pairs of lines compared to find the common lines of two versions; beyond it, all lines count as changed. */
const MAX_PAIRS = 40_000;

/** Consecutive lines that are replaced by others; either side may be empty. */
interface LineChange {
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
function* changedLines(text: string, replacements: readonly Replacement[]): Generator<LineChange> {
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

const newlinesIn = (text: string): number => countOf("\n", text);

/** The differences of two versions of some lines; positions are relative to their start. */
function* changesOf(before: readonly string[], after: readonly string[]): Generator<LineChange> {
  let [start, oldLine, newLine] = [0, 0, 0];
  const ends = [before.length, after.length] as const;
  for (const [sharedOld, sharedNew] of [...sharedLines(before, after, MAX_PAIRS), ends]) {
    const [removed, added] = [before.slice(oldLine, sharedOld), after.slice(newLine, sharedNew)];
    const end = removed.reduce((sum, { length }) => sum + length, start);
    if (removed.length + added.length > 0) yield { start, end, oldLine, newLine, removed, added };
    start = end + (before[sharedOld]?.length ?? 0);
    [oldLine, newLine] = [sharedOld + 1, sharedNew + 1];
  }
}
