import { escapeText } from "../../core/errors/texts.js";
import type { FilePlace } from "../arguments/file-options.js";
import { placeText } from "../arguments/file-options.js";
import type { Paint } from "./paint.js";

/** A match as `file:grep` gives it. */
export interface ShownMatch {
  readonly path: string;
  readonly line: number;
  readonly text: string;
  readonly before?: readonly string[];
  readonly after?: readonly string[];
}

export interface GrepLook {
  readonly paint: Paint;
  /** Shows numbers of lines. */
  readonly numbers: boolean;
  /** Puts `--` between stretches. */
  readonly context: boolean;
  /** Paints what matches in a text. */
  readonly mark: (text: string) => string;
}

/** Where the last line that was shown stands, for the next page. */
export interface GrepEnd {
  readonly path: string;
  readonly line: number;
}

/** Lines as the namesake shows them: `ROOT:PATH:12:text`, and `-` in place of `:` around a match. */
export function grepLines(
  root: string,
  matches: readonly ShownMatch[],
  { look, last }: { look: GrepLook; last: GrepEnd | undefined },
): { text: string; last: GrepEnd | undefined } {
  const { paint, numbers, context, mark } = look;
  let end = last;
  const lines: string[] = [];
  const put = (place: FilePlace, at: { line: number; sign: string; text: string }) => {
    const { line, sign, text } = at;
    const number = numbers ? `${paint(String(line), "line")}${sign}` : "";
    lines.push(`${paint(placeText(place), "place")}${sign}${number}${text}\n`);
  };
  for (const { path, line, text, before = [], after = [] } of matches) {
    const place = { root, path };
    const first = line - before.length;
    if (context && end !== undefined && (end.path !== path || first > end.line + 1)) lines.push("--\n");
    before.forEach((one, index) => {
      put(place, { line: first + index, sign: "-", text: shown(one) });
    });
    put(place, { line, sign: ":", text: mark(text) });
    after.forEach((one, index) => {
      put(place, { line: line + 1 + index, sign: "-", text: shown(one) });
    });
    end = { path, line: line + after.length };
  }
  return { text: lines.join(""), last: end };
}

/** One line stays one line, whatever is in it; source is indented by tabs. */
export const shown = (text: string): string => text.split("\t").map(escapeText).join("\t");
