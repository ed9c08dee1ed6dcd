// Edits the source of one cell of a notebook in its JSON text, and leaves the rest of the text as it is.

import { adapterError, type FileAdapterError } from "../../core/errors/errors.js";
import { briefPath, type Place, at as placeAt } from "../../core/errors/texts.js";
import type { FileCall } from "../../core/ports/operation.js";
import { isQuicklyParsed, stringEnd } from "../../schema/exact-json.js";
import type { Edit, Replacement } from "./match.js";
import { type Original, textAfter } from "./original.js";
import { planOf } from "./plan.js";
import { sharedLines } from "./text-search.js";
import { splitLines } from "./unified-diff.js";

/** Most pairs of lines compared to find those that stay as they are written. */
const MAX_PAIRS = 1_000_000;

interface Range {
  readonly start: number;
  readonly end: number;
}

/** The source of a cell: a string, or a list of strings, as nbformat has it. */
interface Source extends Range {
  /** The strings in their JSON form, and where each is. */
  readonly parts: readonly (Range & { readonly text: string })[];
  readonly isList: boolean;
}

/** @param cell 1-based @throws NO_MATCH, AMBIGUOUS_MATCH, OVERLAPPING_EDITS, TOO_LARGE */
export async function planCell(
  edits: readonly Edit[],
  original: Original,
  { call, mayRead, cell }: { call: FileCall; mayRead: boolean; cell: number },
): Promise<{ plan: readonly Replacement[]; applied: number }> {
  const { text: whole, form } = original;
  const { place } = call.access;
  // As in reads, which show no cells of others.
  const cells = isQuicklyParsed(whole) ? cellsIn(whole) : undefined;
  const at = cells?.[cell - 1];
  if (at === undefined) throw noSuchCell(place, cell, cells?.length);
  const source = sourceIn(whole, at);
  if (source === undefined) throw noSuchCell(place, cell, undefined);
  const text = source.parts.map((one) => one.text).join("");
  const inside = { ...original, text, form: { ...form, bom: false } };
  const planned = await planOf(edits, inside, { call, mayRead });
  const changed = textAfter(inside, planned, call);
  const put = source.isList ? listOf(changed, source, whole) : JSON.stringify(changed);
  return { plan: [{ start: source.start, end: source.end, text: put }], applied: planned.length };
}

/** @param cells that there are, if the caller may know; `undefined`: the file is no notebook */
const noSuchCell = (place: Place, cell: number, cells: number | undefined): FileAdapterError =>
  adapterError(
    "NO_MATCH",
    cells === undefined
      ? "File is no notebook with cells. Leave out cell"
      : `"${briefPath(place)}" has no cell ${cell}, but ${cells}, from 1`,
    placeAt(place),
  );

function cellsIn(text: string): readonly Range[] | undefined {
  const top = { start: skipSpace(text, 0), end: text.length };
  const listIn = (holder: Range): Range[] => {
    const cells = member(text, holder, "cells");
    return cells === undefined || text[cells.start] !== "[" ? [] : [cells];
  };
  const [own] = listIn(top);
  // nbformat 3 has cells in worksheets.
  const sheets = own === undefined ? member(text, top, "worksheets") : undefined;
  const lists = own === undefined ? [...(sheets ? items(text, sheets) : [])].flatMap(listIn) : [own];
  if (lists.length === 0) return undefined;
  return lists.flatMap((cells) => [...items(text, cells)]).filter(({ start }) => text[start] === "{");
}

function sourceIn(text: string, cell: Range): Source | undefined {
  const source = member(text, cell, "source") ?? member(text, cell, "input");
  if (source === undefined) return undefined;
  const isList = text[source.start] === "[";
  const ranges = isList ? [...items(text, source)] : [source];
  const parts = ranges.map((range) => ({ ...range, text: stringAt(text, range) }));
  return parts.every((one): one is Range & { text: string } => one.text !== undefined)
    ? { ...source, parts, isList }
    : undefined;
}

