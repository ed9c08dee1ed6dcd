// Searches a large file in pieces of whole lines, in bounded memory.

import type { CallScope } from "../../core/call/scope.js";
import type { OpenFile } from "../../core/ports/open-file.js";
import type { FilePosition } from "../../search/cursor.js";
import { codecOf, searchableText, type TextCodec, UTF8 } from "../content/encoding.js";
import { characterEnd, countFeeds, lastLineEnd, lineEnd } from "../content/text.js";
import type { GrepAnswer } from "./grep-answer.js";
import type { FileScans } from "./grep-scans.js";

/** Bytes read at once; a line that is longer takes more, up to {@link MOST_BYTES}. */
const PIECE_BYTES = 4_194_304;
/** A longer line is searched in parts, each of which begins with the end of the one before. */
const MOST_BYTES = 33_554_432;
const OVERLAP_BYTES = 65_536;
/** Bytes in which lines around a piece are looked for. */
const AROUND_BYTES = 65_536;
const LINE_FEED = 0x0a;

export interface LargeFile {
  readonly path: readonly string[];
  readonly file: OpenFile;
  readonly afterLine: number;
  /** Where the last page ended. */
  readonly from: FilePosition | undefined;
  readonly encoding: string | undefined;
}

interface PieceSearch {
  readonly answer: GrepAnswer;
  readonly scans: FileScans;
  readonly scope: CallScope;
  readonly isOver: () => boolean;
  /** Lines shown around each match. */
  readonly around: { readonly before: number; readonly after: number };
}

/** Part of a file, with what is around it, as UTF-8. */
interface Piece {
  readonly bytes: Buffer;
  /** Lines before it that are context only. */
  readonly linesBefore: number;
  readonly lines: number;
  /** Lines ended by it. */
  readonly ends: number;
  readonly next: number;
}

/** Searches until the file ends, nothing more fits into the answer, or the time is over. */
export async function searchPieces(large: LargeFile, search: PieceSearch): Promise<void> {
  const { path, file } = large;
  const { answer, scans, scope, isOver } = search;
  const codec = codecOf(await file.read(0, 4), large.encoding) ?? UTF8;
  let at = await startOf(large, codec);
  let { afterLine } = large;
  let shown = afterLine === 0 ? 0 : afterLine + search.around.after;
  for (let isFirst = true; at.offset < file.size; isFirst = false) {
    if (!isFirst && isOver()) {
      answer.stopInFile(path);
      return;
    }
    scope.checkpoint();
    const piece = await readPiece(at, { large, codec, around: search.around });
    // The file became shorter while it is read.
    if (piece.next === at.offset) break;
    const first = at.lines - piece.linesBefore;
    const job = {
      ...answer.jobFor(piece.bytes, Math.max(piece.linesBefore, afterLine - first)),
      lastLine: piece.linesBefore + piece.lines,
      shown: Math.max(0, shown - first),
      form: at.offset === 0 ? undefined : ("text" as const),
    };
    const scan = await scans.one(job);
    if (scan === undefined) return answer.stopInFile(path);
    if (scan === "binary") return answer.leaveOut({ path, afterLine: 0 }, "binary");
    const lines = scan.lines.map(({ line, endLine: _, ...rest }) => ({ line: line + first, ...rest }));
    const last = lines.at(-1);
    if (last !== undefined) shown = last.line + (last.after?.length ?? 0);
    const isTorn = piece.ends < piece.lines;
    // A line in parts is told once.
    if (isTorn && scan.count > 0) afterLine = Math.max(afterLine, last?.line ?? at.lines + 1);
    const next = { offset: piece.next, lines: at.lines + piece.ends };
    if (!answer.addPiece({ path, isFirst, at, next }, { ...scan, lines })) return;
    at = next;
  }
  answer.endPieces(path);
}

/** Where reading begins. A place that is no line start any more is found again by counting from the start. */
async function startOf({ file, from, afterLine }: LargeFile, codec: TextCodec): Promise<FilePosition> {
  const start = { offset: 0, lines: 0 };
  if (from === undefined || from.offset < codec.unit || from.lines > afterLine) return start;
  const before = await file.read(from.offset - codec.unit, codec.unit);
  return lineEnd(before, 0, codec) === codec.unit ? from : start;
}

async function readPiece(
  { offset }: FilePosition,
  { large, codec, around }: { large: LargeFile; codec: TextCodec; around: PieceSearch["around"] },
): Promise<Piece> {
  const { file, encoding } = large;
  const from = around.before === 0 ? offset : Math.max(0, offset - AROUND_BYTES);
  const behind = around.after === 0 ? 0 : AROUND_BYTES;
  const lead = offset - from;
  for (let size = PIECE_BYTES; ; size *= 2) {
    const bytes = await file.read(from, lead + size + behind);
    const isLast = from + bytes.length >= file.size;
    const most = Math.min(bytes.length, lead + size);
    const whole = isLast && bytes.length <= most ? bytes.length : lastLineEnd(bytes, most, codec);
    const isTorn = whole <= lead;
    if (isTorn && size < MOST_BYTES && bytes.length > most) continue;
    const end = isTorn ? characterEnd(bytes, lead, { at: most, codec }) : whole;
    const convert = (part: Buffer): Buffer => (codec === UTF8 ? part : searchableText(part, encoding ?? codec.name));
    const [before, linesBefore] = linesEnding(bytes.subarray(0, lead), { codec, most: around.before, isCut: from > 0 });
    const piece = convert(bytes.subarray(lead, end));
    const ends = countFeeds(piece, UTF8);
    const isEnded = piece.at(-1) === LINE_FEED;
    const after = isTorn ? bytes.subarray(end, end) : linesStarting(bytes.subarray(end), codec, around.after);
    const isWhole = before.length + after.length === 0;
    return {
      bytes: isWhole ? piece : Buffer.concat([convert(before), piece, convert(after)]),
      ...{ linesBefore, ends, lines: isEnded ? ends : ends + 1 },
      next: from + end - (isTorn && !isLast ? overlapOf(end - lead, codec) : 0),
    };
  }
}

/** An even number of bytes that leaves some progress. */
const overlapOf = (length: number, { unit }: TextCodec): number =>
  Math.floor(Math.min(OVERLAP_BYTES, length / 2) / unit) * unit;

/** The last lines of some bytes, none if they end within a line. @param isCut whether the first line is a part */
function linesEnding(
  bytes: Buffer,
  { codec, most, isCut }: { codec: TextCodec; most: number; isCut: boolean },
): [Buffer, number] {
  let from = bytes.length;
  let lines = 0;
  if (lastLineEnd(bytes, from, codec) < from) return [bytes.subarray(from), 0];
  for (; lines < most && from > 0; lines++) {
    const start = lastLineEnd(bytes, from - codec.unit, codec);
    if (start === 0 && isCut) break;
    from = start;
  }
  return [bytes.subarray(from), lines];
}

function linesStarting(bytes: Buffer, codec: TextCodec, most: number): Buffer {
  let end = 0;
  for (let lines = 0; lines < most; lines++) {
    const next = lineEnd(bytes, end, codec);
    if (next < 0) return bytes;
    end = next;
  }
  return bytes.subarray(0, end);
}
