// The `edit_file` tool: exact replacements, applied only if the file still has the expected hash.

import type { EditedText, TextChange } from "../../core/call/terms.js";
import { FileAdapterError } from "../../core/errors/errors.js";
import { escapeText } from "../../core/errors/texts.js";
import { hashText } from "../../core/etag.js";
import type { JsonObject } from "../../core/ports/adapter.js";
import { type Terminator, terminatorsIn, withTerminator } from "../../ops/content/terminators.js";
import { findOverlap, type Planned, sortByPosition } from "../../ops/editing/match.js";
import { nearestLines } from "../../ops/editing/nearest-lines.js";
import { occurrencesOf } from "../../ops/editing/text-search.js";
import type { FileOutputs } from "../../schema/types.js";
import { reportEdit } from "./edit-diff.js";
import { changeOptions, hashIn, type SessionCall } from "./files.js";
import { notTextToEdit } from "./texts.js";
import { invalidParameter, isTold, missingParameter, toolFault } from "./tool-fault.js";

/** Leading bytes in which a NUL marks a file as binary. */
const NUL_WINDOW = 8192;
/** Maximum attempts when the file changes between reading and writing. */
const MAX_TRIES = 5;

interface EditRequest {
  readonly path: string;
  readonly edits: readonly RequestedEdit[];
  readonly expected: string;
}

/** An applied edit: the text it was planned on, and the operation's result. */
interface Made {
  readonly output: FileOutputs["file:edit"];
  readonly file: EditedText;
  readonly changes: readonly TextChange[];
}

export async function editFile(args: JsonObject, path: string, call: SessionCall): Promise<JsonObject> {
  const request = { path, edits: parseEdits(parseEditArguments(args)), expected: String(args["expected_hash"]) };
  const { output, file, changes } = await editWithRetries(request, call);
  const shown = call.paths.show(path);
  const hash = hashIn(output);
  const about = { path: shown, size_bytes: output.size };
  // A caller without read access learns nothing about the content.
  if (!file.mayRead || hash === undefined) return { ...about, applied_edits: changes.length };
  return {
    ...about,
    ...{ content_hash: hash, previous_content_hash: request.expected, applied_edits: changes.length },
    ...reportEdit({ text: file.text, changes, path: shown, firstLine: output.firstChangedLine }, call.monotonicMs),
  };
}

/** The tool's schema guarantees the types. */
const parseEditArguments = (args: JsonObject): EditArguments => args as EditArguments;

/** Retries after a concurrent change, so that the answer reflects the file's current state. */
async function editWithRetries(request: EditRequest, call: SessionCall): Promise<Made> {
  for (let attempt = 1; ; attempt++) {
    try {
      return await tryEdit(request, call);
    } catch (error) {
      const isRace = error instanceof FileAdapterError && error.code === "CONFLICT" && !isTold(error);
      if (!isRace) throw error;
      if (attempt === MAX_TRIES) throw staleFault(request, call, undefined);
    }
  }
}

async function tryEdit(request: EditRequest, call: SessionCall): Promise<Made> {
  let seen: Omit<Made, "output"> | undefined;
  const plan = async (file: EditedText): Promise<readonly TextChange[]> => {
    if (!isText(file.text)) throw toolFault("NOT_TEXT", notTextToEdit(shownPath(request, call)));
    const found = hashText(file.sha256);
    if (found !== request.expected) throw staleFault(request, call, file.mayRead ? found : undefined);
    const changes = await planEdits(request.edits, file);
    seen = { file, changes };
    return changes;
  };
  const { terms } = changeOptions(call);
  const { path, edits } = request;
  const input = { path, edits: [...edits], encoding: "utf-8" };
  const output = await call.root.invoke("file:edit", input, { terms: { ...terms, edits: { plan } } });
  if (seen === undefined) throw new Error("The edit was made without its plan");
  return { output, ...seen };
}

/** @param found current hash; `undefined`: unknown, or hidden from the caller */
function staleFault(request: EditRequest, call: SessionCall, found: string | undefined): FileAdapterError {
  const { expected } = request;
  const hashes = `Expected ${escapeText(expected.slice(0, 100))}${found === undefined ? "" : `, found ${found}`}`;
  return toolFault(
    "CONFLICT",
    `File '${shownPath(request, call)}' changed since the last read. ${hashes}. Read the file again before editing.`,
  );
}

const shownPath = ({ path }: EditRequest, { paths }: SessionCall): string => escapeText(paths.show(path));

function isText(text: string): boolean {
  const at = text.indexOf("\0");
  return at < 0 || at >= NUL_WINDOW || Buffer.byteLength(text.slice(0, at)) >= NUL_WINDOW;
}

// Validates the arguments of `edit_file`.

/** One requested replacement. */
interface RequestedEdit {
  readonly oldText: string;
  readonly newText: string;
}

/** Arguments of `edit_file`; types are checked by its schema. */
interface EditArguments {
  readonly old_text?: string;
  readonly new_text?: string;
  readonly edits?: readonly { readonly old_text?: string; readonly new_text?: string }[];
}

const MAX_EDITS = 100;

