// Converts all line ends of a text, piece by piece.

import type { CallScope } from "../../core/call/scope.js";
import { yieldIfDue } from "./yield.js";

/** Characters converted at once. */
const PIECE = 1_048_576;

export type LineEnding = "lf" | "crlf";

/** @returns the text, and how many line ends were others; a lone return is one where there is no line feed */
export async function converted(
  text: string,
  to: LineEnding,
  scope: CallScope,
): Promise<{ readonly text: string; readonly changed: number }> {
  const end = to === "lf" ? "\n" : "\r\n";
  const pattern = text.includes("\n") ? /\r?\n/g : /\r/g;
  let changed = 0;
  const convert = (found: string): string => {
    if (found !== end) changed++;
    return end;
  };
  const parts: string[] = [];
  for (let at = 0; at < text.length; ) {
    const cut = at + PIECE;
    const next = text[cut] === "\n" ? cut + 1 : cut;
    parts.push(text.slice(at, next).replace(pattern, convert));
    at = next;
    await yieldIfDue(scope);
  }
  return { text: parts.join(""), changed };
}
