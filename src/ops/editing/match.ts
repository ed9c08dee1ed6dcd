// Matches edits against a text, derives the replacements, and applies them.

import type { TextChange } from "../../core/call/terms.js";
import {
  type PlainText,
  plainText,
  type Terminator,
  terminatorAfter,
  terminatorBefore,
  terminatorsIn,
  withTerminator,
} from "../content/terminators.js";
import { fittingEnds } from "./line-ends.js";
import { LOOK, occurrencesOf, PATIENCE, PROBE } from "./text-search.js";

/** Most occurrences that an edit expects. */
const MAX_OCCURRENCES = 1000;
/** Most occurrences that an edit of all replaces. */
export const MAX_ALL = 100_000;

export interface Edit {
  /** Empty with `at`; else, where it is, the new text takes the place of all. */
  readonly oldText: string;
  readonly newText: string;
  /** Expected number of occurrences of the old text, at most {@link MAX_OCCURRENCES}; `undefined`: all that there are. */
  readonly expect: number | undefined;
  /** 1-based line before which the new text goes, as lines. */
  readonly at?: number | undefined;
}

export type Replacement = TextChange;

/** The result of matching one edit. */
export interface Match {
  /** Number of occurrences of the old text, including overlapping ones. */
  readonly found: number;
  /** Start positions of the first occurrences. */
  readonly starts: readonly number[];
  /** The replacement of each occurrence, if there are as many as expected; else empty. */
  readonly replacements: readonly Replacement[];
}

/** Matches edits against one text. Matching is exact, except that line terminators may differ; kept lines keep theirs. */
export class EditMatcher {
  readonly #text: string;
  readonly #terminators: readonly Terminator[];
  readonly #willAdd: (chars: number) => void;
  #plain: PlainText | undefined;

  /** @param willAdd throws where so many characters, at least, must not be added: each place may get a text of its own */
  constructor(text: string, willAdd: (chars: number) => void = () => {}) {
    this.#text = text;
    this.#willAdd = willAdd;
    this.#terminators = terminatorsIn(text);
  }

  match(edit: Edit): Match {
    if (edit.at !== undefined) return this.#insertion(edit, edit.at);
    if (edit.oldText === "") return oneMatch({ start: 0, end: this.#text.length, text: edit.newText });
    const [only, ...others] = this.#terminators;
    if (only === undefined || (others.length > 0 && edit.expect !== undefined)) {
      const literal = this.#matchLiterally(edit, edit.oldText);
      return only === undefined || literal.found === edit.expect ? literal : this.#matchPlainly(edit);
    }
    return others.length > 0
      ? this.#matchPlainly(edit)
      : this.#matchLiterally(edit, withTerminator(only, edit.oldText));
  }

  #matchLiterally(edit: Edit, oldText: string): Match {
    const { count, starts } = occurrencesOf(oldText, this.#text, mostOf(edit));
    const span = (start: number) => ({
      start: oldText.startsWith("\n") ? this.#wholeEnd(start) : start,
      end: start + oldText.length,
    });
    return this.#matchOf(edit, count, starts.map(span));
  }

  /** A line feed stands for all of a CRLF. */
  #wholeEnd(start: number): number {
    return this.#text[start - 1] === "\r" ? start - 1 : start;
  }

  /** Treats all terminators as equal. */
  #matchPlainly(edit: Edit): Match {
    const oldText = withTerminator("\n", edit.oldText);
    const { count, spans } = spansOf(oldText, this.#text, mostOf(edit)) ?? this.#inView(oldText, mostOf(edit));
    return this.#matchOf(edit, count, spans);
  }

  #matchOf(edit: Edit, count: number, all: Spans["spans"]): Match {
    const isAll = edit.expect === undefined && count <= MAX_ALL;
    const spans = isAll ? apart(all) : all;
    const starts = spans.map(({ start }) => start);
    const found = isAll ? spans.length : count;
    if (!isAll && count !== edit.expect) return { found, starts, replacements: [] };
    this.#willAdd(spans.length * withTerminator("\n", edit.newText).length);
    const textAt = fittingEnds(this.#text, this.#terminators, edit);
    return { found, starts, replacements: spans.map((one) => ({ ...one, text: textAt(one.start, one.end) })) };
  }

  #insertion({ newText }: Edit, line: number): Match {
    const text = this.#text;
    const start = startOfLine(line, text);
    if (start === undefined) return { found: 0, starts: [], replacements: [] };
    const isEnd = start === text.length;
    const isBare = isEnd && text !== "" && !text.endsWith("\n");
    const lines = newText === "" || !/[\r\n]$/.test(newText) ? `${newText}\n` : newText;
    const given = isBare ? `\n${newText}` : text === "" ? newText : lines;
    const fitted = fittingEnds(text, this.#terminators, { oldText: "", newText: given })(start, start);
    return oneMatch({ start, end: start, text: fitted });
  }

  /** Searches a newline-normalised copy of the text, made once: for texts whose probe occurs too often. */
  #inView(oldText: string, most: number): Spans {
    this.#plain ??= plainText(this.#text);
    const { text, original } = this.#plain;
    const { count, starts } = occurrencesOf(oldText, text, most);
    // The end is computed in the view: in the original, the length varies with the terminators.
    return { count, spans: starts.map((start) => ({ start: original(start), end: original(start + oldText.length) })) };
  }
}

