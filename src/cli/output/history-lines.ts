// Lines about recorded changes, for people.

import { escapeText } from "../../core/errors/texts.js";
import { counted } from "../../core/errors/wording.js";
import { humanSize } from "../../ops/content/human-size.js";
import type { FileOutputs } from "../../schema/types.js";
import type { Paint } from "./paint.js";
import { table } from "./table.js";
import { timeText } from "./time.js";

export type Change = FileOutputs["file:history"]["entries"][number];

/** The name of an actor, for people; escaped. */
export type NameOf = (actor: string) => string;

/** How lines of a history are shown. */
interface LineStyle {
  readonly nameOf: NameOf;
  readonly paint: Paint;
  /** Characters of the terminal; where a line would be longer, each goes on in a second one after the id. */
  readonly width?: number | undefined;
}

/** One line for each change: time, id, who, what, size before and after, where. */
export function historyLines(entries: readonly Change[], { nameOf, paint, width = Infinity }: LineStyle): string {
  if (entries.length === 0) return "";
  const rows = entries.map((entry) => [
    timeText(entry.time),
    escapeText(entry.id),
    `${nameOf(entry.actor)} ${escapeText(entry.surface)}`,
    entry.undoes === undefined ? escapeText(entry.op) : "undo",
    sizeText(entry),
    pathText(entry) + remark(entry),
  ]);
  const lines = linesOf(rows);
  const shown = lines.every(({ length }) => length <= width)
    ? lines
    : linesOf(rows.map((row) => row.slice(2))).map(
        (rest, index) => `${rows[index]?.slice(0, 2).join("  ")}\n  ${rest}`,
      );
  return shown.map((line, index) => `${coloured(line, entries[index], paint)}\n`).join("");
}

const linesOf = (rows: readonly (readonly string[])[]): string[] =>
  table(rows)
    .split("\n")
    .map((line) => line.slice(2));

/** Paths and action of an entry, on one line. */
export const changeText = (entry: Change, nameOf: NameOf): string =>
  `${timeText(entry.time)}  ${nameOf(entry.actor)}  ${escapeText(entry.op)}  ${pathText(entry)}`;

const pathText = ({ root, path, from, fromRoot }: Change): string =>
  from === undefined
    ? escapeText(`${root}:${path}`)
    : `${escapeText(`${fromRoot ?? root}:${from}`)} -> ${escapeText(`${root}:${path}`)}`;

function sizeText({ kind, before, after, files, from }: Change): string {
  if (kind !== "file") return files === undefined ? kind : counted(files, "file");
  if (from !== undefined && after !== null) return humanSize(after.size);
  if (before === null) return after === null ? "" : `new ${humanSize(after.size)}`;
  return after === null ? `was ${humanSize(before.size)}` : `${humanSize(before.size)} > ${humanSize(after.size)}`;
}

function remark({ undoneBy, undoable, reason, mayInclude }: Change): string {
  if (undoneBy !== undefined) return "  (undone)";
  const parts = [
    ...(undoable ? [] : [`cannot be undone: ${escapeText(reason ?? "not kept")}`]),
    ...(mayInclude ? ["or others"] : []),
  ];
  return parts.length === 0 ? "" : `  (${parts.join("; ")})`;
}

function coloured(line: string, entry: Change | undefined, paint: Paint): string {
  if (entry === undefined) return line;
  const id = escapeText(entry.id);
  const at = line.indexOf(id);
  const tail = line.slice(at + id.length);
  const what = entry.before === null ? "added" : entry.after === null ? "removed" : undefined;
  return `${line.slice(0, at)}${paint(id, "place")}${what === undefined ? tail : paint(tail, what)}`;
}
