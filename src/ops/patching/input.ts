// Reads the sections of a patch, in any of its forms.

import { invalidInput } from "../../core/errors/texts.js";
import type { PatchInput } from "../../schema/types.js";
import { editsIn } from "../editing/plan.js";
import { BEGIN, END, fault, HunkDraft, headerIn, isSentWithCrlf, type Line, linesIn } from "./lines.js";
import type { Hunk, Section } from "./section.js";
import { beginsUnifiedDiff, parseUnifiedDiff } from "./unified.js";

/** Bytes of all new and old text of a patch. */
const MAX_BYTES = 1_048_576;
const MAX_FILES = 100;

type Change = NonNullable<PatchInput["changes"]>[number];

/** The sections of inputs that are still in use: each is parsed once, to be checked and to be run. */
const parsed = new WeakMap<PatchInput, readonly Section[]>();

/** @throws INVALID_INPUT with the line of the patch, or the change, that is at fault */
export function sectionsOf(input: PatchInput): readonly Section[] {
  const known = parsed.get(input);
  if (known !== undefined) return known;
  const sections = parseSections(input);
  parsed.set(input, sections);
  return sections;
}
function parseSections({ patch, changes }: PatchInput): readonly Section[] {
  if ((patch === undefined) === (changes === undefined)) {
    const fault =
      patch === undefined ? "'patch' or 'changes' is required" : "Only one of 'patch' and 'changes' may be given";
    throw invalidInput(fault, "/patch", "one of patch, changes");
  }
  const bytes = patch === undefined ? Buffer.byteLength(JSON.stringify(changes)) : Buffer.byteLength(patch);
  if (bytes > MAX_BYTES) {
    throw invalidInput(`A patch may have ${MAX_BYTES} bytes, not ${bytes}. Divide it`, "/patch", "a smaller patch");
  }
  const sections = patch === undefined ? (changes ?? []).map(sectionOf) : parsePatch(patch);
  if (sections.length > MAX_FILES) {
    throw invalidInput(
      `A patch may change ${MAX_FILES} files, not ${sections.length}. Divide it`,
      "/patch",
      "fewer files",
    );
  }
  return sections;
}

const FIELDS = { write: "content", edit: "edits", move: "to", delete: undefined, mkdir: undefined } as const;

function sectionOf({ op, path, ...fields }: Change, index: number): Section {
  const pointer = `/changes/${index}`;
  const needed = FIELDS[op];
  for (const name of ["content", "edits", "to"] as const) {
    if (name !== needed && fields[name] !== undefined) {
      throw invalidInput(`'${name}' does not go with op "${op}"`, `${pointer}/${name}`, `no ${name}`);
    }
  }
  if (needed !== undefined && fields[needed] === undefined) {
    throw invalidInput(`'${needed}' is required with op "${op}"`, `${pointer}/${needed}`, "a value");
  }
  const { content = "", edits = [], to = "" } = fields;
  switch (op) {
    case "write":
      return { kind: "write", path, content };
    case "edit":
      return { kind: "edit", path, edits: editsIn(edits, `${pointer}/edits`) };
    case "move":
      return { kind: "move", path, to };
    case "delete":
      return { kind: "delete", path };
    case "mkdir":
      return { kind: "mkdir", path };
  }
}

/** The format is that of the first line that begins one: each may have the other in its text. */
function parsePatch(patch: string): Section[] {
  const lines = linesIn(patch);
  const diff = lines.findIndex((_, at) => beginsUnifiedDiff(lines, at));
  const envelope = lines.findIndex(({ text }) => text.trim() === BEGIN);
  return diff >= 0 && (envelope < 0 || diff < envelope) ? parseUnifiedDiff(patch) : parseEnvelope(patch);
}

// The apply_patch format, as models write it: with and without its optional parts.

const HEADER = /^\*\*\* (Add|Update|Delete) File: *(.*)$/;
const MOVE = /^\*\*\* Move to: *(.*)$/;
const END_OF_FILE = "*** End of File";

/** @throws INVALID_INPUT that names the line and says what belongs there */
function parseEnvelope(patch: string): Section[] {
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
  return { kind: "update", path, hunks, to };
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
