// Jupyter notebooks as text for models: cells with their sources and text outputs, without the JSON around
// them and without pictures.

import { type NotebookPart, notebookParts, withoutEnd } from "../../documents/kinds/notebook.js";
import { cutLines } from "../content/cut-to-budget.js";
import { UTF8 } from "../content/encoding.js";
import { fairShares } from "../searching/fair-shares.js";

/** First line of a rendered file: what is shown is not what an edit matches. */
const RENDERED = "rendered; edit one with cell: N";

/** Bytes of the line that says how much of a part is left out. */
const MARK_BYTES = 24;
/** Least that is shown of each part: with less of many, none could be read. */
const LEAST_BYTES = 80;

/** A notebook as text. */
export interface NotebookText {
  readonly text: string;
  /** Bytes of the text if nothing was left out of its parts. */
  readonly wholeBytes: number;
}

/** The text of a notebook: whole, or fair shares of its parts. `undefined`: the value is none. */
export function notebookText(value: unknown, maxBytes: number): NotebookText | undefined {
  const parts = notebookParts(value);
  if (parts === undefined) return undefined;
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

const textOfParts = (parts: readonly NotebookPart[]): string =>
  `${[RENDERED, ...parts.flatMap(({ title, text }) => (text === "" ? [title] : [title, text]))].join("\n")}\n`;

function cutPart({ title, text }: NotebookPart, maxBytes: number): NotebookPart {
  const bytes = Buffer.from(text);
  if (bytes.length <= maxBytes + MARK_BYTES) return { title, text };
  const { end } = cutLines(bytes, { codec: UTF8, maxBytes, maxLines: Number.POSITIVE_INFINITY, isLast: true });
  return {
    title,
    text: `${withoutEnd(bytes.toString("utf8", 0, end))}\n… ${bytes.length - end} bytes more`.trimStart(),
  };
}
