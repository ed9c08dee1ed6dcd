// Parses the apply_patch format, as models write it: with and without its optional parts.

import { BEGIN, END, fault, HunkDraft, headerIn, isSentWithCrlf, type Line, linesIn } from "./lines.js";
import type { Hunk, Section } from "./section.js";

const HEADER = /^\*\*\* (Add|Update|Delete) File: *(.*)$/;
const MOVE = /^\*\*\* Move to: *(.*)$/;
const END_OF_FILE = "*** End of File";

/** @throws INVALID_INPUT that names the line and says what belongs there */
export function parseEnvelope(patch: string): Section[] {
  const lines = linesBetweenMarks(patch);
  const newline = isSentWithCrlf(patch) ? "\r\n" : "\n";
  const sections: Section[] = [];
  for (let at = 0; at < lines.length; ) {
    const { text, number } = lines[at] as Line;
    const [, verb, rest = ""] = HEADER.exec(text) ?? [];
    if (verb === undefined && text.trim() === "") {
      at++;
      continue;
    }
    if (verb === undefined)
      throw fault(number, "expected *** Add File:, *** Update File: or *** Delete File: with a path");
    const path = pathIn(rest, number);
    const end = endOfSection(lines, at + 1);
    const body = lines.slice(at + 1, end);
    if (verb === "Add") sections.push({ kind: "add", path, content: addedText(body, newline) });
    else if (verb === "Update") sections.push(parseUpdate(path, body, number));
    else sections.push(parseDelete(path, body));
    at = end;
  }
  if (sections.length === 0) throw fault(1, "it changes nothing. Add a section such as *** Update File: path");
  return sections;
}

/** The lines between the two marks. Text around them, such as a code fence, is left out. */
function linesBetweenMarks(patch: string): Line[] {
  const lines = linesIn(patch);
  const begin = lines.findIndex(({ text }) => text.trim() === BEGIN);
  const end = lines.findLastIndex(({ text }) => text.trim() === END);
  if (begin < 0) throw fault(1, `expected ${BEGIN}, or a unified diff`);
  if (end < begin) throw fault(lines.length, `expected ${END}. If the patch was cut off, send it again as a whole`);
  return lines.slice(begin + 1, end);
}

function pathIn(text: string, number: number): string {
  const path = text.trim().replace(/^(["'`])(.*)\1$/, "$2");
  if (path === "") throw fault(number, "a path is missing behind the colon");
  return path;
}

function endOfSection(lines: readonly Line[], from: number): number {
  let end = from;
  while (end < lines.length && !HEADER.test(lines[end]?.text ?? "")) end++;
  return end;
}

/** Empty lines at the end separate sections; one with a space is a line of a hunk. */
function trimEmptyLines(body: readonly Line[]): readonly Line[] {
  let end = body.length;
  while (end > 0 && body[end - 1]?.text === "") end--;
  return body.slice(0, end);
}

function addedText(body: readonly Line[], newline: string): string {
  return trimEmptyLines(body)
    .filter(({ text }) => text !== END_OF_FILE)
    .map(({ text, raw, number }) => {
      if (text.startsWith("+")) return `${raw.slice(1)}${newline}`;
      // Models leave the sign out before empty lines.
      if (text.trim() === "") return newline;
      throw fault(number, "every line of an added file begins with +");
    })
    .join("");
}

function parseDelete(path: string, body: readonly Line[]): Section {
  const [line] = trimEmptyLines(body);
  if (line !== undefined) throw fault(line.number, "nothing follows *** Delete File:");
  return { kind: "delete", path };
}

function parseUpdate(path: string, body: readonly Line[], number: number): Section {
  const lines = trimEmptyLines(body);
  const [first] = lines;
  const [, moved] = MOVE.exec(first?.text ?? "") ?? [];
  const to = moved === undefined ? undefined : pathIn(moved, first?.number ?? number);
  const hunks = hunksIn(withoutNames(to === undefined ? lines : lines.slice(1)));
  if (to !== undefined && hunks.length === 0) return { kind: "move", path, to };
  if (hunks.length === 0)
    throw fault(number, "it changes nothing. Add hunks: @@, then lines that begin with a space, - or +");
  return { kind: "update", path, hunks, ...(to === undefined ? {} : { to }) };
}

/** Some models repeat the names of the file as a unified diff has them. */
const withoutNames = (lines: readonly Line[]): readonly Line[] =>
  [/^--- /, /^\+\+\+ /, /^@@/].every((mark, at) => mark.test(lines[at]?.text ?? "")) ? lines.slice(2) : lines;

function hunksIn(lines: readonly Line[]): Hunk[] {
  const hunks: Hunk[] = [];
  let hunk = new HunkDraft();
  const finish = (): void => {
    if (!hunk.isEmpty) hunks.push(hunk.finish());
    hunk = new HunkDraft();
  };
  for (const line of lines) {
    const { text, number } = line;
    if (text.startsWith("@@")) {
      // Several in a row lead from an outer line to an inner one.
      if (!hunk.isEmpty) finish();
      hunk.above = headerIn(text)?.above ?? hunk.above;
      const anchor = anchorIn(text);
      if (anchor !== "") hunk.anchors.push(anchor);
    } else if (text.trim() === END_OF_FILE) {
      hunk.atEnd = true;
      finish();
    } else if (!hunk.add(line))
      throw fault(number, "a line of a hunk begins with a space (kept), - (removed) or + (added)");
  }
  finish();
  return hunks;
}

/** The text that a unified diff puts after its line numbers need not be a whole line, nor the nearest one. */
const anchorIn = (text: string): string =>
  headerIn(text) === undefined
    ? text
        .slice(2)
        .replace(/ ?@@\s*$/, "")
        // Git cuts a line after some bytes, in the middle of a character too.
        .replace(/(?<!\ufffd)\ufffd+$/, "")
        .trim()
    : "";
