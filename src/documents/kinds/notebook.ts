// Jupyter notebooks (nbformat 4): cells with their sources and text outputs, without pictures.

import { isObject } from "../../core/unknown.js";
import { Unreadable } from "../ending.js";
import type { Flow } from "../flow.js";

// Terminal colours in tracebacks.
const ANSI = /\u001b\[[0-9;]*[A-Za-z]/g;

/** A source or an output, with the line above it. */
export interface NotebookPart {
  readonly title: string;
  readonly text: string;
}

type Fields = Readonly<Record<string, unknown>>;

/** @throws Unreadable, Ended */
export function readNotebook(data: Buffer, flow: Flow): void {
  const parts = notebookParts(parsed(data.toString("utf8")));
  if (parts === undefined) throw new Unreadable("damaged");
  for (const { title, text } of parts) flow.lines(`${title}\n${text}`);
}

function parsed(text: string): unknown {
  try {
    return JSON.parse(text);
  } catch {
    return undefined;
  }
}

/** The parts of a notebook in order. `undefined`: the value is none */
export function notebookParts(value: unknown): NotebookPart[] | undefined {
  if (!isObject(value) || !Array.isArray(value["cells"]) || typeof value["nbformat"] !== "number") return undefined;
  const cells: unknown[] = value["cells"];
  return cells.filter(isObject).flatMap((cell, index) => [...partsOf(cell, index)]);
}

function* partsOf(cell: Fields, index: number): Generator<NotebookPart> {
  const kind = typeof cell["cell_type"] === "string" ? cell["cell_type"] : "cell";
  yield { title: `\n[${index + 1}] ${kind}`, text: withoutEnd(textOf(cell["source"])) };
  const outputs: unknown[] = Array.isArray(cell["outputs"]) ? cell["outputs"] : [];
  for (const output of outputs.filter(isObject)) {
    const text = outputText(output);
    if (text !== "") yield { title: "--- output", text: withoutEnd(text) };
  }
}

export const withoutEnd = (text: string): string => text.replace(/\n$/, "");

/** nbformat keeps texts as a string or as a list of lines. */
function textOf(value: unknown): string {
  if (typeof value === "string") return value;
  return Array.isArray(value) ? value.filter((line) => typeof line === "string").join("") : "";
}

function outputText(output: Fields): string {
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
