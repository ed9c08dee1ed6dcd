// Reads files that models get in another form, such as notebooks as cells. Other callers get the files as they are.

import { createHash } from "node:crypto";
import type { PdfText } from "../../core/call/pdf.js";
import { counted } from "../../core/errors/wording.js";
import { type Awaitable, after, runIo } from "../../core/io.js";
import type { ReadRange } from "../../core/ports/backend.js";
import type { OpenFile } from "../../core/ports/open-file.js";
import { isQuicklyParsed } from "../../schema/exact-json.js";
import type { ReadOutput } from "../../schema/types.js";
import { cutLines } from "../content/cut-to-budget.js";
import { UTF8 } from "../content/encoding.js";
import { etagFor, versionOf } from "../content/file-etag.js";
import { holdAnswer, mimeAt, type Reading, rangeOf } from "../content/reading.js";
import { textIn } from "../content/text.js";
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

/** A rendered text within the budget, with the call that gives more of it. */
function renderedOutput<Kind extends "notebook" | "pdf">(
  rendered: Kind,
  { text, wholeBytes }: RenderedText,
  { mostCut, ceiling }: Reading,
) {
  const bytes = Buffer.from(text);
  const maxLines = Number.POSITIVE_INFINITY;
  const { end, by } = cutLines(bytes, { codec: UTF8, maxBytes: mostCut, maxLines, isLast: true });
  const isCut = by !== undefined || (wholeBytes ?? 0) > bytes.length;
  const wanted = wholeBytes ?? Math.min(mostCut * GROWTH, ceiling);
  const more = wanted > mostCut && wanted <= ceiling ? `Pass maxBytes: ${wanted}` : OTHERWISE[rendered];
  const cut = isCut ? { truncated: true, complete: false, reason: "bytes" as const, hint: more } : {};
  return { content: bytes.toString("utf8", 0, end), encoding: UTF8.name, rendered, ...cut };
}

const OTHERWISE = { notebook: 'Pass mode: "text" for the rest', pdf: "No call shows more of it" };

/** Larger files are described. */
const MAX_PDF_BYTES = 33_554_432;
/** Maximum time (ms) for one file, waiting for a process included… */
const MAX_MS = 20_000;
/** …and the part of the call's remaining time that it may take, so that the file can be described instead. */
const SHARE_OF_TIME = 0.7;
/** Bytes read at once. */
const CHUNK = 262_144;

const SPENT = {
  ...{ truncated: true, complete: false, reason: "limit" as const },
  hint: "The last line says why",
};

const SIGNATURE = Buffer.from("%PDF-");

/** Whether a file says that it is a PDF. @param head its first bytes */
export const isPdf = (head: Buffer): boolean => head.subarray(0, SIGNATURE.length).equals(SIGNATURE);

/**
 * The text of a PDF. `undefined`: it has none, or cannot be read, or not by what is installed here.
 * @throws as opening and reading the file does; ABORTED
 */
export async function readPdf(reading: Reading): Promise<ReadOutput | undefined> {
  const { call, mostCut } = reading;
  if (call.pdf === undefined) return undefined;
  holdAnswer(call, mostCut);
  const file = await call.root.backend.open(call.path, call.access);
  try {
    const { size } = file;
    if (size > MAX_PDF_BYTES) return undefined;
    const digest = createHash("sha256");
    const { scope } = call;
    const text = await call.pdf.read({
      source: bytesOf(file, (bytes) => digest.update(bytes)),
      ...{ size, maxBytes: mostCut },
      withinMs: Math.min(MAX_MS, scope.remainingMs() * SHARE_OF_TIME),
      ...{ signal: scope.signal, caller: call.caller },
    });
    await runIo(scope.breathe(), scope);
    if (text === undefined || text.pages.every((page) => page === "")) return undefined;
    const cut = text.isSpent === true ? SPENT : {};
    const facts = { size, mime: mimeAt(reading, SIGNATURE, () => true) };
    return {
      ...cut,
      ...renderedOutput("pdf", { text: textOf(text) }, reading),
      ...facts,
      ...versionOf(digest.digest("hex"), call),
    };
  } finally {
    file.close();
  }
}

/** The bytes of a file up to the size that it had when it was opened. */
async function* bytesOf(file: OpenFile, seen: (bytes: Buffer) => void): AsyncGenerator<Buffer> {
  for (let at = 0; at < file.size; ) {
    const bytes = await file.read(at, Math.min(CHUNK, file.size - at));
    if (bytes.length === 0) return;
    seen(bytes);
    yield bytes;
    at += bytes.length;
  }
}

function textOf({ count, pages, isSpent }: PdfText): string {
  const lines = pages.map((page, index) => `\n[page ${index + 1}]\n${page === "" ? "" : `${page}\n`}`);
  const rest =
    isSpent === true ? [`\n[from page ${pages.length + 1} on: not read, it takes too long or too much memory]\n`] : [];
  const first = `rendered; the text of a PDF of ${counted(count, "page")}; its bytes: mode "bytes"\n`;
  return [first, ...lines, ...rest].join("");
}
