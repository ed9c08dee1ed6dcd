// Unified diffs of a text and its replacements.

import { escapeText } from "../../core/errors/texts.js";
import { changedLines, type LineChange, splitLines } from "./line-changes.js";
import type { Replacement } from "./match.js";

/** Context lines around a change. */
const CONTEXT = 2;
const NO_NEWLINE = "\\ No newline at end of file\n";

export interface UnifiedDiff {
  readonly diff: string;
  /** The diff was cut after a whole line. */
  readonly diffTruncated: boolean;
}

export interface DiffOptions {
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
