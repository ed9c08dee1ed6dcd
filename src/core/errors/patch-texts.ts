// Errors of patches and other groups of changes, with texts for models: which section or hunk fails, and what to do next.

import { adapterError, FileAdapterError } from "./errors.js";
import { escapeText, invalidInput, type Place } from "./texts.js";
import { counted } from "./wording.js";

const MAX_SHOWN = 10;
const MAX_LINES_TOLD = 5;

const at = ({ root, path }: Place) => ({ root, path });
const shown = ({ path }: Place): string => `"${escapeText(path)}"`;

/** Position of a hunk among the hunks of one file, 0-based. */
export interface HunkPlace {
  readonly hunk: number;
  readonly of: number;
}

interface Near {
  readonly startLine: number;
  readonly endLine: number;
  readonly text: string;
  readonly differs: string;
}

/**
 * @param nearest similar lines, best first; absent for a caller without read access
 * @param unseen the code points of a difference that cannot be seen
 */
export function hunkNotFound(
  place: Place,
  {
    hunk,
    of,
    tried,
    nearest,
    unseen,
  }: HunkPlace & { tried: readonly string[]; nearest?: readonly Near[]; unseen?: string },
) {
  const [best] = nearest ?? [];
  const lines =
    best === undefined ? "" : `lines ${best.startLine}-${best.endLine} (differs in ${unseen ?? best.differs})`;
  const found =
    best === undefined ? "Nothing similar found: read it again" : `Nearest: ${lines}. Copy the text from there`;
  return adapterError(
    "NO_MATCH",
    `Hunk ${hunk + 1} of ${of} does not match ${shown(place)}${nearest === undefined ? "" : `. ${found}`}`,
    { ...at(place), hunk: hunk + 1, ...(nearest === undefined ? {} : { tried, nearest }) },
  );
}

/** @param anchor the text behind `@@` */
export const anchorNotFound = (place: Place, { hunk, of, anchor }: HunkPlace & { anchor: string }) =>
  adapterError(
    "NO_MATCH",
    `Hunk ${hunk + 1} of ${of}: ${shown(place)} has no line "${escapeText(anchor)}" there. Copy a line of the file behind @@, or leave it out`,
    { ...at(place), hunk: hunk + 1, anchor },
  );

/** @param lines 1-based; absent for a caller without read access */
export function hunkAmbiguous(
  place: Place,
  { hunk, of, found, lines }: HunkPlace & { found: number; lines?: readonly number[] },
) {
  const shownLines = lines?.slice(0, MAX_LINES_TOLD).join(", ");
  const where = shownLines === undefined ? "" : ` (lines ${shownLines}${found > MAX_LINES_TOLD ? ", …" : ""})`;
  return adapterError(
    "AMBIGUOUS_MATCH",
    `Hunk ${hunk + 1} of ${of} matches ${shown(place)} in ${found} places${where}. Add lines around it, or a line above it behind @@`,
    { ...at(place), hunk: hunk + 1, found, ...(lines === undefined ? {} : { lines }) },
  );
}

/** @param from the folder as it was named before */
export const inMovedFolder = (place: Place, from: string) =>
  adapterError(
    "INVALID_INPUT",
    `${shown(place)} is in "${escapeText(from)}", which the patch moves. Change it first, or in a patch of its own`,
    at(place),
  );

/** @param other the name by which a section before has changed it */
export const sameFile = (place: Place, other: string) =>
  adapterError(
    "INVALID_INPUT",
    `${shown(place)} is the same file as "${escapeText(other)}". Put all its changes under one name`,
    at(place),
  );

export const movedToItself = (place: Place) =>
  adapterError("INVALID_INPUT", `${shown(place)} is moved to where it is. Name another path`, at(place));

export const movedIntoItself = () => invalidInput("'to' lies inside 'path'", "/to", "a path outside of 'path'");

/** A deletion that shows other content than the file has. */
export const notWholeFile = (place: Place) =>
  adapterError(
    "NO_MATCH",
    `${shown(place)} has more lines than the patch takes away. Read it, and delete it without them`,
    at(place),
  );

export const tooMuchToKeep = (place: Place, size: number, limit: number) =>
  adapterError("TOO_LARGE", `The files that a patch changes may have ${limit} bytes together, not ${size}. Divide it`, {
    ...at(place),
    size,
    limit,
  });

/** A section that fails. */
export interface FailedSection {
  /** 1-based. */
  readonly section: number;
  readonly error: FileAdapterError;
}

/** The error of a patch of which some sections fail; nothing has been changed. The code is that of the first. */
export function patchFailed(failed: readonly FailedSection[], of: number): FileAdapterError {
  const [first, ...others] = failed;
  if (first === undefined) throw new TypeError("No section failed");
  const { code, data, message } = first.error;
  const where = of === 1 ? "" : `Section ${first.section} of ${of}: `;
  const more = others.slice(0, MAX_SHOWN - 1);
  const hint = more.map(({ section, error }) => `Section ${section}: ${error.message} [${error.code}]`).join("\n");
  const count = others.length === 0 ? "" : `. ${counted(others.length, "more section fails", "more sections fail")}`;
  return adapterError(code, where + message + count, {
    ...data,
    section: first.section,
    failures: failed
      .slice(0, MAX_SHOWN)
      .map(({ section, error }) => ({ section, ...error.data, code: error.code, message: error.message })),
    ...(hint === "" ? {} : { hint }),
  });
}

export const isOfOneSection = (error: unknown): error is FileAdapterError =>
  error instanceof FileAdapterError && !OF_THE_CALL.has(error.code);

/** Errors that fail the whole call, whatever its sections are. */
const OF_THE_CALL: ReadonlySet<string> = new Set([
  ...["UNKNOWN_ROOT", "READ_ONLY_ROOT", "DRIVE_REQUIRES_AUTH", "STORE_UNAVAILABLE", "ABORTED", "TIMEOUT"],
]);

/** The error of a group that failed, where others changed paths of it meanwhile, so that these were not put back. */
export function notPutBack(error: unknown, paths: readonly (readonly string[])[]): unknown {
  if (!(error instanceof FileAdapterError)) return error;
  const shownPaths = paths.slice(0, MAX_SHOWN).map((path) => path.join("/"));
  const names = shownPaths.map((path) => `"${escapeText(path)}"`).join(", ");
  const text = `${error.message}. Not put back, since others changed it meanwhile: ${names}. Look at it`;
  return adapterError(error.code, text, { ...error.data, notPutBack: shownPaths });
}
