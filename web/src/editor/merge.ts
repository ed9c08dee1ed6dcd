// Three versions of a text, by lines: where they differ, who changed what, and where a position of one lies in another.

import { diffIndices } from "node-diff3";

/** Lines that differ between the versions. */
export interface Place {
  readonly mine: readonly string[];
  readonly theirs: readonly string[];
  readonly before: readonly string[];
  /** The side that changed the lines. For `both` the user has to decide. */
  readonly by: "mine" | "theirs" | "both";
}

/** Lines that all agree on, perhaps none, or a place. There is a part of the former kind between places, and at both ends. */
export type Part = readonly string[] | Place;

export const isPlace = (part: Part): part is Place => "by" in part;

/** Line ends that all lines of a text have, else `\n`, which leaves others in the lines. */
export const separatorOf = (text: string): string => (/\r\n/.test(text) && !/(?<!\r)\n/.test(text) ? "\r\n" : "\n");

interface Hunk {
  readonly from: number;
  readonly to: number;
  /** Lines of the other text in their place. */
  readonly otherFrom: number;
  readonly otherTo: number;
}

/** Beyond, lines in between are not compared: it takes the product of their numbers where many are alike. */
const MAX_COMPARED = 20_000;

/** The differences, in order. Equal lines at both ends are skipped first. */
function hunksOf(lines: readonly string[], other: readonly string[]): readonly Hunk[] {
  const most = Math.min(lines.length, other.length);
  let start = 0;
  while (start < most && lines[start] === other[start]) start += 1;
  let end = 0;
  while (end < most - start && lines[lines.length - 1 - end] === other[other.length - 1 - end]) end += 1;
  const [own, theirs] = [lines.slice(start, lines.length - end), other.slice(start, other.length - end)];
  if (own.length + theirs.length === 0) return [];
  if (own.length + theirs.length > MAX_COMPARED)
    return [{ from: start, to: start + own.length, otherFrom: start, otherTo: start + theirs.length }];
  return diffIndices([...own], [...theirs]).map(({ buffer1: [from, many], buffer2: [otherFrom, otherMany] }) => ({
    ...{ from: start + from, to: start + from + many },
    ...{ otherFrom: start + otherFrom, otherTo: start + otherFrom + otherMany },
  }));
}

const isSame = (one: readonly string[], other: readonly string[]): boolean =>
  one.length === other.length && one.every((line, index) => line === other[index]);

/** Runs of hunks of two sides that touch each other, in order. */
function runsOf(
  mine: readonly Hunk[],
  theirs: readonly Hunk[],
): { mine: Hunk[]; theirs: Hunk[]; from: number; to: number }[] {
  const runs: ReturnType<typeof runsOf> = [];
  const all = [...mine.map((hunk) => ({ hunk, isMine: true })), ...theirs.map((hunk) => ({ hunk, isMine: false }))];
  for (const { hunk, isMine } of all.sort((one, other) => one.hunk.from - other.hunk.from)) {
    let run = runs.at(-1);
    if (run === undefined || hunk.from > run.to) {
      run = { mine: [], theirs: [], from: hunk.from, to: hunk.to };
      runs.push(run);
    }
    run.to = Math.max(run.to, hunk.to);
    (isMine ? run.mine : run.theirs).push(hunk);
  }
  return runs;
}

/** How many lines more a side has after some hunks. */
const growth = (hunks: readonly Hunk[]): number =>
  hunks.reduce((sum, { from, to, otherFrom, otherTo }) => sum + otherTo - otherFrom - (to - from), 0);

/** The parts of a merge, in order. Lines that both changed alike are agreed on. */
export function partsOf(mine: readonly string[], before: readonly string[], theirs: readonly string[]): Part[] {
  const parts: Part[] = [];
  let same: string[] = [];
  let at = 0;
  const shift = { mine: 0, theirs: 0 };
  for (const run of runsOf(hunksOf(before, mine), hunksOf(before, theirs))) {
    same.push(...before.slice(at, run.from));
    const linesOf = (side: "mine" | "theirs", all: readonly string[]) => {
      const start = run.from + shift[side];
      shift[side] += growth(run[side]);
      return all.slice(start, run.to + shift[side]);
    };
    const place = {
      mine: linesOf("mine", mine),
      theirs: linesOf("theirs", theirs),
      before: before.slice(run.from, run.to),
    };
    at = run.to;
    if (isSame(place.mine, place.theirs)) same.push(...place.mine);
    else {
      const by = run.theirs.length === 0 ? "mine" : run.mine.length === 0 ? "theirs" : "both";
      parts.push(same, { ...place, by });
      same = [];
    }
  }
  return [...parts, [...same, ...before.slice(at)]];
}

/** Where a position of a text lies in another version of it: in its line, or in what stands in place of that line. */
export function moved(position: number, before: string, after: string): number {
  const [lines, others] = [before.split("\n"), after.split("\n")];
  const line = before.slice(0, position).split("\n").length - 1;
  const column = position - startOf(lines, line);
  let shift = 0;
  for (const { from, to, otherFrom, otherTo } of hunksOf(lines, others)) {
    if (from > line) break;
    if (line < to) {
      const at = Math.min(otherFrom + line - from, otherTo - 1);
      if (at < otherFrom) return Math.min(startOf(others, otherFrom), after.length);
      return startOf(others, at) + Math.min(column, others[at]?.length ?? 0);
    }
    shift += otherTo - otherFrom - (to - from);
  }
  return startOf(others, line + shift) + column;
}

const startOf = (lines: readonly string[], line: number): number =>
  lines.slice(0, line).reduce((sum, text) => sum + text.length + 1, 0);
