import { escapeText } from "../../core/texts.js";
import { type LineEdit, lineEdits } from "./line-diff.js";

/** Lines shown around a change. */
const CONTEXT = 3;
const NO_NEWLINE = "\\ No newline at end of file\n";
const NOWHERE = "/dev/null";

/** @param oldText `null`: there was no file @returns `""`: nothing differs */
export function unifiedDiff(path: string, oldText: string | null, newText: string): string {
  if (oldText === newText) return "";
  const [before, after] = [linesOf(oldText ?? ""), linesOf(newText)];
  const name = escapeText(path);
  let diff = `--- ${oldText === null ? NOWHERE : name}\n+++ ${name}\n`;
  for (const hunk of hunksOf(lineEdits(before, after))) diff += hunkText(hunk, before, after);
  return diff;
}

const linesOf = (text: string): string[] => text.match(/[^\n]*\n|[^\n]+$/g) ?? [];

/** Edits whose context touches stand in one hunk. */
function hunksOf(edits: readonly LineEdit[]): LineEdit[][] {
  const hunks: LineEdit[][] = [];
  for (const edit of edits) {
    const hunk = hunks.at(-1);
    const last = hunk?.at(-1);
    if (hunk !== undefined && last !== undefined && edit.oldAt - (last.oldAt + last.oldCount) <= 2 * CONTEXT)
      hunk.push(edit);
    else hunks.push([edit]);
  }
  return hunks;
}

function hunkText(edits: readonly LineEdit[], before: readonly string[], after: readonly string[]): string {
  const [first] = edits;
  const last = edits.at(-1);
  if (first === undefined || last === undefined) return "";
  const start = Math.max(0, first.oldAt - CONTEXT);
  const end = Math.min(before.length, last.oldAt + last.oldCount + CONTEXT);
  const newStart = first.newAt - (first.oldAt - start);
  const newEnd = last.newAt + last.newCount + (end - last.oldAt - last.oldCount);
  let at = start;
  let text = "";
  for (const { oldAt, oldCount, newAt, newCount } of edits) {
    text += prefixed(" ", before.slice(at, oldAt));
    text += prefixed("-", before.slice(oldAt, oldAt + oldCount));
    text += prefixed("+", after.slice(newAt, newAt + newCount));
    at = oldAt + oldCount;
  }
  text += prefixed(" ", before.slice(at, end));
  return `@@ -${range(start, end)} +${range(newStart, newEnd)} @@\n${text}`;
}

/** Of an empty range the line before it is named. */
const range = (start: number, end: number): string => `${end === start ? start : start + 1},${end - start}`;

const prefixed = (sign: string, lines: readonly string[]): string =>
  lines.map((line) => `${sign}${line.endsWith("\n") ? line : `${line}\n${NO_NEWLINE}`}`).join("");
