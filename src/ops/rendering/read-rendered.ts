// Reads files that models get in a form of their own: notebooks as cells. Everybody else gets them as they are.

import { type Awaitable, after } from "../../core/io.js";
import type { JsonObject } from "../../core/ports/adapter.js";
import type { ReadRange } from "../../core/ports/backend.js";
import { isObject } from "../../core/unknown.js";
import type { ReadOutput } from "../../schema/types.js";
import { holdAnswer } from "../content/answer-room.js";
import { cutLines } from "../content/cut-to-budget.js";
import { UTF8 } from "../content/encoding.js";
import { etagFor } from "../content/file-etag.js";
import { mimeAt } from "../content/read-piece.js";
import { type Reading, rangeOf } from "../content/reading.js";
import { textIn } from "../content/text.js";

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

// Jupyter notebooks (nbformat 4) as text for models: cells with their sources and text outputs, without the JSON around
// them and without pictures.

/** First line of a rendered file: what is shown is not what an edit matches. */
const RENDERED = 'rendered; edit with mode "text"';

// Terminal colours in tracebacks.
const ANSI = /\u001b\[[0-9;]*[A-Za-z]/g;

/** The text of a notebook. `undefined`: the value is none. */
export function notebookText(value: unknown): string | undefined {
  if (!isObject(value) || !Array.isArray(value["cells"]) || typeof value["nbformat"] !== "number") return undefined;
  const cells: unknown[] = value["cells"];
  return [RENDERED, ...cells.filter(isObject).flatMap((cell, index) => [...cellLines(cell, index)])]
    .join("\n")
    .concat("\n");
}

function* cellLines(cell: JsonObject, index: number): Generator<string> {
  const kind = typeof cell["cell_type"] === "string" ? cell["cell_type"] : "cell";
  yield "";
  yield `[${index + 1}] ${kind}`;
  yield* textLines(textOf(cell["source"]));
  const outputs: unknown[] = Array.isArray(cell["outputs"]) ? cell["outputs"] : [];
  for (const output of outputs.filter(isObject)) {
    const text = outputText(output);
    if (text === "") continue;
    yield "--- output";
    yield* textLines(text);
  }
}

function* textLines(text: string): Generator<string> {
  if (text !== "") yield text.replace(/\n$/, "");
}

/** nbformat keeps texts as a string or as a list of lines. */
function textOf(value: unknown): string {
  if (typeof value === "string") return value;
  return Array.isArray(value) ? value.filter((line) => typeof line === "string").join("") : "";
}

function outputText(output: JsonObject): string {
  const { text, traceback, ename, evalue, data } = output;
  if (text !== undefined) return textOf(text).replace(ANSI, "");
  if (Array.isArray(traceback) && traceback.length > 0) {
    return traceback
      .filter((line) => typeof line === "string")
      .join("\n")
      .replace(ANSI, "");
  }
  if (typeof ename === "string") return `${ename}: ${typeof evalue === "string" ? evalue : ""}`;
  if (!isObject(data)) return "";
  const plain = textOf(data["text/plain"]);
  const others = Object.keys(data).filter((type) => !type.startsWith("text/"));
  return [...(plain === "" ? [] : [plain.replace(ANSI, "")]), ...others.map((type) => `[${type} not shown]`)].join(
    "\n",
  );
}
