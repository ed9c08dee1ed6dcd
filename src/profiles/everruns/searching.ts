// The 0.50 tools that search: `glob`, `grep` and `grep_files`.

import type { JsonObject } from "../../core/ports/adapter.js";
import { findLines, type LineMatch, type LineWish } from "./files.js";
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

const order = (left: string, right: string): number => (left < right ? -1 : Number(left > right));

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

export async function searchFiles(wish: SearchWish, call: SessionCall): Promise<JsonObject> {
  const { tool, path, pattern, before, after, offset, limit } = wish;
  const all = await findLines(path, wish, call);
  const wanted = all.slice(offset, offset + limit);
  const { items, bytes, taken, isTorn } = before + after === 0 ? flat(wanted) : blocksOf(wanted, wish, all);
  const end = offset + taken;
  const reason = isTorn || taken < wanted.length ? ("size_cap" as const) : ("line_cap" as const);
  const next = end < all.length && taken > 0 ? { tool, offset: end, item: "match" as const } : undefined;
  return {
    ...{ pattern, match_count: taken, total_matches: all.length, offset, limit },
    ...(before + after === 0 ? { matches: items } : { blocks: items }),
    truncation: truncationOf(bytes, next !== undefined || isTorn ? { reason, next } : undefined),
  };
}

/** The items of an answer within its bytes. */
interface Filled {
  readonly items: readonly object[];
  readonly bytes: number;
  /** Matches among them. */
  readonly taken: number;
  /** The first line did not fit. */
  readonly isTorn: boolean;
}

const bytesOf = (value: unknown): number => Buffer.byteLength(JSON.stringify(value)) + 1;

function flat(wanted: readonly LineMatch[]): Filled {
  const items: object[] = [];
  let bytes = 0;
  for (const { path, line_number, line } of wanted) {
    const item = { path, line_number, line };
    const size = bytesOf(item);
    if (bytes + size <= MAX_BYTES) {
      items.push(item);
      bytes += size;
    } else if (items.length > 0) break;
    else {
      const torn = { ...item, line: fitting(line, MAX_BYTES - bytesOf({ ...item, line: "" })) };
      return { items: [torn], bytes: bytesOf(torn), taken: 1, isTorn: true };
    }
  }
  return { items, bytes, taken: items.length, isTorn: false };
}

/** The beginning of a line that takes at most so many bytes as JSON. */
function fitting(line: string, most: number): string {
  let text = clip(line, most);
  while (bytesOf(text) - 3 > most) text = clip(text, Math.floor(Buffer.byteLength(text) / 2));
  return text;
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
    const { block, added, size } = growth(match, blocks.at(-1), {
      ...around,
      texts: texts.get(match.path) ?? new Map(),
    });
    if (bytes + size > MAX_BYTES) {
      if (taken > 0) break;
      const torn = tornBlock(match);
      return { items: [torn], bytes: bytesOf(torn), taken: 1, isTorn: true };
    }
    if (block !== blocks.at(-1)) blocks.push(block);
    block.lines.push(...added);
    block.end_line += added.length;
    block.match_line_numbers.push(match.line_number);
    const own = block.lines[match.line_number - block.start_line];
    if (own !== undefined) own.is_match = true;
    bytes += size;
    taken++;
  }
  return { items: blocks, bytes, taken, isTorn: false };
}

/** Lines of the files of some matches, by path and number. */
function textsOf(
  wanted: readonly LineMatch[],
  all: readonly LineMatch[],
): ReadonlyMap<string, ReadonlyMap<number, string>> {
  const texts = new Map(wanted.map(({ path }) => [path, new Map<number, string>()]));
  for (const { path, line_number: at, line, before, after } of all) {
    const lines = texts.get(path);
    if (lines === undefined) continue;
    for (const [index, text] of [...before, line, ...after].entries()) lines.set(at - before.length + index, text);
  }
  return texts;
}

/** The block that a match belongs to, the lines that it adds, and their bytes. */
function growth(
  { path, line_number: at }: LineMatch,
  last: Block | undefined,
  { before, after, texts }: Around & { readonly texts: ReadonlyMap<number, string> },
): { readonly block: Block; readonly added: readonly ShownLine[]; readonly size: number } {
  const start = Math.max(1, at - before);
  const isJoined = last?.path === path && start <= last.end_line + 1;
  const block = isJoined ? last : { path, start_line: start, end_line: start - 1, match_line_numbers: [], lines: [] };
  const added: ShownLine[] = [];
  for (let number = block.end_line + 1; number <= at + after; number++) {
    const line = texts.get(number);
    if (line === undefined) break;
    added.push({ line_number: number, line, is_match: false });
  }
  const frame = isJoined ? 0 : bytesOf({ ...block, end_line: Number.MAX_SAFE_INTEGER });
  return { block, added, size: frame + bytesOf(at) + added.reduce((sum, line) => sum + bytesOf(line), 0) };
}

/** A line that alone does not fit. */
function tornBlock({ path, line_number: at, line }: LineMatch): Block {
  const block = { path, start_line: at, end_line: at, match_line_numbers: [at] };
  const shown = { line_number: at, line: "", is_match: true };
  const most = MAX_BYTES - bytesOf({ ...block, lines: [shown] });
  return { ...block, lines: [{ ...shown, line: fitting(line, most) }] };
}
