// Matches lines against RE2 expressions (time linear in the text), with a pre-filter on whole blocks of text.

import { RE2JS, RE2JSSyntaxException } from "re2js";
import type { LineQuery } from "../core/call/scan.js";
import type { LineMatcher } from "./scan-lines.js";

/** The reason why a pattern cannot be compiled. */
export interface PatternFault {
  readonly reason: string;
  /** Position in the pattern, in characters from 0, if known. */
  readonly position?: number;
}

/** Syntax that depends on the ends of the text, or resets flags: it matches a line differently within a whole text. */
const ENDS_OF_TEXT = /\\[AzZ]|\(\?[a-zA-Z]*-/;
/** Characters of a block that is screened before its lines are. */
const BLOCK = 2048;
/** Runs of ASCII; with {@link LONG_S} excluded, `toLowerCase` folds them as RE2 does. */
const PLAIN_RUN = /[\0-\x7f]+/g;
const LONG_S = /[sS]/;

/** Whether any line of a text may match; never a false negative. Lines must end in single line feeds. */
type Screen = (text: string) => boolean;

/** Compiles an RE2 expression, or a literal in any case. */
export function compileExpression(query: LineQuery): LineMatcher | PatternFault {
  const { pattern, literal, ignoreCase, multiline = false } = query;
  const flags = ignoreCase ? RE2JS.CASE_INSENSITIVE : 0;
  try {
    const expression = literal ? RE2JS.quote(pattern) : pattern;
    if (multiline) return regionMatcher(expression, flags);
    const re = RE2JS.compile(expression, flags);
    const screen = literal ? runScreen(pattern) : undefined;
    return {
      candidates: candidatesBy(screen ?? textScreen(expression, flags)),
      matches: (line) => re.test(line),
      startIn(line) {
        const matcher = re.matcher(line);
        return matcher.find() ? matcher.start() : 0;
      },
    };
  } catch (error) {
    if (!(error instanceof RE2JSSyntaxException)) return { reason: "it is too large" };
    return faultOf(error, pattern);
  }
}

/** Matches that may span lines, in a text whose lines end in single line feeds. */
function regionMatcher(expression: string, flags: number): LineMatcher {
  const ends = expression.replaceAll("\r\n", "\n").replaceAll("\\r\\n", "\\n");
  const re = RE2JS.compile(ends, flags | RE2JS.MULTILINE);
  return {
    candidates: () => (at) => at,
    matches: (text) => re.test(text),
    startIn: () => 0,
    *regions(text) {
      const matcher = re.matcher(text);
      while (matcher.find()) yield { start: matcher.start(), end: matcher.end() };
    },
  };
}

/** Syntax of other engines, which RE2 reports as something misspelt. */
const LACKED: readonly { readonly syntax: RegExp; readonly reason: string }[] = [
  { syntax: /^\(\?<?[=!]/, reason: "RE2 has no look-around" },
  { syntax: /^\\[1-9k]/, reason: "RE2 has no back-references" },
];

function faultOf(error: RE2JSSyntaxException, pattern: string): PatternFault {
  const part = error.getPattern() ?? "";
  const position = part === "" ? -1 : pattern.indexOf(part);
  const isKnown = position >= 0 && pattern.indexOf(part, position + 1) < 0;
  const lacked = LACKED.find(({ syntax }) => syntax.test(part))?.reason;
  const described = part === "" || part === pattern ? error.getDescription() : `${error.getDescription()}: ${part}`;
  const reason = lacked ?? described;
  return isKnown ? { reason: `${reason}: at ${position}`, position } : { reason };
}

/**
 * The same expression in multi-line mode, on a whole text. If a line matches, so does the text at the same place:
 * `^` and `$` match at lines, and a line feed is not a word character. A match across lines is a false positive.
 */
function textScreen(expression: string, flags: number): Screen | undefined {
  if (ENDS_OF_TEXT.test(expression)) return undefined;
  const re = RE2JS.compile(expression, flags | RE2JS.MULTILINE);
  return (text) => re.test(text);
}

/**
 * For a literal in any case: searches its longest run of ASCII without `s`, which RE2 also folds to the long s (ſ).
 * For all other ASCII characters `toLowerCase` folds everything that RE2 folds.
 */
function runScreen(literal: string): Screen | undefined {
  const runs = (literal.match(PLAIN_RUN) ?? []).flatMap((run) => run.split(LONG_S));
  const longest = runs.reduce((best, run) => (run.length > best.length ? run : best), "").toLowerCase();
  return longest.length < 2 ? undefined : (text) => text.toLowerCase().includes(longest);
}

/** Screens the whole text first, then blocks of lines, and skips blocks without a match. */
function candidatesBy(screen: Screen | undefined): LineMatcher["candidates"] {
  if (screen === undefined) return () => (at) => at;
  return (text) => {
    const hasCr = text.includes("\r\n");
    const mayHold = (from: number, to: number): boolean => {
      const block = text.slice(from, to);
      return screen(hasCr ? block.replaceAll("\r\n", "\n") : block);
    };
    /** End of the screened part: blocks before it may hold a match, or have been skipped. */
    let open = 0;
    let isAsked = false;
    return (at) => {
      if (at < open) return at;
      if (!isAsked && text.length - at > BLOCK) {
        isAsked = true;
        if (!mayHold(at, text.length)) return -1;
      }
      for (let from = at; from < text.length; from = open) {
        const newline = text.indexOf("\n", from + BLOCK);
        open = newline < 0 ? text.length : newline + 1;
        if (mayHold(from, open)) return from;
      }
      return -1;
    };
  };
}
