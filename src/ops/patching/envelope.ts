// Parses the apply_patch format, as models write it: with and without its optional parts.

import { invalidInput } from "../../core/errors/texts.js";
import type { PatchInput } from "../../schema/types.js";
import { editsIn } from "../editing/input.js";
import type { Hunk, HunkLine, Section } from "./section.js";

const BEGIN = "*** Begin Patch";
const END = "*** End Patch";
const HEADER = /^\*\*\* (Add|Update|Delete) File: *(.*)$/;
const MOVE = /^\*\*\* Move to: *(.*)$/;
const END_OF_FILE = "*** End of File";
/** The header of a hunk of a unified diff: its line numbers are not needed. */
const UNIFIED_HUNK = /^@@ -\d+(?:,\d+)? \+\d+(?:,\d+)? @@/;

/** Fault of a line, 1-based. */
const fault = (line: number, what: string) =>
  invalidInput(`Line ${line} of the patch: ${what}`, "/patch", `${BEGIN} … ${END}`);

/** A line of a patch and its number, 1-based. */
interface Line {
  readonly text: string;
  readonly number: number;
}

/** @throws INVALID_INPUT that names the line and says what belongs there */
function parseEnvelope(patch: string): Section[] {
  const lines = linesIn(patch);
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
    if (verb === "Add") sections.push({ kind: "add", path, content: addedText(body) });
    else if (verb === "Update") sections.push(parseUpdate(path, body, number));
    else sections.push(parseDelete(path, body));
    at = end;
  }
  if (sections.length === 0) throw fault(1, "it changes nothing. Add a section such as *** Update File: path");
  return sections;
}

/** The lines between the two marks. Text around them, such as a code fence, is left out. */
function linesIn(patch: string): Line[] {
  const all = patch.replace(/^\ufeff/, "").split("\n");
  const lines = all.map((text, index): Line => ({ text: text.replace(/\r$/, ""), number: index + 1 }));
  const begin = lines.findIndex(({ text }) => text.trim() === BEGIN);
  const end = lines.findLastIndex(({ text }) => text.trim() === END);
  if (begin < 0 && end < 0 && /^(?:diff --git |--- |Index: )/m.test(patch)) {
    throw fault(1, `this is a unified diff. Write it as ${BEGIN}, *** Update File: path, hunks with @@, ${END}`);
  }
  if (begin < 0) throw fault(1, `expected ${BEGIN}`);
  if (end < begin) throw fault(lines.length, `expected ${END}. If the patch was cut off, send it again as a whole`);
  return lines.slice(begin + 1, end);
}

function pathIn(text: string, number: number): string {
  const path = text.trim().replace(/^(["'`])(.*)\1$/, "$2");
  if (path === "") throw fault(number, "a path is missing behind the colon");
  return path;
}

function endOfSection(lines: readonly Line[], from: number): number {
  const end = lines.findIndex(({ text }, index) => index >= from && HEADER.test(text));
  return end < 0 ? lines.length : end;
}

/** Empty lines at the end separate sections. */
function trimEmptyLines(body: readonly Line[]): readonly Line[] {
  let end = body.length;
  while (end > 0 && body[end - 1]?.text.trim() === "") end--;
  return body.slice(0, end);
}

function addedText(body: readonly Line[]): string {
  return trimEmptyLines(body)
    .filter(({ text }) => text !== END_OF_FILE)
    .map(({ text, number }) => {
      if (text.startsWith("+")) return `${text.slice(1)}\n`;
      // Models leave the sign out before empty lines.
      if (text.trim() === "") return "\n";
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
  const hunks = hunksIn(to === undefined ? lines : lines.slice(1));
  if (to !== undefined && hunks.length === 0) return { kind: "move", path, to };
  if (hunks.length === 0)
    throw fault(number, "it changes nothing. Add hunks: @@, then lines that begin with a space, - or +");
  return { kind: "update", path, hunks, ...(to === undefined ? {} : { to }) };
}

/** A hunk under construction. */
interface Draft {
  readonly anchors: string[];
  readonly before: string[];
  readonly after: HunkLine[];
  atEnd: boolean;
}

const createDraft = (): Draft => ({ anchors: [], before: [], after: [], atEnd: false });
const isEmpty = ({ before, after }: Draft): boolean => before.length === 0 && after.length === 0;

function hunksIn(lines: readonly Line[]): Hunk[] {
  const hunks: Hunk[] = [];
  let hunk = createDraft();
  const finish = (): void => {
    if (!isEmpty(hunk)) hunks.push(hunk);
    hunk = createDraft();
  };
  for (const { text, number } of lines) {
    if (text.startsWith("@@")) {
      // Several in a row lead from an outer line to an inner one.
      if (!isEmpty(hunk)) finish();
      const anchor = anchorIn(text);
      if (anchor !== "") hunk.anchors.push(anchor);
    } else if (text.trim() === END_OF_FILE) {
      hunk.atEnd = true;
      finish();
    } else if (!text.startsWith("\\ No newline")) addLine(hunk, text, number);
  }
  finish();
  return hunks;
}

/** The text that a unified diff puts after its line numbers need not be a whole line, nor the nearest one. */
const anchorIn = (text: string): string =>
  UNIFIED_HUNK.test(text)
    ? ""
    : text
        .slice(2)
        .replace(/ ?@@\s*$/, "")
        .trim();

function addLine(hunk: Draft, text: string, number: number): void {
  const sign = text[0];
  const line = text.slice(1);
  if (sign === "+") hunk.after.push({ added: line });
  else if (sign === "-") hunk.before.push(line);
  // Models leave the space out before empty lines.
  else if (sign === " " || text === "") {
    hunk.after.push({ kept: hunk.before.length });
    hunk.before.push(line);
  } else throw fault(number, "a line of a hunk begins with a space (kept), - (removed) or + (added)");
}

// Reads the sections of a patch, in either of its forms.

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
    const advice = "Divide it, or replace large files with file_write";
    throw invalidInput(`A patch may have ${MAX_BYTES} bytes, not ${bytes}. ${advice}`, "/patch", "a smaller patch");
  }
  const sections = patch === undefined ? (changes ?? []).map(sectionOf) : parseEnvelope(patch);
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
