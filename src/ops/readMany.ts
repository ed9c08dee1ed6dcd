import { FileAdapterError } from "../core/errors/errors.js";
import { escapeText } from "../core/errors/texts.js";
import { type Operation, type PathCall, type PlaceRequest, type PlacesCall, READS } from "../core/ports/operation.js";
import type { ReadManyInput, ReadManyOutput, ReadOutput } from "../schema/types.js";
import { checkEncoding } from "./content/encoding.js";
import { readFile } from "./content/read-file.js";
import { holdAnswer } from "./content/reading.js";

type OneInput = ReadManyInput["files"][number] & {
  /** The place that its path names by a reference. */
  readonly at?: Pick<PlaceRequest, "root" | "path">;
};
type OneOutput = ReadManyOutput["files"][number];

/** Default for the total bytes of all bodies, without a budget. */
const DEFAULT_BYTES = 65_536;
/** Least share of a file: with less, a cut file would be of no use. */
const MIN_BYTES = 256;
/** Errors that fail the whole call, not one file. */
const OF_THE_CALL: ReadonlySet<string> = new Set([
  "UNKNOWN_ROOT",
  "DRIVE_REQUIRES_AUTH",
  "STORE_UNAVAILABLE",
  "ABORTED",
  "TIMEOUT",
]);

/** `readMany`: the content of several files, within one byte budget. */
export const readMany: Operation<ReadManyInput, ReadManyOutput> = {
  name: "readMany",
  on: "places",
  ...READS,
  looksInArchives: true,
  check: ({ files }) => {
    for (const [index, { encoding }] of files.entries()) checkEncoding(encoding, `/files/${index}`);
  },
  async run(input, call) {
    const places = input.files.map((file) => placeOf(input, file, call));
    const room = roomOf(input, call);
    holdAnswer(call, room);
    let left = room;
    let waiting = places.length;
    const answers: (OneOutput | undefined)[] = [];
    // Small files first: what they leave of their shares goes to the larger ones.
    for (const { index, file, place } of await bySize(input, places)) {
      if (!(place instanceof FileAdapterError)) place.access.scope.report?.(places.length - waiting, places.length);
      const share = Math.max(1, Math.min(left, Math.max(MIN_BYTES, Math.floor(left / waiting--))));
      const found = place instanceof FileAdapterError ? place : await readOne(file, place, { share, left, room });
      if (found === "full") continue;
      if (!(found instanceof FileAdapterError)) left -= shownBytes(found);
      answers[index] =
        found instanceof FileAdapterError ? failedOutput(file, found) : { path: file.path, ok: true, ...found };
    }
    const files = answers.filter((one) => one !== undefined);
    const notRead = input.files.filter((_, index) => answers[index] === undefined).map(({ path }) => path);
    return { files, ...completeness(files, notRead), ...(notRead.length === 0 ? {} : { notRead }) };
  },
  bytes: ({ files }) => files.reduce((sum, file) => sum + (file.length ?? file.size ?? 0), 0),
  render: (output) => {
    const note = noteOf(output) ?? output.hint;
    return {
      kind: "text",
      text: output.files.map(bodyOf).join(""),
      rest: { complete: output.complete, ...(output.reason === undefined ? {} : { reason: output.reason }) },
      ...(note === undefined ? {} : { note }),
    };
  },
};

function roomOf(input: ReadManyInput, { budget, limits }: PlacesCall): number {
  const ceiling = Math.min(budget?.maxBytes ?? limits.maxReadBytes, limits.maxReadBytes);
  return Math.min(input.maxBytes ?? budget?.defaultBytes ?? DEFAULT_BYTES, ceiling);
}

interface Wanted {
  readonly index: number;
  readonly file: OneInput;
  readonly place: PathCall | FileAdapterError;
  readonly bytes: number;
}

/** The files by the bytes they want at most; files of equal size stay in the given order. */
async function bySize(input: ReadManyInput, places: readonly Wanted["place"][]): Promise<Wanted[]> {
  const wanted: Wanted[] = [];
  for (const [index, file] of input.files.entries()) {
    const place = places[index];
    if (place === undefined) continue;
    const size = places.length === 1 || place instanceof FileAdapterError ? 0 : await sizeAt(place);
    wanted.push({ index, file, place, bytes: Math.min(size, file.maxBytes ?? size) });
  }
  return wanted.sort((a, b) => a.bytes - b.bytes);
}

