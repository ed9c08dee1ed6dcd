// The text that a hunk leaves: lines that it keeps stay as they are, new ones end as given, or as their neighbours.

import { endOfNew, type Terminator } from "../content/terminators.js";
import type { Hunk } from "./section.js";

const ENDING = /\r?\n$/;
const endOf = (line: string | undefined): Terminator | undefined =>
  line?.endsWith("\n") ? (line.endsWith("\r\n") ? "\r\n" : "\n") : undefined;

/** Where a hunk was found in the lines of a file. */
export interface FoundHunk {
  readonly hunk: Hunk;
  readonly at: number;
  /** Its lines are those of the file to the byte. */
  readonly isExact: boolean;
}

/** The new text in place of the lines of a hunk. */
export function newText(lines: readonly string[], found: FoundHunk): string {
  const { hunk, at } = found;
  const all = endedLines(lines, found);
  if (at + hunk.before.length < lines.length) return all.join("");
  const last = lines.at(-1);
  const wasBare = last !== undefined && endOf(last) === undefined;
  // What comes behind a last line without an end needs one before it.
  const lead = wasBare && at === lines.length && all.length > 0 ? nearest(lines, at) : "";
  const text = lead + all.join("");
  return (hunk.bare === undefined ? wasBare : losesEnd(hunk)) ? text.replace(ENDING, "") : text;
}

const losesEnd = ({ bare, after }: Hunk): boolean => {
  const last = after.at(-1);
  return bare?.after === true && last !== undefined && "added" in last;
};

function endedLines(lines: readonly string[], { hunk, at, isExact }: FoundHunk): string[] {
  const { before, after } = hunk;
  const isLiteral = isExact && before.some((_, index) => endOf(lines[at + index]) !== undefined);
  const kept = keptBehind(hunk);
  // The line of the file in whose place the next one is.
  let next = 0;
  return after.map((line, index) => {
    if ("kept" in line) {
      next = line.kept + 1;
      const text = lines[at + line.kept] ?? "";
      return index === after.length - 1 || endOf(text) !== undefined ? text : text + nearest(lines, at + line.kept);
    }
    const text = line.added.replace(/\r$/, "");
    const given = text === line.added ? "\n" : "\r\n";
    if (isLiteral) return `${text}${given}`;
    const replaced = next < (kept[index] ?? before.length) ? endOf(lines[at + next++]) : undefined;
    // Where the lines of the file end in another way than the hunk says, so do its new ones.
    return text + endOfNew(isExact ? given : "\n", [replaced, nearest(lines, at + next)]);
  });
}

/** For each new line the first old one that is kept behind it. */
function keptBehind({ before, after }: Hunk): number[] {
  let next = before.length;
  return after
    .toReversed()
    .map((line) => {
      if ("kept" in line) next = line.kept;
      return next;
    })
    .reverse();
}

/** How the lines around a place end: the one before it, else one behind it, else the first. */
const nearest = (lines: readonly string[], at: number): Terminator =>
  [at - 1, at, at + 1, 0].map((index) => endOf(lines[index])).find((end) => end !== undefined) ?? "\n";
