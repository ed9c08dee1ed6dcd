// The 0.50 tools that search: `glob`, `grep` and `grep_files`.

import type { JsonObject } from "../../core/ports/adapter.js";
import { findLines, type LineMatch, type LineWish, order } from "./files.js";
import type { SessionCall } from "./session-call.js";
import { compileGlob } from "./session-path.js";
import { clip, truncationOf } from "./windows.js";

/** Most entries that `glob` looks at. */
const MAX_VISITED = 10_000;
/** Most paths that one operation answers. */
const MAX_FOUND = 5000;

/** Files alone, by path. */
export async function globFiles(pattern: string, limit: number, { root, paths }: SessionCall): Promise<JsonObject> {
  const { text } = compileGlob(pattern, paths.prefix, "Invalid glob");
  const wishes = { terms: { maxVisited: MAX_VISITED } };
  const found = await root.invoke("file:glob", { path: "/", pattern: text, limit: MAX_FOUND }, wishes);
  const all = found.paths.map((path) => paths.show(`/${path}`)).toSorted(order);
  return { paths: all.slice(0, limit), truncated: !found.complete || all.length > limit };
}

/** Arguments of a search of lines. */
export interface SearchWish extends LineWish {
  readonly tool: string;
  /** Session path that is searched. */
  readonly path: string;
  readonly offset: number;
  readonly limit: number;
}

/** Most bytes of matches or blocks as JSON. */
const MAX_BYTES = 65_536;
/** Most bytes of a line as JSON. */
const MAX_LINE_BYTES = 60_000;
/** Most bytes of a UTF-16 unit as JSON. */
const MAX_ESCAPED = 6;

export async function searchFiles(wish: SearchWish, call: SessionCall): Promise<JsonObject> {
  const { tool, path, pattern, before, after, offset, limit } = wish;
  const all = await findLines(path, wish, call);
  const wanted = all.slice(offset, offset + limit);
  const hasContext = before + after > 0;
  const { items, bytes, taken } = hasContext ? blocksOf(wanted, wish, all) : flat(wanted);
  const end = offset + taken;
  const isShort = taken < wanted.length || wanted.slice(0, taken).some(({ line }) => line !== shown(line));
  const next = end < all.length && taken > 0 ? { tool, offset: end, item: "match" as const } : undefined;
  const reason = isShort ? ("size_cap" as const) : ("line_cap" as const);
  return {
    ...{ pattern, match_count: taken, total_matches: all.length, offset, limit },
    [hasContext ? "blocks" : "matches"]: items,
    truncation: truncationOf(bytes, next !== undefined || isShort ? { reason, next } : undefined),
  };
}

/** The items of an answer within its bytes. */
interface Filled {
  readonly items: readonly object[];
  readonly bytes: number;
  /** Matches among them. */
  readonly taken: number;
}

const bytesOf = (value: unknown): number => Buffer.byteLength(JSON.stringify(value)) + 1;

/** A line as it is shown: one alone fits into an answer, with its path. */
function shown(line: string): string {
  let text = line.length * MAX_ESCAPED < MAX_LINE_BYTES ? line : clip(line, MAX_LINE_BYTES);
  while (text.length * MAX_ESCAPED >= MAX_LINE_BYTES && bytesOf(text) > MAX_LINE_BYTES) {
    text = clip(text, Math.floor(Buffer.byteLength(text) / 2));
  }
  return text;
}

function flat(wanted: readonly LineMatch[]): Filled {
  const items: object[] = [];
  let bytes = 0;
  for (const { path, line_number, line } of wanted) {
    const item = { path, line_number, line: shown(line) };
    const size = bytesOf(item);
    if (bytes + size > MAX_BYTES) break;
    items.push(item);
    bytes += size;
  }
  return { items, bytes, taken: items.length };
}

interface ShownLine {
  readonly line_number: number;
  readonly line: string;
  is_match: boolean;
}

/** Lines around matches; those of ranges that touch are one block. */
interface Block {
  readonly path: string;
  readonly start_line: number;
  end_line: number;
  readonly match_line_numbers: number[];
  readonly lines: ShownLine[];
}

type Around = Pick<SearchWish, "before" | "after">;

/** @param all every match: the context of one may hold lines that are told with its neighbours */
function blocksOf(wanted: readonly LineMatch[], around: Around, all: readonly LineMatch[]): Filled {
  const texts = textsOf(wanted, all);
  const blocks: Block[] = [];
  let bytes = 0;
  let taken = 0;
  for (const match of wanted) {
    const lines = texts.get(match.path) ?? new Map();
    let grown = growth(match, blocks.at(-1), { ...around, lines });
    // The first match is there even where what is around it is not.
    if (grown.size > MAX_BYTES && taken === 0) grown = growth(match, undefined, { before: 0, after: 0, lines });
    const { block, added, size } = grown;
    if (bytes + size > MAX_BYTES) break;
    if (block !== blocks.at(-1)) blocks.push(block);
    block.lines.push(...added);
    block.end_line += added.length;
    block.match_line_numbers.push(match.line_number);
    const own = block.lines[match.line_number - block.start_line];
    if (own !== undefined) own.is_match = true;
    bytes += size;
    taken++;
  }
  return { items: blocks, bytes, taken };
}

/** Lines of the files of some matches, by path and number. */
function textsOf(wanted: readonly LineMatch[], all: readonly LineMatch[]): ReadonlyMap<string, Map<number, string>> {
  const texts = new Map(wanted.map(({ path }) => [path, new Map<number, string>()]));
  for (const { path, line_number: at, line, before, after } of all) {
    for (const [index, text] of [...before, line, ...after].entries()) {
      texts.get(path)?.set(at - before.length + index, text);
    }
  }
  return texts;
}

/** The block that a match belongs to, the lines that it adds, and their bytes. */
function growth(
  { path, line_number: at }: LineMatch,
  last: Block | undefined,
  { before, after, lines }: Around & { readonly lines: ReadonlyMap<number, string> },
): { readonly block: Block; readonly added: readonly ShownLine[]; readonly size: number } {
  const start = Math.max(1, at - before);
  const isJoined = last?.path === path && start <= last.end_line + 1;
  const block = isJoined ? last : { path, start_line: start, end_line: start - 1, match_line_numbers: [], lines: [] };
  const added: ShownLine[] = [];
  for (let number = block.end_line + 1; number <= at + after && lines.has(number); number++) {
    added.push({ line_number: number, line: shown(lines.get(number) ?? ""), is_match: false });
  }
  const frame = isJoined ? 0 : bytesOf({ ...block, end_line: Number.MAX_SAFE_INTEGER });
  return { block, added, size: frame + bytesOf(at) + added.reduce((sum, line) => sum + bytesOf(line), 0) };
}
