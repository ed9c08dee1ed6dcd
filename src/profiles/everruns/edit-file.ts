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
import { type EditArguments, gatherEdits, parseEdits, type RequestedEdit } from "./edit-arguments.js";
import { reportEdit } from "./edit-diff.js";
import { changeOptions, hashIn, type SessionCall } from "./session-call.js";
import { notTextToEdit } from "./texts.js";
import { isTold, toolFault } from "./tool-fault.js";

/** Leading bytes in which a NUL marks a file as binary. */
const NUL_WINDOW = 8192;
/** Maximum attempts when the file changes between reading and writing. */
const MAX_TRIES = 5;

interface EditRequest {
  readonly path: string;
  readonly edits: readonly RequestedEdit[];
  readonly expected: string;
  /** Edits of a file that has changed are applied where they still can be. */
  readonly rebases: boolean;
}

/** The form of the tool in a variant. */
export interface EditForm extends Pick<EditRequest, "rebases"> {
  readonly isStrict: boolean;
}

/** An applied edit: the text it was planned on, and the operation's result. */
interface Made {
  readonly output: FileOutputs["file:edit"];
  readonly file: EditedText;
  readonly changes: readonly TextChange[];
}

export async function editFile(
  args: JsonObject,
  path: string,
  { form: { isStrict, rebases }, ...call }: SessionCall & { readonly form: EditForm },
): Promise<JsonObject> {
  // The tool's schema guarantees the types.
  const edits = (isStrict ? parseEdits : gatherEdits)(args as EditArguments);
  const request = { path, edits, expected: String(args["expected_hash"]), rebases };
  const { output, file, changes } = await editWithRetries(request, call);
  const shown = call.paths.show(path);
  const hash = hashIn(output);
  const about = { path: shown, size_bytes: output.size };
  // A caller without read access learns nothing about the content.
  if (!file.mayRead || hash === undefined) return { ...about, applied_edits: changes.length };
  const previous = hashText(file.sha256);
  return {
    ...about,
    ...{ content_hash: hash, previous_content_hash: previous, applied_edits: changes.length },
    ...(isStrict ? {} : { rebased: previous !== request.expected }),
    ...reportEdit({ text: file.text, changes, path: shown, firstLine: output.firstChangedLine }, call.monotonicMs),
  };
}

/** Retries after a concurrent change, so that the answer reflects the file's current state; nothing is rebased on one. */
async function editWithRetries(request: EditRequest, call: SessionCall): Promise<Made> {
  for (let attempt = 1; ; attempt++) {
    try {
      return await tryEdit(attempt === 1 ? request : { ...request, rebases: false }, call);
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
    // A hash that fits shows that the caller knows the content: without it, whether an edit fits would tell of it.
    if (found !== request.expected && !(request.rebases && file.mayRead)) {
      throw staleFault(request, call, file.mayRead ? found : undefined);
    }
    const changes = await planOn(found, file, { request, call });
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

/** @param found hash of the file @throws the faults of a plan, in a stale edit as conflicts */
async function planOn(
  found: string,
  file: EditedText,
  { request, call }: { readonly request: EditRequest; readonly call: SessionCall },
): Promise<readonly TextChange[]> {
  const { edits, expected } = request;
  try {
    return await planEdits(edits, file);
  } catch (error) {
    if (found === expected || !(error instanceof FileAdapterError) || !isTold(error)) throw error;
    const change = `changed since the last read (expected ${shownHash(expected)}, found ${found})`;
    const why = error.message.replace(/\.$/, "");
    throw toolFault(
      "CONFLICT",
      `File '${shownPath(request, call)}' ${change} and the edits conflict with its current content: ${why}. Read the file again before editing.`,
    );
  }
}

/** @param found current hash; `undefined`: unknown, or hidden from the caller */
function staleFault(request: EditRequest, call: SessionCall, found: string | undefined): FileAdapterError {
  const { expected } = request;
  const hashes = `Expected ${shownHash(expected)}${found === undefined ? "" : `, found ${found}`}`;
  return toolFault(
    "CONFLICT",
    `File '${shownPath(request, call)}' changed since the last read. ${hashes}. Read the file again before editing.`,
  );
}

const shownHash = (hash: string): string => escapeText(hash.slice(0, 100));

const shownPath = ({ path }: EditRequest, { paths }: SessionCall): string => escapeText(paths.show(path));

function isText(text: string): boolean {
  const at = text.indexOf("\0");
  return at < 0 || at >= NUL_WINDOW || Buffer.byteLength(text.slice(0, at)) >= NUL_WINDOW;
}

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