/** The list of the lines; those that it had before are written as they were, and it is laid out in the same way. */
function listOf(changed: string, { start, end, parts }: Source, text: string): string {
  const lines = splitLines(changed);
  const [first, second] = parts;
  if (lines.length === 0) return "[]";
  const [opening, closing] =
    first === undefined
      ? layoutAt(start, text)
      : [text.slice(start + 1, first.start), text.slice(parts.at(-1)?.end, end - 1)];
  const between =
    first === undefined || second === undefined ? `,${opening || " "}` : text.slice(first.end, second.start);
  const written = lines.map((line) => JSON.stringify(line));
  const olds = parts.map((one) => one.text);
  for (const [old, next] of sharedLines(olds, lines, MAX_PAIRS)) {
    written[next] = text.slice(parts[old]?.start, parts[old]?.end);
  }
  return `[${opening}${written.join(between)}${closing}]`;
}

/** The white space in a list that is empty, as nbformat has it: one more than in its line. */
function layoutAt(start: number, text: string): [string, string] {
  const line = text.lastIndexOf("\n", start) + 1;
  if (line === 0) return ["", ""];
  const indent = /^[ \t]*/.exec(text.slice(line, start))?.[0] ?? "";
  return [`\n${indent} `, `\n${indent}`];
}

// Finds values in JSON text.

const STRUCTURE = /["{}[\]]/g;
const SCALAR = /[^\s,\]}]*/y;

function stringAt(text: string, { start, end }: Range): string | undefined {
  try {
    const value: unknown = JSON.parse(text.slice(start, end));
    return typeof value === "string" ? value : undefined;
  } catch {
    return undefined;
  }
}

/** The value of a member of an object; of several with one name the last, as parsers have it. */
function member(text: string, object: Range, name: string): Range | undefined {
  if (text[object.start] !== "{") return undefined;
  let found: Range | undefined;
  for (const key of items(text, object)) {
    const colon = skipSpace(text, key.end);
    if (text[colon] !== ":") return undefined;
    const start = skipSpace(text, colon + 1);
    if (stringAt(text, key) === name) found = { start, end: valueEnd(text, start) };
  }
  return found;
}

/** The values of a list, or the names of an object. */
function* items(text: string, { start: open, end }: Range): Generator<Range> {
  const isObject = text[open] === "{";
  for (let at = skipSpace(text, open + 1); at < end && text[at] !== "]" && text[at] !== "}"; ) {
    const item = { start: at, end: valueEnd(text, at) };
    if (item.end === at) return;
    yield item;
    at = skipSpace(text, item.end);
    if (isObject && text[at] === ":") at = skipSpace(text, valueEnd(text, skipSpace(text, at + 1)));
    if (text[at] !== ",") return;
    at = skipSpace(text, at + 1);
  }
}

/** End of the value that starts at `start`; the end of the text if it has none. */
function valueEnd(text: string, start: number): number {
  const first = text[start];
  if (first === '"') return stringEnd(text, start) ?? text.length;
  if (first !== "{" && first !== "[") {
    SCALAR.lastIndex = start;
    return start + (SCALAR.exec(text)?.[0].length ?? 0);
  }
  let depth = 0;
  for (let at = start; at < text.length; ) {
    STRUCTURE.lastIndex = at;
    const found = STRUCTURE.exec(text);
    if (found === null) break;
    at = found[0] === '"' ? (stringEnd(text, found.index) ?? text.length) : found.index + 1;
    if (found[0] === "{" || found[0] === "[") depth++;
    if (found[0] === "}" || found[0] === "]") depth--;
    if (depth === 0) return at;
  }
  return text.length;
}

function skipSpace(text: string, from: number): number {
  let at = from;
  while (text[at] === " " || text[at] === "\n" || text[at] === "\r" || text[at] === "\t" || text[at] === "\ufeff") at++;
  return at;
}
