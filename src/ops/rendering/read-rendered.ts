// Reads files that models get in a form of their own: notebooks as cells. Everybody else gets them as they are.

import { type Awaitable, after } from "../../core/io.js";
import type { ReadRange } from "../../core/ports/backend.js";
import { isQuicklyParsed } from "../../schema/exact-json.js";
import type { ReadOutput } from "../../schema/types.js";
import { cutLines } from "../content/cut-to-budget.js";
import { UTF8 } from "../content/encoding.js";
import { etagFor } from "../content/file-etag.js";
import { holdAnswer, mimeAt, type Reading, rangeOf } from "../content/reading.js";
import { textIn } from "../content/text.js";
import { notebookText } from "./notebook.js";

/** Larger notebooks are read as the text that they are, and so are those of more parts than are parsed quickly. */
const MAX_NOTEBOOK_BYTES = 67_108_864;
/** Each `maxBytes` that a hint names is so many times the last one, where nobody knows how much is needed. */
const GROWTH = 4;

/** Whether a read by a model asks for no particular form of a file. */
export const wantsRendered = ({ call, mode, request, encoding }: Reading): boolean =>
  call.budget !== undefined &&
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
  /** Bytes of all of it. Absent: nobody knows, if the text is longer than the budget. */
  readonly wholeBytes?: number;
}

/** A rendered text within the budget, and what call gives more of it. */
export function renderedOutput<Kind extends "notebook" | "pdf">(
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
