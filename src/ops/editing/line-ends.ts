// The line ends of what an edit puts into a text: lines that it keeps keep theirs, new ones get those of their neighbours.

import {
  endBefore,
  endBehind,
  endOfNew,
  type Line,
  linesOf,
  type Terminator,
  withTerminator,
} from "../content/terminators.js";
import { sharedLines } from "./text-search.js";

/** Most pairs of lines compared to find those that an edit keeps; beyond it, only those at its start and end. */
const MAX_PAIRS = 4_000_000;

interface GivenTexts {
  readonly oldText: string;
  readonly newText: string;
}

type Fit = (start: number, end: number) => string;

/** The new text of an edit for each place where its old text is found. @param kinds the terminators of the text */
export function fittingEnds(text: string, kinds: readonly Terminator[], { oldText, newText }: GivenTexts): Fit {
  const [only, second] = kinds;
  if (only === undefined || !/[\r\n]/.test(newText)) return () => newText;
  const isMixed = second !== undefined;
  if (!isMixed && !oldText.includes("\r") && !newText.includes("\r")) {
    const fitted = withTerminator(only, newText);
    return () => fitted;
  }
  const given = { olds: linesOf(oldText), news: linesOf(newText) };
  // A caller that gives both kinds as they are means them.
  const isExact = isMixed && (newText.includes("\r") || kindsOf(given.olds).size > 1);
  const usual = kinds.find((kind) => kind !== "\r") ?? only;
  let pairs: readonly number[] | undefined;
  return (start, end) => {
    const span = text.slice(start, end);
    if (isExact && span === oldText) return newText;
    const around = [endBehind(end, text), endBefore(start, text), usual];
    pairs ??= pairsOf(given);
    return endedLines(given, { span: linesOf(span), pairs, around });
  };
}

interface GivenLines {
  readonly olds: readonly Line[];
  readonly news: readonly Line[];
}

interface Place {
  /** The lines of the old text as they are in the file. */
  readonly span: readonly Line[];
  readonly pairs: readonly number[];
  readonly around: readonly (Terminator | undefined)[];
}

const kindsOf = (lines: readonly Line[]): Set<string> => new Set(lines.slice(0, -1).map(({ end }) => end));

/** For each new line the old one in whose place it is, -1 for none. */
function pairsOf({ olds, news }: GivenLines): number[] {
  const pairs: number[] = [];
  let [old, next] = [0, 0];
  const texts = [olds, news].map((lines) => lines.map((line) => line.text)) as [string[], string[]];
  for (const [sharedOld, sharedNew] of [...sharedLines(...texts, MAX_PAIRS), [olds.length, news.length] as const]) {
    for (; next < sharedNew; next++) pairs.push(old < sharedOld ? old++ : -1);
    if (next < news.length) pairs.push(sharedOld);
    [old, next] = [sharedOld + 1, sharedNew + 1];
  }
  return pairs;
}

function endedLines({ olds, news }: GivenLines, { span, pairs, around }: Place): string {
  const turnsEnds = olds.length === news.length && olds.every(({ text }, at) => text === news[at]?.text);
  // A program that writes CRLF for the LF of the file does so in the new text too.
  const translated = new Set(olds.filter(({ end }, at) => end !== span[at]?.end).map(({ end }) => end));
  let last: Terminator | "" = "";
  let behind = 0;
  const parts: string[] = [];
  for (const [at, { text, end }] of news.entries()) {
    const pair = pairs[at] ?? -1;
    if (pair >= 0) behind = pair + 1;
    const found = span[pair]?.end ?? "";
    const old = olds[pair]?.end;
    if (end !== "") {
      const isMeant = end !== old && (turnsEnds || (end !== "\n" && !translated.has(end)));
      if (isMeant) last = end;
      else last = endOfNew("\n", [found, last, span[behind]?.end, ...around]);
    }
    parts.push(text, end === "" ? "" : last);
  }
  return parts.join("");
}
