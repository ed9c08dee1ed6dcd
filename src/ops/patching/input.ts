// Reads the sections of a patch, in any of its forms.

import { invalidInput } from "../../core/errors/texts.js";
import type { PatchInput } from "../../schema/types.js";
import { editsIn } from "../editing/input.js";
import { parseEnvelope } from "./envelope.js";
import { BEGIN, linesIn } from "./lines.js";
import type { Section } from "./section.js";
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
