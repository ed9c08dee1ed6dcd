// Changes of a hunk: lines that it keeps are not touched, new ones end as given, or as their neighbours.

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

/** Lines of a file, from one to before another, and what takes their place. */
export interface NewLines {
  readonly from: number;
  readonly to: number;
  readonly text: string;
}

/** The changes of a hunk, by position. */
export function newLines(lines: readonly string[], { hunk, at, isExact }: FoundHunk): NewLines[] {
  const { before, after } = hunk;
  const isLiteral = isExact && before.some((_, index) => endOf(lines[at + index]) !== undefined);
  const changes: NewLines[] = [];
  let from = 0;
  let added: string[] = [];
  const change = (to: number): void => {
    const run = { from: at + from, to: at + to };
    const ends = isLiteral ? "given" : isExact ? "fitting" : "fitted";
    const text = added.map((line, index) => endedLine(lines, line, { ...run, index, ends })).join("");
    if (to > from || text !== "") changes.push(atEnd(lines, { hunk, at }, { ...run, text }));
  };
  for (const line of after) {
    if ("added" in line) added.push(line.added);
    else {
      change(line.kept);
      from = line.kept + 1;
      added = [];
    }
  }
  change(before.length);
  return changes;
}

interface Run {
  readonly from: number;
  readonly to: number;
  readonly index: number;
  /** As the patch gives them; LF as around it; all as around it, since the file has other ends than the patch shows. */
  readonly ends: "given" | "fitting" | "fitted";
}

/** A new line with its end. */
function endedLine(lines: readonly string[], line: string, { from, to, index, ends }: Run): string {
  const text = line.replace(/\r$/, "");
  const given = text === line ? "\n" : "\r\n";
  if (ends === "given") return `${text}${given}`;
  const replaced = from + index < to ? lines[from + index] : undefined;
  const around = [endOf(replaced), nearest(lines, Math.min(from + index, to))];
  return text + endOfNew(ends === "fitting" ? given : "\n", around);
}

/** A change, so that the file ends with a newline or without, as before or as the patch says. */
function atEnd(lines: readonly string[], { hunk, at }: Pick<FoundHunk, "hunk" | "at">, change: NewLines): NewLines {
  const { bare, after } = hunk;
  const { from, to, text } = change;
  if (to < lines.length) return change;
  const last = lines.at(-1);
  const wasBare = last !== undefined && endOf(last) === undefined;
  // Lines behind a last line without an end need one before them.
  const lead = wasBare && from === lines.length ? nearest(lines, from) : "";
  const isBare = bare === undefined ? wasBare : bare.after && "added" in (after.at(-1) ?? {});
  if (!isBare) return { from, to, text: lead + text };
  // A line above the hunk may be another one's.
  if (text !== "" || from === at) return { from, to, text: (lead + text).replace(ENDING, "") };
  return { from: from - 1, to, text: lines[from - 1]?.replace(ENDING, "") ?? "" };
}

/** How the lines around a place end: the one before it, else one behind it, else the first. */
const nearest = (lines: readonly string[], at: number): Terminator =>
  [at - 1, at, at + 1, 0].map((index) => endOf(lines[index])).find((end) => end !== undefined) ?? "\n";
