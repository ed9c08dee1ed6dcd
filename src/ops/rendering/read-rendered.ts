// Reads files that models get in another form, such as notebooks as cells. Other callers get the files as they are.

import type { DocumentKind, DocumentText } from "../../core/call/documents.js";
import { counted } from "../../core/errors/wording.js";
import { type Awaitable, after } from "../../core/io.js";
import type { ReadRange } from "../../core/ports/backend.js";
import { type BinaryKind, isBinaryKind, KINDS } from "../../documents/kinds.js";
import { isQuicklyParsed } from "../../schema/exact-json.js";
import type { ReadOutput } from "../../schema/types.js";
import { cutLines } from "../content/cut-to-budget.js";
import { UTF8 } from "../content/encoding.js";
import { etagFor } from "../content/file-etag.js";
import { holdAnswer, mimeAt, type Reading, rangeOf } from "../content/reading.js";
import { textIn } from "../content/text.js";
import { MAX_DOCUMENT_BYTES, markedText, readDocument } from "./document-text.js";
import { notebookText } from "./notebook.js";

/** Larger notebooks are read as plain text, as are notebooks with too many parts to parse quickly. */
const MAX_NOTEBOOK_BYTES = 67_108_864;
/** Factor from one `maxBytes` in a hint to the next, where the size needed is unknown. */
const GROWTH = 4;

/** Whether a read by a model asks for no particular form of a file. */
export const wantsRendered = ({ call, mode, request, encoding }: Reading): boolean =>
  call.budget !== undefined &&
  call.budget.asStored !== true &&
  mode === "auto" &&
  rangeOf(request) === undefined &&
  request.lineNumbers !== true &&
  encoding === undefined;

/** Whether a file is rendered as a notebook, if it is one. */
export const wantsNotebook = (reading: Reading): boolean =>
  reading.call.path.segments.at(-1)?.toLowerCase().endsWith(".ipynb") === true && wantsRendered(reading);

/** The cells of a notebook. `undefined`: the file is none, or too large. */
export function readNotebook(reading: Reading): Awaitable<ReadOutput | undefined> {
  const { call } = reading;
  const most = MAX_NOTEBOOK_BYTES;
  const plan = (size: number): ReadRange => {
    if (size > most) return { offset: 0, length: 0 };
    holdAnswer(call, size, "values");
    return { offset: 0, length: most + 1 };
  };
  return after(call.root.backend.read(call.path, plan, call.access), (found) => {
    const { bytes, size, stamp } = found;
    const isWhole = bytes.length > 0 && bytes.length <= most && bytes.length >= size;
    const value = isWhole ? parseOrUndefined(textIn(bytes, UTF8, { allowNul: false })) : undefined;
    const shown = notebookText(value, reading.mostCut);
    const facts = shown && { size, mime: mimeAt(reading, bytes, () => true), ...etagFor(call, stamp, bytes) };
    return shown && facts && { ...renderedOutput("notebook", shown, reading), ...facts };
  });
}

function parseOrUndefined(text = ""): unknown {
  try {
    return isQuicklyParsed(text) ? JSON.parse(text) : undefined;
  } catch {
    return undefined;
  }
}

interface RenderedText {
  readonly text: string;
  /** Bytes of the whole text. Absent: unknown, if the text is longer than the budget. */
  readonly wholeBytes?: number;
}

const OTHERWISE = {
  notebook: 'Pass mode: "text" for the rest',
  document: 'Pass mode: "extract", with pages where it has such',
};

/** A rendered text within the budget, with the call that gives more of it. */
function renderedOutput<Kind extends "notebook" | BinaryKind>(
  rendered: Kind,
  { text, wholeBytes }: RenderedText,
  { mostCut, ceiling }: Reading,
) {
  const bytes = Buffer.from(text);
  const maxLines = Number.POSITIVE_INFINITY;
  const { end, by } = cutLines(bytes, { codec: UTF8, maxBytes: mostCut, maxLines, isLast: true });
  const isCut = by !== undefined || (wholeBytes ?? 0) > bytes.length;
  const wanted = wholeBytes ?? Math.min(mostCut * GROWTH, ceiling);
  const more =
    wanted > mostCut && wanted <= ceiling
      ? `Pass maxBytes: ${wanted}`
      : OTHERWISE[rendered === "notebook" ? "notebook" : "document"];
  const cut = isCut ? { truncated: true, complete: false, reason: "bytes" as const, hint: more } : {};
  return { content: bytes.toString("utf8", 0, end), encoding: UTF8.name, rendered, ...cut };
}

/**
 * The text of a document. `undefined`: it has none, or cannot be read, or not by what is installed here.
 * @throws as opening and reading the file does; ABORTED
 */
export async function readAsText(reading: Reading, kind: DocumentKind | undefined): Promise<ReadOutput | undefined> {
  const { call, mostCut } = reading;
  holdAnswer(call, mostCut);
  const file = await call.root.backend.open(call.path, call.access);
  try {
    if (file.size > MAX_DOCUMENT_BYTES) return undefined;
    const read = await readDocument(file, { kind, maxChars: mostCut }, call);
    if ("fault" in read || read.found.parts.every(({ text }) => text === "")) return undefined;
    const { found, facts } = read;
    if (!isBinaryKind(found.kind)) return undefined;
    const cut = found.ends === "spent" ? SPENT : {};
    return { ...cut, ...renderedOutput(found.kind, { text: textOf(found) }, reading), ...facts };
  } finally {
    file.close();
  }
}

const SPENT = {
  ...{ truncated: true, complete: false, reason: "limit" as const },
  hint: "The last line says why",
};

function textOf(found: DocumentText): string {
  const { title, units } = KINDS[found.kind];
  const of = units === undefined || found.count === undefined ? "" : ` of ${counted(found.count, units)}`;
  const rest = found.ends === "spent" ? "\n\n[not read any further: it takes too long or too much memory]" : "";
  return `rendered; the text of ${title}${of}; its bytes: mode "bytes"\n\n${markedText(found).text}${rest}\n`;
}
