// The answer of `grep` as text for models.

import { unitText } from "../../core/call/documents.js";
import { escapeText } from "../../core/errors/texts.js";
import type { Rendering } from "../../core/ports/adapter.js";
import type { GrepOutput } from "../../schema/types.js";
import { searchNote } from "./search.js";

/** Each path once, then its lines: matches as `12:text`, context as `13-text`, `--` between separate groups. */
export function renderGrep(output: GrepOutput): Rendering {
  const { matches, paths, counts, ...rest } = output;
  const lines = [
    ...(paths ?? []).map(escapeText),
    ...(counts ?? []).map(({ path, count }) => `${escapeText(path)}:${count}`),
    ...linesOf(matches ?? []),
  ];
  const given = (matches ?? paths ?? counts ?? []).length;
  const note = searchNote(output, { given, files: output.filesScanned });
  const text = lines.map((line) => `${line}\n`).join("");
  return { kind: "text", text, rest, ...(note === undefined ? {} : { note }) };
}

type Match = NonNullable<GrepOutput["matches"]>[number];

function* linesOf(matches: readonly Match[]): Generator<string> {
  let path: string | undefined;
  let unit = "";
  let last = 0;
  for (const match of matches) {
    const { line, before = [], after = [] } = match;
    const isNew = match.path !== path;
    if (isNew) yield escapeText(match.path);
    path = match.path;
    const inUnit = unitText(match);
    if (inUnit !== "" && (isNew || inUnit !== unit)) {
      yield `--- ${inUnit} ---`;
      last = 0;
    }
    unit = inUnit;
    const hasContext = before.length > 0 || after.length > 0;
    if (!isNew && hasContext && line - before.length > last + 1) yield "--";
    yield* linesAround(match);
    last = (match.endLine ?? line) + after.length;
  }
}

function* linesAround({ line, endLine = line, text, before = [], after = [], cut }: Match): Generator<string> {
  for (const [at, one] of before.entries()) yield `${line - before.length + at}-${escapeLine(one)}`;
  const found = endLine === line ? [text] : text.split("\n");
  const isLast = (at: number) => at === found.length - 1;
  for (const [at, one] of found.entries()) yield `${line + at}:${escapeLine(one)}${cut && isLast(at) ? " …" : ""}`;
  for (const [at, one] of after.entries()) yield `${endLine + 1 + at}-${escapeLine(one)}`;
}

/** The text of a single match, with its path. */
const textOfMatch = (match: Match): string => [...linesOf([match]), ""].join("\n");

/** Escapes control characters except tabs, which indent source code. */
const escapeLine = (text: string): string => text.split("\t").map(escapeText).join("\t");

/** Per context line, the text for models may be longer than JSON by its line number. */
const NUMBER_BYTES = 8;
const SHOWN_BY_NUMBER = /[\u007f-\u009f\u061c\u200e\u200f\u2028-\u202e\u2066-\u2069]/;

/** Size of a match in the larger of its two forms: JSON, and text with some characters escaped by their code points. */
export function bytesOfMatch(match: Match): number {
  const json = JSON.stringify(match);
  const { before = [], after = [] } = match;
  const bytes = Buffer.byteLength(json) + 1 + NUMBER_BYTES * (before.length + after.length);
  return SHOWN_BY_NUMBER.test(json) ? Math.max(bytes, Buffer.byteLength(textOfMatch(match))) : bytes;
}