/** Keeps the first of spans that overlap. */
function apart(spans: readonly Span[]): readonly Span[] {
  let end = 0;
  return spans.filter((one) => {
    const isApart = one.start >= end;
    if (isApart) end = one.end;
    return isApart;
  });
}

const mostOf = ({ expect }: Edit): number => (expect === undefined ? MAX_ALL : MAX_OCCURRENCES);

const oneMatch = (one: Replacement): Match => ({ found: 1, starts: [one.start], replacements: [one] });

/** Where a line starts, or would behind the last; `undefined`: there are fewer. */
function startOfLine(line: number, text: string): number | undefined {
  let start = 0;
  for (let passed = 1; passed < line; passed++) {
    if (start === text.length) return undefined;
    start = text.indexOf("\n", start) + 1 || text.length;
  }
  return start;
}

// Finds a text of several lines in another when all terminators count as equal.

/** Occurrences of a text; their lengths vary with the terminators. */
interface Spans {
  /** Number of all occurrences, including overlapping ones. */
  readonly count: number;
  /** The first occurrences, in order. */
  readonly spans: readonly Span[];
}

interface Span {
  readonly start: number;
  readonly end: number;
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

/** A replacement with the 0-based edit that it belongs to. */
export interface Planned extends Replacement {
  readonly edit: number;
}

/** Sorts by position; replacements with the same start are in the order of their ends. */
export const sortByPosition = (planned: readonly Planned[]): readonly Planned[] =>
  planned.toSorted((left, right) => left.start - right.start || left.end - right.end);

/** The first two that overlap; adjacent ones do not. @param ordered sorted by {@link sortByPosition} */
export function findOverlap(ordered: readonly Planned[]): readonly [Planned, Planned] | undefined {
  for (const [index, next] of ordered.entries()) {
    const previous = ordered[index - 1];
    if (previous !== undefined && next.start < previous.end) return [previous, next];
  }
  return undefined;
}

/** Length of the text after the replacements, in characters. */
export const lengthAfter = (text: string, ordered: readonly Replacement[]): number =>
  ordered.reduce((length, { start, end, text: added }) => length + added.length - (end - start), text.length);

/** @param ordered by position, not overlapping */
export function applyReplacements(text: string, ordered: readonly Replacement[]): string {
  const parts: string[] = [];
  let at = 0;
  for (const { start, end, text: added } of ordered) {
    parts.push(text.slice(at, start), added);
    at = end;
  }
  parts.push(text.slice(at));
  return parts.join("");
}

/** First position at which two texts differ; `undefined`: they are equal. @param from they are equal up to here */
export function firstDifference(before: string, after: string, from: number): number | undefined {
  if (before === after) return undefined;
  const most = Math.min(before.length, after.length);
  let at = from;
  while (at < most && before.charCodeAt(at) === after.charCodeAt(at)) at++;
  return at;
}
