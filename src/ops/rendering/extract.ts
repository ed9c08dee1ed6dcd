// The text of a file, whatever its kind: mode `extract` of reads.

import type { DocumentFault, DocumentKind, DocumentText, PageRange } from "../../core/call/documents.js";
import { adapterError, type FileAdapterError } from "../../core/errors/errors.js";
import { at, invalidInput, type Place, tooLargeToRead } from "../../core/errors/texts.js";
import type { OpenFile } from "../../core/ports/open-file.js";
import { HEAD_BYTES, KINDS, kindByName, kindOfHead, MAX_CHARS } from "../../documents/kinds.js";
import { supportedKinds } from "../../documents/peers.js";
import type { ReadInput, ReadOutput } from "../../schema/types.js";
import { codecOf } from "../content/encoding.js";
import { etagFor } from "../content/file-etag.js";
import { holdAnswer, mimeAt, type Reading } from "../content/reading.js";
import { characterEnd, textIn } from "../content/text.js";
import { cutText, MAX_DOCUMENT_BYTES, markedText, readDocument } from "./document-text.js";

const USUAL_CHARS = 16_000;
/** Factor from one `maxChars` in a hint to the next, where the length of the whole is unknown. */
const GROWTH = 4;
/** Most bytes of a character, in every encoding. */
const CHAR_BYTES = 4;

/** The pages that a call asks for. @throws INVALID_INPUT */
export function parsePages(pages: ReadInput["pages"]): PageRange | undefined {
  if (pages === undefined) return undefined;
  if (typeof pages === "number") return rangeOf(pages, pages);
  if (typeof pages === "object") return rangeOf(pages.first ?? 1, pages.last);
  const [, first, dash, last] = /^(\d{1,9})(?:\s*(-)\s*(\d{1,9})?)?$/.exec(pages.trim()) ?? [];
  if (first === undefined) throw wrongPages();
  return rangeOf(Number(first), dash === undefined ? Number(first) : last === undefined ? undefined : Number(last));
}

function rangeOf(first: number, last: number | undefined): PageRange {
  if (first < 1 || (last !== undefined && last < first)) throw wrongPages();
  return { first, last };
}

const wrongPages = (): FileAdapterError =>
  invalidInput(`'pages' must be a page, or some: 3, "3-5", "3-", from 1`, "/pages", '3, "3-5", "3-"');

/**
 * The text of a file. @throws BAD_FORMAT, NOT_SUPPORTED, TOO_LARGE, TIMEOUT if no process is free, and as opening and
 * reading the file does
 */
export async function extractText(reading: Reading): Promise<ReadOutput> {
  const { call, request } = reading;
  const maxChars = Math.min(request.maxChars || USUAL_CHARS, MAX_CHARS);
  holdAnswer(call, maxChars);
  const file = await call.root.backend.open(call.path, call.access);
  try {
    const head = await file.read(0, HEAD_BYTES);
    const kind = kindByName(call.path.segments.at(-1) ?? "");
    if (kind === undefined && kindOfHead(head) === undefined) return await plainText(reading, { file, head, maxChars });
    return await documentOutput(reading, { file, kind, maxChars });
  } finally {
    file.close();
  }
}

interface Given {
  readonly file: OpenFile;
  readonly maxChars: number;
}

async function documentOutput(
  reading: Reading,
  { file, kind, maxChars }: Given & { readonly kind: DocumentKind | undefined },
): Promise<ReadOutput> {
  const { call, request } = reading;
  const { place } = call.access;
  const { size } = file;
  if (size > MAX_DOCUMENT_BYTES) throw tooLargeToRead(place, size, MAX_DOCUMENT_BYTES, "");
  const pages = parsePages(request.pages);
  const read = await readDocument(file, { kind, pages, maxChars }, call);
  if ("fault" in read) throw faultOf(read, { place, size, kind });
  return { ...textPart(read.found, reading, maxChars), ...read.facts };
}

