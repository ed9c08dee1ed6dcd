import { RE2JS, RE2JSSyntaxException } from "re2js";
import type { LineQuery } from "../core/call/scan.js";
import type { LineMatcher } from "./scan-lines.js";

/** Why a pattern cannot be compiled. */
export interface PatternFault {
  readonly reason: string;
  /** In characters, where it is known. */
  readonly position?: number;
}

/** What holds at an end of a line may not hold there within a text. */
const ENDS_OF_TEXT = /\\[AzZ]|\(\?[a-zA-Z]*-/;
/** Characters of a text that are looked at together before single lines are. */
const BLOCK = 2048;
/** ASCII without what folds to or from a character that `toLowerCase` does not bring together with it. */
const PLAIN_RUN = /[\0-\x7f]+/g;
const LONG_S = /[sS]/;

/** Whether a text, whose lines end in single line feeds, may hold a match in any line. */
type Screen = (text: string) => boolean;

/** An expression of RE2, or a text in any case. */
export function compileExpression({ pattern, literal, ignoreCase }: LineQuery): LineMatcher | PatternFault {
  const flags = ignoreCase ? RE2JS.CASE_INSENSITIVE : 0;
  try {
    const expression = literal ? RE2JS.quote(pattern) : pattern;
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

function faultOf(error: RE2JSSyntaxException, pattern: string): PatternFault {
  const part = error.getPattern() ?? "";
  const position = part === "" ? -1 : pattern.indexOf(part);
  const isKnown = position >= 0 && pattern.indexOf(part, position + 1) < 0;
  const reason = part === "" || part === pattern ? error.getDescription() : `${error.getDescription()}: ${part}`;
  return isKnown ? { reason: `${reason}: at ${position}`, position } : { reason };
}

/**
 * The same expression on a whole text. Where a line matches, so does the text at the same place: characters stay what they
 * are, `^` and `$` hold at lines, and a line feed is no part of a word. What a text matches across lines is looked at for
 * nothing.
 */
function textScreen(expression: string, flags: number): Screen | undefined {
  if (ENDS_OF_TEXT.test(expression)) return undefined;
  const re = RE2JS.compile(expression, flags | RE2JS.MULTILINE);
  return (text) => re.test(text);
}

/**
 * For a text in any case: its longest part without an `s`, whose other form is the long s. `toLowerCase` brings together all
 * that RE2 takes for the same as any other ASCII character.
 */
function runScreen(literal: string): Screen | undefined {
  const runs = (literal.match(PLAIN_RUN) ?? []).flatMap((run) => run.split(LONG_S));
  const longest = runs.reduce((best, run) => (run.length > best.length ? run : best), "").toLowerCase();
  return longest.length < 2 ? undefined : (text) => text.toLowerCase().includes(longest);
}

/** Looks at a whole text first, then at blocks of lines, and leaves out what holds no match. */
function candidatesBy(screen: Screen | undefined): LineMatcher["candidates"] {
  if (screen === undefined) return () => (at) => at;
  return (text) => {
    const hasCr = text.includes("\r\n");
    const mayHold = (from: number, to: number): boolean => {
      const block = text.slice(from, to);
      return screen(hasCr ? block.replaceAll("\r\n", "\n") : block);
    };
    /** All before it holds a match in some line, or has been left out. */
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
