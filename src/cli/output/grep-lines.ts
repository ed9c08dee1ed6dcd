// Formats matches as grep(1) does.

import { unitText } from "../../core/call/documents.js";
import { escapeText } from "../../core/errors/texts.js";
import { type FilePlace, placeText } from "../arguments/files.js";
import type { Paint } from "./paint.js";

/** A match in the output of `file:grep`. */
export interface ShownMatch {
  readonly path: string;
  /** In a document. */
  readonly page?: number;
  readonly slide?: number;
  readonly sheet?: string;
  readonly line: number;
  readonly text: string;
  readonly before?: readonly string[];
  readonly after?: readonly string[];
}

export interface GrepLook {
  readonly paint: Paint;
  /** Show line numbers. */
  readonly numbers: boolean;
  /** Separate groups of adjacent lines by `--`. */
  readonly context: boolean;
  /** Highlights the matches in a text. */
  readonly mark: (text: string) => string;
}

/** Position of the last line shown, for the next page. */
export interface GrepEnd {
  readonly path: string;
  readonly line: number;
}

/** Lines in the format of grep(1): `ROOT:PATH:12:text`, with `-` instead of `:` for context lines. */
export function grepLines(
  root: string,
  matches: readonly ShownMatch[],
  { look, last }: { look: GrepLook; last: GrepEnd | undefined },
): { text: string; last: GrepEnd | undefined } {
  const { paint, numbers, context, mark } = look;
  let end = last;
  const lines: string[] = [];
  const put = (place: Shown, at: { line: number; sign: string; text: string }) => {
    const { line, sign, text } = at;
    const number = numbers ? `${paint(String(line), "line")}${sign}` : "";
    const unit = place.unit === "" ? "" : `${place.unit}${sign}`;
    lines.push(`${paint(placeText(place), "place")}${sign}${unit}${number}${text}\n`);
  };
  for (const { path, line, text, before = [], after = [], ...units } of matches) {
    const place = { root, path, unit: unitText(units) };
    const first = line - before.length;
    if (context && end !== undefined && (end.path !== path || first > end.line + 1)) lines.push("--\n");
    before.forEach((one, index) => {
      put(place, { line: first + index, sign: "-", text: escapeMatch(one) });
    });
    put(place, { line, sign: ":", text: mark(text) });
    after.forEach((one, index) => {
      put(place, { line: line + 1 + index, sign: "-", text: escapeMatch(one) });
    });
    end = { path, line: line + after.length };
  }
  return { text: lines.join(""), last: end };
}

/** A place, and the page, slide or sheet in it. */
type Shown = FilePlace & { readonly unit: string };

/** Escapes a line so that it stays one line; keeps tabs, which indent source. */
export const escapeMatch = (text: string): string => text.split("\t").map(escapeText).join("\t");