/** The fields that tell of the text. */
function textPart(found: DocumentText, { mostWhole, request }: Reading, maxChars: number) {
  const whole = markedText(found);
  const text = cutText(whole.text, maxChars, mostWhole);
  const truncated = text.length < whole.text.length || found.ends !== undefined;
  const [first, last] = [whole.starts[0], whole.starts.findLast(({ at }) => at < Math.max(1, text.length))].map(
    (start) => (typeof start?.unit?.at === "number" ? start.unit.at : undefined),
  );
  const range = first === undefined || last === undefined ? {} : { firstPage: first, lastPage: last };
  const note = noteOf(found, request.pages !== undefined && KINDS[found.kind].units === undefined);
  const meta = { ...found.meta, ...(note === undefined ? {} : { note }) };
  const next = truncated && found.ends !== "spent" ? nextOf(first === last ? undefined : last, maxChars) : undefined;
  return {
    ...{ text, chars: text.length, truncated },
    ...(found.count === undefined ? {} : { pages: found.count, ...range }),
    ...(Object.keys(meta).length === 0 ? {} : { meta }),
    ...(next === undefined ? {} : { hint: next }),
  };
}

function noteOf({ ends, meta, kind }: DocumentText, asksForPages: boolean): string | undefined {
  const notes = [
    ends === "spent" ? "Ends early: the rest takes too long, too much memory, or is damaged" : undefined,
    meta.scanned === true ? "No text: its pages are pictures" : undefined,
    asksForPages ? `A ${kind} file has no pages to choose` : undefined,
  ].filter((note) => note !== undefined);
  return notes.length === 0 ? undefined : notes.join(". ");
}

/** The call that gives more. @param last the page that the cut fell into, if it is not the first */
function nextOf(last: number | undefined, maxChars: number): string | undefined {
  if (last !== undefined) return `Go on with pages: "${last}-"`;
  return maxChars < MAX_CHARS ? `Pass maxChars: ${Math.min(maxChars * GROWTH, MAX_CHARS)}` : undefined;
}

interface Faulty {
  readonly place: Place;
  readonly size: number;
  readonly kind: DocumentKind | undefined;
}

function faultOf({ fault, peer }: DocumentFault, { place, size, kind }: Faulty): FileAdapterError {
  switch (fault) {
    case "missing":
      return adapterError(
        "NOT_SUPPORTED",
        `Text of ${kind ?? "such"} files is read by the package '${peer}', which the operator can install beside this one`,
        { ...at(place), peer },
      );
    case "busy":
      return adapterError("TIMEOUT", "Other documents were read all the time: try again later", at(place));
    case "spent":
      return adapterError("TOO_LARGE", "Its text takes too long or too much memory to read", { ...at(place), size });
    case "unsupported": {
      const supported = supportedKinds();
      const told = `Text of such a file cannot be read. Supported: ${supported.join(", ")}`;
      return adapterError("BAD_FORMAT", told, { ...at(place), reason: fault, supported });
    }
    default:
      return adapterError("BAD_FORMAT", TEXTS[fault], { ...at(place), reason: fault });
  }
}

const TEXTS = {
  encrypted: "The document is encrypted: its text needs a password, which no call takes",
  damaged: 'The document is damaged: no text can be read. Its bytes: mode "bytes"',
};

/** A file that is text in itself. */
async function plainText(
  reading: Reading,
  { file, head, maxChars }: Given & { readonly head: Buffer },
): Promise<ReadOutput> {
  const { call, mostWhole } = reading;
  const { size, stamp } = file;
  const length = Math.min(size, (maxChars + 1) * CHAR_BYTES);
  const bytes = length <= head.length ? head : await file.read(0, length);
  const codec = codecOf(bytes, reading.encoding);
  const end =
    codec === undefined || length >= size ? bytes.length : characterEnd(bytes, 0, { at: bytes.length, codec });
  const whole = codec && textIn(bytes.subarray(0, end), codec, { allowNul: false })?.replace(/^\ufeff/, "");
  if (whole === undefined) {
    throw faultOf({ fault: "unsupported" }, { place: call.access.place, size, kind: undefined });
  }
  const text = cutText(whole, maxChars, mostWhole);
  const truncated = text.length < whole.length || length < size;
  const next = truncated ? nextOf(undefined, maxChars) : undefined;
  return {
    ...{ text, chars: text.length, truncated, size },
    mime: mimeAt(reading, head, () => true),
    ...etagFor(call, stamp, length >= size ? bytes : undefined),
    ...(next === undefined ? {} : { hint: next }),
  };
}
