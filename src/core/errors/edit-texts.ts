// Errors of edits, with texts for models: what did not match, where the nearest lines are, what to do next.

import { adapterError, type FileAdapterError } from "./errors.js";
import { escapeText, type Place } from "./texts.js";

/** Maximum characters of a path in a message; the error data has the full path. */
const BRIEF = 40;
const HEAD = 10;

const at = ({ root, path }: Place) => ({ root, path });

function brief({ path }: Place): string {
  const points = [...(path === "" ? "/" : path)];
  if (points.length <= BRIEF) return escapeText(path === "" ? "/" : path);
  return escapeText(`${points.slice(0, HEAD).join("")}…${points.slice(HEAD + 1 - BRIEF).join("")}`);
}

/** Not the rights of the caller or the mode of a file: nothing on this file system can be changed. */
export const readOnlyFileSystem = (place: Place): FileAdapterError =>
  adapterError(
    "READ_ONLY_ROOT",
    `The file system of '${escapeText(place.root)}:${brief(place)}' is mounted read-only. Write elsewhere, or have it mounted for writing`,
    at(place),
  );

/** Windows: what another program has open is neither opened, renamed nor removed. */
export const inUse = (place: Place): FileAdapterError =>
  adapterError(
    "BUSY",
    `In use by another program: '${escapeText(place.root)}:${brief(place)}'. Try again, or have it closed there`,
    at(place),
  );

/** Position of an edit among the edits of one call. */
export interface EditPlace {
  /** 0-based. */
  readonly edit: number;
  readonly of: number;
}

/** Lines of a file, 1-based. */
export interface LineRange {
  readonly startLine: number;
  readonly endLine: number;
}

export interface NoMatch extends EditPlace {
  /** Similar lines, best match first; absent for a caller without read access. */
  readonly nearest?: readonly (LineRange & { readonly text: string; readonly differs: string })[];
  /** The code points of a difference that cannot be seen. */
  readonly unseen?: string;
}

const linesText = ({ startLine, endLine }: LineRange): string =>
  startLine === endLine ? `line ${startLine}` : `lines ${startLine}-${endLine}`;

export function noMatch(place: Place, { edit, of, nearest, unseen }: NoMatch): FileAdapterError {
  const best = nearest?.[0];
  const found = best === undefined ? "Nothing similar found: read it again" : nearestText(best, unseen);
  return adapterError(
    "NO_MATCH",
    `Edit ${edit + 1} of ${of} does not match "${brief(place)}"${nearest === undefined ? "" : `. ${found}`}`,
    { ...at(place), edit: edit + 1, ...(nearest === undefined ? {} : { tried: ["exact", "newlines"], nearest }) },
  );
}

const nearestText = (best: LineRange & { readonly differs: string }, unseen = best.differs): string =>
  `Nearest: ${linesText(best)} (differs in ${unseen}). Copy the text from there`;

/** An edit that is to be put in at a line. */
export const noSuchLine = (place: Place, { edit, of, line }: EditPlace & { readonly line: number }): FileAdapterError =>
  adapterError(
    "NO_MATCH",
    `Edit ${edit + 1} of ${of}: "${brief(place)}" has no line ${line}. Read it again, or add to it with file:append`,
    { ...at(place), edit: edit + 1, next: { tool: "file:append" } },
  );

/** @param cells that there are, if the caller may know; `undefined`: the file is no notebook */
export const noSuchCell = (place: Place, cell: number, cells: number | undefined): FileAdapterError =>
  adapterError(
    "NO_MATCH",
    cells === undefined
      ? "File is no notebook with cells. Leave out cell"
      : `"${brief(place)}" has no cell ${cell}, but ${cells}, from 1`,
    at(place),
  );

export interface AmbiguousMatch extends EditPlace {
  readonly found: number;
  readonly expected: number;
  /** Matching lines, 1-based; absent for a caller without read access. */
  readonly lines?: readonly number[];
}

/** Maximum line numbers in a message; the error data has more. */
const LINES_SHOWN = 5;
/** Most occurrences that an edit of all replaces. */
const MAX_ALL = 100_000;

export function ambiguousMatch(place: Place, match: AmbiguousMatch): FileAdapterError {
  const { edit, of, found, expected, lines } = match;
  const more = lines !== undefined && (lines.length > LINES_SHOWN || found > lines.length) ? ", …" : "";
  const where = lines === undefined ? "Add" : `Lines ${lines.slice(0, LINES_SHOWN).join(", ")}${more}: add`;
  const option = found > MAX_ALL ? "oldText" : "replaceAll";
  return adapterError(
    "AMBIGUOUS_MATCH",
    `Edit ${edit + 1} of ${of} matches "${brief(place)}" ${found} times, expected ${expected}. ${where} lines around it to oldText${option === "oldText" ? "" : ", or set replaceAll"}`,
    { ...at(place), edit: edit + 1, found, expected, ...(lines && { lines }), next: { option } },
  );
}

/** @param edits the two indexes, 0-based; equal if occurrences of one edit overlap */
export function overlappingEdits(place: Place, edits: readonly [number, number]): FileAdapterError {
  const [first, second] = edits.map((edit) => edit + 1);
  const isOne = first === second;
  return adapterError(
    "OVERLAPPING_EDITS",
    `Edits ${first} and ${second} overlap in "${brief(place)}". ${isOne ? "Make its oldText longer" : "Make one edit of both"}`,
    { ...at(place), edits: [first, second], ...(isOne && { next: { option: "oldText" } }) },
  );
}

/** @param encoding of the file, which has no way to write it @param otherwise another way than other characters */
export const notEncodable = (place: Place, encoding = "utf-8", otherwise = ""): FileAdapterError =>
  adapterError(
    "NOT_TEXT",
    `The file's encoding, ${escapeText(encoding)}, has no way to write the new text. Use characters it has${otherwise}`,
    at(place),
  );

/** @param encoding that was asked for */
export const notTextToEdit = (place: Place, encoding = "UTF-8"): FileAdapterError =>
  notValidText(place, encoding, ": latin1 takes every byte as a character and keeps all others");

/** What is in the file is no UTF-8: new text may have to be in another encoding. @param such one that it may be */
export const otherEncoding = (place: Place, such = "latin1"): FileAdapterError =>
  notValidText(place, "UTF-8", `, such as ${such}`);

const notValidText = (place: Place, encoding: string, which: string): FileAdapterError =>
  adapterError("NOT_TEXT", `File is not valid ${escapeText(encoding)} text. Pass its encoding${which}`, {
    ...at(place),
    next: { option: "encoding" },
  });

export const tooLargeToEdit = (place: Place, size: number, limit: number): FileAdapterError =>
  adapterError(
    "TOO_LARGE",
    `File is too large to edit: ${size} bytes, limit ${limit}. Read its parts (offset, length), and add to it with file:append`,
    { ...at(place), size, limit, next: { tool: "file:append" } },
  );
