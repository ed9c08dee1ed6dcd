// Reads a file, or a range of it, as the answer of `read` and `readMany`: chooses the mode and applies the limits.

import { adapterError } from "../../core/errors/errors.js";
import { at, notJson, notText, tooLargeToRead } from "../../core/errors/texts.js";
import { type Awaitable, after, runIo } from "../../core/io.js";
import type { ReadBytes, ReadRange } from "../../core/ports/backend.js";
import type { FileCall } from "../../core/ports/operation.js";
import { HEAD_BYTES, shownAsDocument } from "../../documents/kinds.js";
import { parseInput, RefusedJson } from "../../schema/exact-json.js";
import type { ReadOutput } from "../../schema/types.js";
import { describeFile, describesBytes, mayBeShown, mostBase64 } from "../rendering/describe-file.js";
import { extractText } from "../rendering/extract.js";
import { lookAtImage } from "../rendering/image.js";
import { readAsText, readNotebook, wantsNotebook, wantsRendered } from "../rendering/read-rendered.js";
import { cutLines } from "./cut-to-budget.js";
import { codecOf, decodeText, type TextCodec, UTF8 } from "./encoding.js";
import { etagFor } from "./file-etag.js";
import { jsonFault } from "./json-fault.js";
import { readLines, readTextRange } from "./read-range.js";
import {
  holdAnswer,
  mimeAt,
  pieceOutput,
  type Reading,
  type ReadRequest,
  rangeOf,
  readingOf,
  wholeOutput,
} from "./reading.js";
import { characterEnd, isText, NUL_WINDOW, textIn } from "./text.js";

/** Bytes fetched beyond the budget, so that a cut can end at a whole character. */
const MARGIN = 4;
/** Most bytes of an incomplete character at the end of a window. */
const TORN = 3;

const OF_BYTES = "Use offset and length";
/** Advice with search and without: the drive adapter has none. */
const OF_TEXT = ["Use line/limit, tail, or file_grep", "Use line/limit or tail"] as const;
const OF_JSON = ["Use mode: text with line/limit, or file_grep", "Use mode: text with line/limit"] as const;

/** Reads a file, or a range of it. @throws NOT_TEXT, NOT_JSON, TOO_LARGE, and as a backend does */
export function readFile(request: ReadRequest, call: FileCall): Awaitable<ReadOutput> {
  const reading = readingOf(request, call);
  const { mode } = reading;
  if (mode === "json") return readJson(reading);
  if (mode === "extract") return extractText(reading);
  switch (rangeOf(request)) {
    case undefined:
      if (mode === "bytes" && call.budget !== undefined) return readBytes(reading);
      if (wantsNotebook(reading)) return after(readNotebook(reading), (output) => output ?? readHead(reading));
      return mode === "bytes" || isPlain(reading) ? readWhole(reading) : readHead(reading);
    case "bytes":
      return mode === "bytes" ? readBytes(reading) : runIo(readTextRange(reading));
    default:
      return runIo(readLines(reading));
  }
}

/** Advice for TOO_LARGE: by mode, not by content, since not every surface reads the content before refusing. */
function adviceFor({ mode, call }: Reading): string {
  if (mode === "bytes") return OF_BYTES;
  const [searching, plain] = mode === "json" ? OF_JSON : OF_TEXT;
  const advice = call.scanners === undefined ? plain : searching;
  return mode === "auto" ? `${advice}; for other bytes offset and length` : advice;
}

/** Whether the file must be returned whole or not at all. */
const isPlain = ({ request, call }: Reading): boolean =>
  call.budget === undefined && request.maxBytes === undefined && request.lineNumbers !== true;

/** Reads the whole file, up to the limit; does not trust the size that the system reports. */
function fetchWhole(reading: Reading, advice: string): Awaitable<ReadBytes> {
  const { call, mode, ceiling } = reading;
  const most = mode === "json" ? reading.mostCut : reading.mostWhole;
  const requireSize = (size: number): void => {
    if (size <= most) return;
    const more = mode === "json" && size <= ceiling ? `Pass maxBytes: ${size}. ` : "";
    throw tooLargeToRead(call.access.place, size, most, `${more}${advice}`);
  };
  const plan = (size: number): ReadRange => {
    requireSize(size);
    holdAnswer(call, size, mode === "json" ? "values" : formOf(reading));
    return { offset: 0, length: most + 1 };
  };
  return after(call.root.backend.read(call.path, plan, call.access), (found) => {
    requireSize(found.bytes.length);
    return found;
  });
}

const formOf = ({ takesBytes }: Reading) => (takesBytes ? "bytes" : "text");

const readWhole = (reading: Reading): Awaitable<ReadOutput> =>
  after(fetchWhole(reading, adviceFor(reading)), ({ bytes, size, stamp }) =>
    wholeOutput(reading, { bytes, size, stamp, codec: codecOf(bytes, reading.encoding) }),
  );

const readJson = (reading: Reading): Awaitable<ReadOutput> =>
  after(fetchWhole(reading, adviceFor(reading)), ({ bytes, size, stamp }) => ({
    value: parseJson(bytes, reading),
    size,
    mime: mimeAt(reading, bytes, () => true),
    ...etagFor(reading.call, stamp, bytes),
  }));

