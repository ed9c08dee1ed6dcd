// Jupyter notebooks (nbformat 4) as text for models: cells with their sources and text outputs, without the JSON around
// them and without pictures.

import type { JsonObject } from "../../core/ports/adapter.js";
import { isObject } from "../../core/unknown.js";

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
