// Reads files that models get in a form of their own: notebooks as cells. Everybody else gets them as they are.

import { type Awaitable, after } from "../../core/io.js";
import type { ReadRange } from "../../core/ports/backend.js";
import type { ReadOutput } from "../../schema/types.js";
import { holdAnswer } from "../content/answer-room.js";
import { cutLines } from "../content/cut-to-budget.js";
import { UTF8 } from "../content/encoding.js";
import { etagFor } from "../content/file-etag.js";
import { mimeAt } from "../content/read-piece.js";
import { type Reading, rangeOf } from "../content/reading.js";
import { textIn } from "../content/text.js";
import { notebookText } from "./notebook.js";

/** Larger notebooks are read as the text that they are: parsing them would hold up other calls. */
const MAX_NOTEBOOK_BYTES = 4_194_304;

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
  const most = Math.min(MAX_NOTEBOOK_BYTES, call.limits.maxReadBytes);
  const plan = (size: number): ReadRange => {
    if (size > most) return { offset: 0, length: 0 };
    holdAnswer(call, size, "values");
    return { offset: 0, length: most + 1 };
  };
  return after(call.root.backend.read(call.path, plan, call.access), (found) => {
    const { bytes, size, stamp } = found;
    const isWhole = bytes.length > 0 && bytes.length <= most && bytes.length >= size;
    const text = isWhole ? notebookText(parseOrUndefined(textIn(bytes, UTF8, { allowNul: false }))) : undefined;
    const facts = text === undefined ? undefined : { size, mime: mimeAt(reading, bytes, () => true) };
    const etag = facts === undefined ? {} : etagFor(call, stamp, bytes);
    found.release?.();
    return text === undefined || facts === undefined
      ? undefined
      : { ...renderedOutput("notebook", text, reading), ...facts, ...etag };
  });
}

function parseOrUndefined(text: string | undefined): unknown {
  try {
    return text === undefined ? undefined : JSON.parse(text);
  } catch {
    return undefined;
  }
}

/** A rendered text, cut to the budget. */
export function renderedOutput<Kind extends "notebook" | "pdf">(
  rendered: Kind,
  text: string,
  { mostCut, mostLines }: Reading,
) {
  const bytes = Buffer.from(text);
  const { end, by } = cutLines(bytes, { codec: UTF8, maxBytes: mostCut, maxLines: mostLines, isLast: true });
  const cut = by === undefined ? {} : { truncated: true, complete: false, reason: by };
  return { content: bytes.toString("utf8", 0, end), encoding: UTF8.name, rendered, ...cut };
}