/** Size of a file; 0 where the read will fail. */
async function sizeAt({ root, path, access }: PathCall): Promise<number> {
  try {
    return (await root.backend.stat(path, access))?.size ?? 0;
  } catch (error) {
    requireFileError(error);
    return 0;
  }
}

/** @returns the error, if only this file fails */
function placeOf(
  { root = "" }: ReadManyInput,
  { path, at = { root, path } }: OneInput,
  call: PlacesCall,
): PathCall | FileAdapterError {
  try {
    return call.at({ ...at, abilities: ["crud/read"], changes: false });
  } catch (error) {
    return requireFileError(error);
  }
}

/** @returns `full`: no room left; another call must read it */
async function readOne(
  { path: _, at: __, ...request }: OneInput,
  place: PathCall,
  { share, left, room }: { readonly share: number; readonly left: number; readonly room: number },
): Promise<ReadOutput | FileAdapterError | "full"> {
  const isFirst = left === room;
  try {
    const maxBytes = Math.min(request.maxBytes ?? room, share);
    const found = await readFile({ ...request, maxBytes }, withoutImages(place));
    const isCutShort = found.complete === false && maxBytes < (request.maxBytes ?? room);
    if (shownBytes(found) > left || (isCutShort && share < MIN_BYTES)) return isFirst ? found : "full";
    return found;
  } catch (error) {
    const known = requireFileError(error);
    const size = known.code === "TOO_LARGE" ? Number(known.data["size"]) : Number.POSITIVE_INFINITY;
    return size <= Math.min(request.maxBytes ?? room, room) ? "full" : known;
  }
}

/** An answer of several files is one text, which cannot show images. */
const withoutImages = (place: PathCall): PathCall =>
  place.budget === undefined ? place : { ...place, budget: { ...place.budget, hidesImages: true } };

/** @returns an error of one file @throws an error of the whole call */
function requireFileError(error: unknown): FileAdapterError {
  if (error instanceof FileAdapterError && !OF_THE_CALL.has(error.code)) return error;
  throw error;
}

const failedOutput = ({ path }: OneInput, { code, message }: FileAdapterError): OneOutput => ({
  path,
  ok: false,
  code,
  message,
});

/** Bytes of the budget that a body takes. */
const shownBytes = ({ content = "", description, encoding, length, size }: ReadOutput): number =>
  description !== undefined
    ? Buffer.byteLength(description)
    : encoding === "base64"
      ? (length ?? size)
      : Buffer.byteLength(content);

function completeness(
  files: readonly OneOutput[],
  notRead: readonly string[],
): Pick<ReadManyOutput, "complete" | "reason" | "hint"> {
  const isCut = files.some((file) => file.complete === false);
  const hint = hintOf(isCut ? `go on with file:read ${nextOf(files)}` : undefined, notRead);
  if (hint !== undefined) return { complete: false, reason: "bytes", hint };
  if (files.every(({ ok }) => ok)) return { complete: true };
  return { complete: false, reason: "error", hint: "See code and message of each file that is not ok" };
}

function hintOf(onward: string | undefined, notRead: readonly string[]): string | undefined {
  const rest = notRead.length === 0 ? undefined : "call file:readMany with notRead";
  const next = [onward, rest].filter((one) => one !== undefined).join(", then ");
  return next === "" ? undefined : `${next.slice(0, 1).toUpperCase()}${next.slice(1)}`;
}

/** Where reads of files that were cut go on. */
const nextOf = (files: readonly OneOutput[]): string =>
  `from nextLine or nextOffset${files.some(({ hint }) => hint !== undefined) ? ", or as its hint says" : ""}`;

/** One line of JSON, then the body, with a line feed added if missing; `length`, else `size`, gives its real end. */
function bodyOf({ content, ...rest }: OneOutput): string {
  const head = `${JSON.stringify(rest)}\n`;
  if (content === undefined || content === "") return head;
  return `${head}${content}${content.endsWith("\n") ? "" : "\n"}`;
}

function noteOf({ files, notRead = [] }: ReadManyOutput): string | undefined {
  const cut = files.filter((file) => file.complete === false).map(({ path }) => quotePath(path));
  const parts = [
    cut.length === 0 ? undefined : `Cut: ${joinPaths(cut)}. Go on with file_read ${nextOf(files)}`,
    notRead.length === 0 ? undefined : `Not read: ${joinPaths(notRead.map(quotePath))}. Call file_readMany with them`,
  ];
  return parts.filter((part) => part !== undefined).join(". ") || undefined;
}

const quotePath = (path: string): string => JSON.stringify(escapeText(path));
const joinPaths = (paths: readonly string[]): string => paths.join(", ");
