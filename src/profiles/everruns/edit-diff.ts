// Reports what an edit changed, as a diff and the first changed line.

import type { TextChange } from "../../core/call/terms.js";
import { escapeText } from "../../core/errors/texts.js";
import { withTerminator } from "../../ops/content/terminators.js";
import { applyReplacements, firstDifference } from "../../ops/editing/match.js";
import { diffLines } from "../../ops/editing/unified-diff.js";

const MAX_CHARS = 16_000;
const MAX_MS = 1000;
const CUT = `\n... diff truncated after ${MAX_CHARS} characters ...`;
const BOM = "\ufeff";

/** Description of an edit in the tool's answer. */
export interface EditReport {
  /** 1-based; `null`: nothing changed. */
  readonly first_changed_line: number | null;
  readonly diff: string;
  readonly diff_truncated: boolean;
}

/** An edit that was applied. */
export interface DoneEdit {
  /** The whole text before the edit. */
  readonly text: string;
  /** Ordered by position, not overlapping. */
  readonly changes: readonly TextChange[];
  /** As the caller sees it. */
  readonly path: string;
  /** The first changed line as the operation counts them, by `\n`. Absent: nothing changed. */
  readonly firstLine: number | undefined;
}

/** Lines are counted after normalising line endings to `\n` and removing the byte order mark. */
export function reportEdit({ text, changes, path, firstLine }: DoneEdit, monotonicMs: () => number): EditReport {
  const bom = text.startsWith(BOM) ? BOM.length : 0;
  const body = text.slice(bom);
  const inBody = changes.map((change) => ({ ...change, start: change.start - bom, end: change.end - bom }));
  const line = text.includes("\r") ? firstLineOf(body, inBody) : firstLine;
  if (line === undefined) return { first_changed_line: null, diff: "", diff_truncated: false };
  const plain = normaliseLineEnds(body, inBody);
  return { first_changed_line: line, ...diffOf(plain, path, monotonicMs) };
}

function firstLineOf(body: string, changes: readonly TextChange[]): number | undefined {
  const first = firstDifference(body, applyReplacements(body, changes), changes[0]?.start ?? 0);
  return first === undefined ? undefined : lineOf(first, body);
}

function lineOf(position: number, body: string): number {
  const isInPair = body[position - 1] === "\r" && body[position] === "\n";
  return withTerminator("\n", body.slice(0, isInPair ? position - 1 : position)).split("\n").length;
}

function diffOf(
  { text, changes }: Pick<DoneEdit, "text" | "changes">,
  path: string,
  monotonicMs: () => number,
): Pick<EditReport, "diff" | "diff_truncated"> {
  const name = escapeText(path);
  const header = `--- ${name} (before)\n+++ ${name} (after)\n`;
  const until = monotonicMs() + MAX_MS;
  let diff = header;
  for (const line of diffLines(text, changes)) {
    if (monotonicMs() > until) return { diff: header.trimEnd() + CUT, diff_truncated: true };
    diff += line;
    // A character has at most two UTF-16 units, so this length already exceeds the limit.
    if (diff.length > 2 * MAX_CHARS) break;
  }
  if (diff === header) return { diff: "", diff_truncated: false };
  if (diff.length <= MAX_CHARS) return { diff, diff_truncated: false };
  const points = [...diff.slice(0, 2 * MAX_CHARS + 1)];
  if (points.length <= MAX_CHARS) return { diff, diff_truncated: false };
  return { diff: points.slice(0, MAX_CHARS).join("") + CUT, diff_truncated: true };
}

/** Normalises line endings to `\n` in a text and its changes. @param changes ordered by position, not overlapping */
export function normaliseLineEnds(
  text: string,
  changes: readonly TextChange[],
): { readonly text: string; readonly changes: readonly TextChange[] } {
  const all = joinAdjacent(changes).map((change) => extendToPairs(change, text));
  let pairs = 0;
  let next = text.indexOf("\r\n");
  const plainIndex = (index: number): number => {
    for (; next >= 0 && next < index; next = text.indexOf("\r\n", next + 2)) pairs++;
    return index - pairs;
  };
  const moved = all.map(({ start, end, text: added }) => ({
    start: plainIndex(start),
    end: plainIndex(end),
    text: withTerminator("\n", added),
  }));
  return { text: withTerminator("\n", text), changes: moved };
}

/** Merges adjacent changes, since a CRLF may form where they touch. */
function joinAdjacent(changes: readonly TextChange[]): readonly TextChange[] {
  const all: TextChange[] = [];
  for (const change of changes) {
    const last = all.at(-1);
    if (last === undefined || last.end < change.start) all.push(change);
    else all[all.length - 1] = { start: last.start, end: change.end, text: last.text + change.text };
  }
  return all;
}

/** Extends a change to a whole CRLF where it would split or create one. */
function extendToPairs({ start, end, text: added }: TextChange, text: string): TextChange {
  const next = added === "" ? text[end] : added[0];
  const takesBefore = text[start - 1] === "\r" && (text[start] === "\n" || next === "\n");
  const full = takesBefore ? `\r${added}` : added;
  const takesAfter = text[end] === "\n" && (text[end - 1] === "\r" || full.at(-1) === "\r");
  return {
    start: takesBefore ? start - 1 : start,
    end: takesAfter ? end + 1 : end,
    text: takesAfter ? `${full}\n` : full,
  };
}