function parseJson(bytes: Buffer, { call, encoding }: Reading): unknown {
  const decoded = decodeText(bytes, encoding);
  if (decoded === undefined) throw notText(call.access.place, encoding);
  try {
    return parseInput(decoded.text);
  } catch (error) {
    const { place } = call.access;
    if (!(error instanceof RefusedJson)) throw notJson(place, jsonFault(decoded.text));
    const told = `File cannot be read with mode: json, since ${error.fault}. Pass mode: text`;
    throw adapterError("NOT_JSON", told, at(place));
  }
}

/** Reads from the start: text is cut at the budget, images and other bytes are returned whole or not at all. */
function readHead(reading: Reading): Awaitable<ReadOutput> {
  const { call, request, mostCut } = reading;
  const { place } = call.access;
  const isLimited = call.budget === undefined && request.maxBytes === undefined;
  const plan = (size: number): ReadRange => {
    if (isLimited && size > mostCut) throw tooLargeToRead(place, size, mostCut, adviceFor(reading));
    holdAnswer(call, Math.min(size, mostCut), formOf(reading));
    // At least the NUL window, so that a small budget does not change what counts as text.
    return { offset: 0, length: Math.max(mostCut + MARGIN, NUL_WINDOW) };
  };
  return after(call.root.backend.read(call.path, plan, call.access), (found) => {
    const document = wantsRendered(reading)
      ? shownAsDocument(call.path.segments.at(-1) ?? "", found.bytes.subarray(0, HEAD_BYTES))
      : undefined;
    if (document === undefined) return cutToBudget(reading, found);
    // Without a text it is as any other file with these first bytes.
    return readAsText(reading, document.kind).then((text) => text ?? cutToBudget(reading, found));
  });
}

function cutToBudget(reading: Reading, found: ReadBytes): Awaitable<ReadOutput> {
  const { call, request, mode, mostCut, mostLines, mostWhole } = reading;
  const { bytes, size, stamp } = found;
  const codec = codecOf(bytes, reading.encoding);
  const isLast = bytes.length >= size;
  const numberedFrom = request.lineNumbers === true ? 1 : undefined;
  const room = { codec: codec ?? UTF8, maxBytes: mostCut, maxLines: mostLines, isLast, numberedFrom };
  const cut = cutLines(bytes, room);
  if (codec === undefined || !isTextSoFar(bytes, { codec, isLast, shown: cut.end, allowNul: mode === "text" })) {
    if (mode === "text") throw notText(call.access.place, reading.encoding);
    if (describesBytes(reading) && !mayBeShown(reading, bytes, size)) return runIo(describeFile(reading));
    const complete = size <= Math.min(bytes.length, mostWhole);
    if (complete) return bytesOutput(reading, found);
    return after(fetchWhole(reading, adviceFor(reading)), (whole) => bytesOutput(reading, whole));
  }
  if (cut.by === undefined) return wholeOutput(reading, { bytes, size, stamp, codec });
  const { lines, isTorn, by: reason } = cut;
  return pieceOutput(reading, {
    ...{ bytes: bytes.subarray(0, cut.end), head: bytes, offset: 0, size, stamp, codec },
    ...{ reason, startLine: 1, lines, isTorn },
  });
}

/** A whole file that is no text. To models an image that their hosts would not take is described. */
function bytesOutput(reading: Reading, { bytes, size, stamp }: ReadBytes): Awaitable<ReadOutput> {
  if (describesBytes(reading) && lookAtImage(bytes)?.fault !== undefined) return runIo(describeFile(reading));
  return wholeOutput(reading, { bytes, size, stamp, codec: undefined });
}

/** Whether a file is text, judged by its first bytes. */
function isTextSoFar(
  head: Buffer,
  { codec, isLast, shown, allowNul }: { codec: TextCodec; isLast: boolean; shown: number; allowNul: boolean },
): boolean {
  const known = isLast
    ? head.length
    : Math.max(shown, characterEnd(head, 0, { at: Math.max(0, head.length - TORN), codec }));
  const seen = head.subarray(0, known);
  return codec === UTF8 ? isText(seen, { allowNul }) : textIn(seen, codec, { allowNul }) !== undefined;
}

/** Bytes as they are: a range of them; without one, for a model, the whole file if it fits, else the first ones. */
function readBytes(reading: Reading): Awaitable<ReadOutput> {
  const { call, request, mostCut } = reading;
  const { offset = 0, length = Number.POSITIVE_INFINITY } = request;
  const wanted = Math.min(length, mostCut, mostBase64(reading));
  const plan = (size: number): ReadRange => {
    holdAnswer(call, Math.min(wanted, Math.max(0, size - offset)), formOf(reading));
    return { offset, length: wanted };
  };
  return after(call.root.backend.read(call.path, plan, call.access), ({ bytes, size, stamp }) => {
    const piece = { bytes, offset, size, stamp, codec: undefined };
    if (rangeOf(request) === undefined && bytes.length >= size) return wholeOutput(reading, piece);
    const reason = length > wanted && offset + bytes.length < size ? ("bytes" as const) : undefined;
    return pieceOutput(reading, { ...piece, reason });
  });
}