/** @throws INVALID_INPUT for the first fault, in the order of the tool's description */
export function parseEdits({ old_text: oldText, new_text: newText, edits }: EditArguments): readonly RequestedEdit[] {
  const hasPair = oldText !== undefined || newText !== undefined;
  if (edits !== undefined && hasPair) throw invalidEdits("Provide either old_text/new_text or edits, not both");
  if (edits === undefined && !hasPair) throw invalidEdits("Provide old_text/new_text or a non-empty edits array");
  if (edits?.length === 0) throw invalidEdits("edits must contain at least one replacement");
  if (edits !== undefined) return parseBatch(edits);
  if (oldText === undefined) throw missingParameter("old_text");
  if (newText === undefined) throw missingParameter("new_text");
  if (oldText === "") throw invalidEdits("old_text cannot be empty");
  return [requireWellFormed({ oldText, newText }, "")];
}

function parseBatch(edits: NonNullable<EditArguments["edits"]>): readonly RequestedEdit[] {
  if (edits.length > MAX_EDITS) throw invalidParameter("edits", `at most ${MAX_EDITS} replacements`);
  return edits.map(({ old_text: oldText, new_text: newText }, index) => {
    const which = `Edit ${index + 1}`;
    if (oldText === undefined) throw invalidEdits(`${which} is missing old_text`);
    if (newText === undefined) throw invalidEdits(`${which} is missing new_text`);
    if (oldText === "") throw invalidEdits(`${which} has an empty old_text`);
    return requireWellFormed({ oldText, newText }, `edits.${index}.`);
  });
}

/** A lone surrogate could match half of a character, and cannot be encoded as UTF-8. */
function requireWellFormed(edit: RequestedEdit, place: string): RequestedEdit {
  if (!edit.oldText.isWellFormed()) throw invalidParameter(`${place}old_text`, "not well-formed Unicode");
  if (!edit.newText.isWellFormed()) throw invalidParameter(`${place}new_text`, "not well-formed Unicode");
  return edit;
}

const invalidEdits = (text: string) => toolFault("INVALID_INPUT", text);

// Locates the replacements of `edit_file` in a text, across newline styles.

const BOM = "\ufeff";
const MAX_SHOWN = 80;
/** Time limit of the search for a similar line, in milliseconds. */
const NEAREST_MS = 30;

/**
 * All replacements, ordered by position. Each old text must occur exactly once.
 * @throws NO_MATCH, AMBIGUOUS_MATCH, OVERLAPPING_EDITS
 */
export async function planEdits(edits: readonly RequestedEdit[], file: EditedText): Promise<readonly TextChange[]> {
  const bom = file.text.startsWith(BOM) ? BOM.length : 0;
  const body = file.text.slice(bom);
  const styles = stylesOf(body);
  const planned: Planned[] = [];
  for (const [index, edit] of edits.entries()) {
    const { start, end, text } = locateEdit(edit, { body, styles, file });
    planned.push({ start: start + bom, end: end + bom, text, edit: index });
    await file.breathe();
  }
  const ordered = sortByPosition(planned);
  if (findOverlap(ordered) !== undefined) throw toolFault("OVERLAPPING_EDITS", "Edits overlap in the target file");
  return ordered;
}

/** Newline style of a text. `undefined`: it has no line endings. */
interface Styles {
  readonly dominant: Terminator | undefined;
  readonly isMixed: boolean;
}

function stylesOf(body: string): Styles {
  const [dominant, second] = terminatorsIn(body);
  return { dominant, isMixed: second !== undefined };
}

interface Search {
  readonly body: string;
  readonly styles: Styles;
  readonly file: EditedText;
}

function locateEdit({ oldText, newText }: RequestedEdit, search: Search): TextChange {
  const { body, styles } = search;
  const literal = { old: withoutMark(oldText), new: withoutMark(newText) };
  if (literal.old === "") throw toolFault("INVALID_INPUT", "old_text cannot be empty");
  const { dominant, isMixed } = styles;
  const aligned =
    dominant === undefined
      ? literal
      : { old: withTerminator(dominant, literal.old), new: withTerminator(dominant, literal.new) };
  for (const pair of isMixed ? [literal, aligned] : [aligned]) {
    const { count, starts } = occurrencesOf(pair.old, body, 1);
    const [start] = starts;
    if (start === undefined) continue;
    if (count === 1) return { start, end: start + pair.old.length, text: pair.new };
    throw toolFault("AMBIGUOUS_MATCH", `old_text is ambiguous and matched multiple locations: '${shownText(oldText)}'`);
  }
  const text = `Could not find an exact match for old_text: '${shownText(oldText)}'`;
  throw toolFault("NO_MATCH", `${text}${closestText(literal.old, search)}`);
}

/** Names the most similar line, if the caller may read the file. */
function closestText(wanted: string, { body, file }: Search): string {
  if (!file.mayRead) return "";
  const until = Math.max(0, file.remainingMs() - NEAREST_MS);
  const plain = withTerminator("\n", body);
  const [best] = nearestLines(withTerminator("\n", wanted), plain, () => file.remainingMs() <= until);
  if (best === undefined) return "";
  const [line = ""] = best.text.split("\n");
  return ` Closest match at line ${best.startLine}: '${shownText(line)}'.`;
}

const withoutMark = (text: string): string => (text.startsWith(BOM) ? text.slice(BOM.length) : text);

/** A text for a message: on one line, at most 80 characters. */
export function shownText(text: string): string {
  const start = text.slice(0, 4 * MAX_SHOWN);
  const points = [...escapeText(withTerminator("\n", start).replaceAll("\n", "\\n"))];
  const isCut = points.length > MAX_SHOWN;
  return isCut ? `${points.slice(0, MAX_SHOWN).join("")}…` : points.join("");
}
