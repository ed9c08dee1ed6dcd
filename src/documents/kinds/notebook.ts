// Jupyter notebooks (nbformat 3 and 4): cells with their sources and text outputs, without pictures.

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
  if (!isObject(value) || typeof value["nbformat"] !== "number") return undefined;
  // nbformat 3 has cells in worksheets.
  const holders = Array.isArray(value["cells"]) ? [value] : listOf(value["worksheets"]);
  const lists = holders.filter(isObject).filter(({ cells }) => Array.isArray(cells));
  if (lists.length === 0) return undefined;
  const cells = lists.flatMap((list) => listOf(list["cells"]));
  return cells.filter(isObject).flatMap((cell, index) => [...partsOf(cell, index)]);
}

function* partsOf(cell: Fields, index: number): Generator<NotebookPart> {
  const kind = typeof cell["cell_type"] === "string" ? cell["cell_type"] : "cell";
  yield { title: `\n[${index + 1}] ${kind}`, text: withoutEnd(textOf(cell["source"] ?? cell["input"])) };
  for (const output of listOf(cell["outputs"]).filter(isObject)) {
    const text = outputText(output);
    if (text !== "") yield { title: "--- output", text: withoutEnd(text) };
  }
}

const listOf = (value: unknown): readonly unknown[] => (Array.isArray(value) ? value : []);

export const withoutEnd = (text: string): string => text.replace(/\n$/, "");

/** nbformat keeps texts as a string or as a list of lines. */
function textOf(value: unknown): string {
  if (typeof value === "string") return value;
  return Array.isArray(value) ? value.filter((line) => typeof line === "string").join("") : "";
}

/** Pictures in an output of nbformat 3, beside its text. */
const PICTURES = ["png", "jpeg", "svg"] as const;

function outputText(output: Fields): string {
  const { traceback, ename, evalue, data } = output;
  const lines = listOf(traceback).filter((line) => typeof line === "string");
  if (lines.length > 0) return lines.join("\n").replace(ANSI, "");
  if (typeof ename === "string") return `${ename}: ${typeof evalue === "string" ? evalue : ""}`;
  const plain = textOf(isObject(data) ? data["text/plain"] : output["text"]).replace(ANSI, "");
  const others = isObject(data)
    ? Object.keys(data).filter((type) => !type.startsWith("text/"))
    : PICTURES.filter((name) => output[name] !== undefined);
  return [...(plain === "" ? [] : [plain]), ...others.map((type) => `[${type} not shown]`)].join("\n");
}
