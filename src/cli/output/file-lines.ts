// Formats directory entries, trees, metadata and diffs for a terminal.

import { escapeText } from "../../core/errors/texts.js";
import type { Paint } from "./paint.js";
import { table } from "./table.js";
import { timeText } from "./time.js";

/** A directory entry for display. */
export interface ShownEntry {
  readonly name: string;
  readonly type: string;
  readonly size: number;
  /** Milliseconds since the epoch. */
  readonly modified: number;
}

const GAP = 2;
const LETTERS: Readonly<Record<string, string>> = { directory: "d", symlink: "l", file: "-" };

const shownName = ({ name, type }: ShownEntry, paint: Paint): string => {
  const text = escapeText(name);
  if (type === "directory") return paint(text, "directory");
  return type === "symlink" ? paint(text, "link") : text;
};

/** One name per line. */
export const nameLines = (entries: readonly ShownEntry[], paint: Paint): string =>
  entries.map((entry) => `${shownName(entry, paint)}\n`).join("");

/** Type, size and time before each name. */
export function longLines(
  entries: readonly ShownEntry[],
  paint: Paint,
  sizeText: (bytes: number) => string = String,
): string {
  if (entries.length === 0) return "";
  const widest = Math.max(...entries.map(({ size }) => sizeText(size).length));
  return entries
    .map((entry) => {
      const { type, size, modified } = entry;
      const time = timeText(modified).slice(0, 16);
      return `${LETTERS[type] ?? "?"} ${sizeText(size).padStart(widest)} ${time} ${shownName(entry, paint)}\n`;
    })
    .join("");
}

/** Names in as many columns as fit, read downwards. @param width of the terminal, in characters */
export function columnLines(entries: readonly ShownEntry[], width: number, paint: Paint): string {
  if (entries.length === 0) return "";
  const column = Math.max(...entries.map(({ name }) => [...escapeText(name)].length)) + GAP;
  const columns = Math.max(1, Math.floor((width + GAP) / column));
  const rows = Math.ceil(entries.length / columns);
  const line = (row: number): string => {
    const cells = entries.filter((_, index) => index % rows === row);
    const last = cells.length - 1;
    return cells
      .map((entry, index) => {
        const gap = index === last ? 0 : column - [...escapeText(entry.name)].length;
        return shownName(entry, paint) + " ".repeat(gap);
      })
      .join("");
  };
  return Array.from({ length: rows }, (_, row) => `${line(row)}\n`).join("");
}

/**
 * Colours a unified diff. For a terminal, characters of its content that would control it are shown by their code points;
 * in a pipe it stays the diff that `patch` reads.
 */
export function diffLines(diff: string, { paint, isTerminal }: { paint: Paint; isTerminal: boolean }): string {
  const shown = isTerminal ? diff.replace(/[^\t\n\r]+|\r(?!\n)/g, escapeText) : diff;
  return shown.replace(/^([-+@]).*$/gm, (line, first: string) => {
    if (/^(---|\+\+\+) /.test(line)) return line;
    return paint(line, first === "+" ? "added" : first === "-" ? "removed" : "hunk");
  });
}

/** Colours the directories of a tree. */
export const treeLines = (tree: string, paint: Paint): string =>
  tree.replace(/^(\t*)(.*\/)$/gm, (_, indent: string, name: string) => indent + paint(name, "directory"));

/** Key-value pairs, one per line. */
export const factLines = (facts: readonly (readonly [string, string])[]): string =>
  `${table(facts.map(([name, value]) => [name, escapeText(value)]))}\n`;
