// Jupyter notebooks (nbformat 4) as text for models: cells with their sources and text outputs, without the JSON around
// them and without pictures.

import type { JsonObject } from "../../core/ports/adapter.js";
import { isObject } from "../../core/unknown.js";
import { cutLines } from "../content/cut-to-budget.js";
import { UTF8 } from "../content/encoding.js";
import { fairShares } from "../searching/fair-shares.js";

/** First line of a rendered file: what is shown is not what an edit matches. */
const RENDERED = "rendered; edit one with cell: N";

/** Bytes of the line that says how much of a part is left out. */
const MARK_BYTES = 24;
/** Least that is shown of each part: with less of many, none could be read. */
const LEAST_BYTES = 80;

// Terminal colours in tracebacks.
const ANSI = /\u001b\[[0-9;]*[A-Za-z]/g;

/** A source or an output, with the line above it. */
interface Part {
  readonly title: string;
  readonly text: string;
}

/** A notebook as text. */
export interface NotebookText {
  readonly text: string;
  /** Bytes of the text if nothing was left out of its parts. */
  readonly wholeBytes: number;
}

/** The text of a notebook: whole, or fair shares of its parts. `undefined`: the value is none. */
export function notebookText(value: unknown, maxBytes: number): NotebookText | undefined {
  if (!isObject(value) || !Array.isArray(value["cells"]) || typeof value["nbformat"] !== "number") return undefined;
  const cells: unknown[] = value["cells"];
  const parts = cells.filter(isObject).flatMap((cell, index) => [...partsOf(cell, index)]);
  const whole = textOfParts(parts);
  const wholeBytes = Buffer.byteLength(whole);
  if (wholeBytes <= maxBytes) return { text: whole, wholeBytes };
  const sizes = parts.map(({ text }) => Buffer.byteLength(text));
  const titles = wholeBytes - sizes.reduce((sum, size) => sum + size, 0);
  const shares = fairShares(sizes, Math.max(0, maxBytes - titles - MARK_BYTES * parts.length));
  return {
    text: textOfParts(parts.map((part, index) => cutPart(part, Math.max(LEAST_BYTES, shares[index] ?? 0)))),
    wholeBytes,
  };
}

const textOfParts = (parts: readonly Part[]): string =>
  `${[RENDERED, ...parts.flatMap(({ title, text }) => (text === "" ? [title] : [title, text]))].join("\n")}\n`;

function* partsOf(cell: JsonObject, index: number): Generator<Part> {
  const kind = typeof cell["cell_type"] === "string" ? cell["cell_type"] : "cell";
  yield { title: `\n[${index + 1}] ${kind}`, text: withoutEnd(textOf(cell["source"])) };
  const outputs: unknown[] = Array.isArray(cell["outputs"]) ? cell["outputs"] : [];
  for (const output of outputs.filter(isObject)) {
    const text = outputText(output);
    if (text !== "") yield { title: "--- output", text: withoutEnd(text) };
  }
}

function cutPart({ title, text }: Part, maxBytes: number): Part {
  const bytes = Buffer.from(text);
  if (bytes.length <= maxBytes + MARK_BYTES) return { title, text };
  const { end } = cutLines(bytes, { codec: UTF8, maxBytes, maxLines: Number.POSITIVE_INFINITY, isLast: true });
  return {
    title,
    text: `${withoutEnd(bytes.toString("utf8", 0, end))}\n… ${bytes.length - end} bytes more`.trimStart(),
  };
}

const withoutEnd = (text: string): string => text.replace(/\n$/, "");

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
