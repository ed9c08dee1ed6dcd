// Collects the answer of a `grep` within its limits, and the position of the next page.

import type { HiddenKind, Incomplete } from "../../core/call/completeness.js";
import type { DocumentUnit } from "../../core/call/documents.js";
import type { Scan, ScanJob } from "../../core/call/scan.js";
import { type Place, tooMuchToSearch } from "../../core/errors/texts.js";
import type { GrepInput, GrepOutput } from "../../schema/types.js";
import { type Binding, type FilePosition, type Position, writeCursor } from "../../search/cursor.js";
import type { Sieve } from "../../search/entry-filter.js";
import { bytesOfMatch } from "./grep-text.js";
import { EXHAUSTED, type HiddenTexts, hintOf, largeText, linksText } from "./search.js";

/** A file passed to the scanner. */
export interface ScannedFile {
  readonly path: readonly string[];
  readonly afterLine: number;
  /** Size, once the file has been read. */
  readonly bytes?: number;
}

export interface AddedPiece {
  readonly path: readonly string[];
  readonly isFirst: boolean;
  readonly at: FilePosition;
  readonly next: FilePosition;
}

/** A part of a document. */
export interface DocumentPart {
  readonly unit: DocumentUnit | undefined;
  /** Lines of the parts before it. */
  readonly before: number;
}

const WHOLE: DocumentPart = { unit: undefined, before: 0 };
const USUAL_LIMIT = 200;
/** Most bytes of lines in one answer. */
const BUDGET = 65_536;

interface GrepAnswerParts {
  readonly sieve: Sieve;
  readonly binding: Binding;
  /** The terms of a profile, if any: all matches are returned, with whole lines. */
  readonly terms: { readonly maxTotalBytes: number } | undefined;
  readonly place: Place;
}

type Match = NonNullable<GrepOutput["matches"]>[number];

/** The job settings that are the same for every file. */
interface Wish extends Pick<ScanJob, "before" | "after" | "mostOfLine"> {
  readonly output: NonNullable<GrepInput["output"]>;
  readonly isLines: boolean;
}

function wishOf(
  { output = "lines", context = 0, before = context, after = context }: GrepInput,
  isWhole: boolean,
): Wish {
  const isLines = output === "lines";
  return { output, isLines, before, after, mostOfLine: isWhole ? Number.POSITIVE_INFINITY : undefined };
}

/** The matches found so far, in order; those that no longer fit are only counted. */
export class GrepAnswer {
  readonly #input: GrepInput;
  readonly #parts: GrepAnswerParts;
  readonly #wish: Wish;
  readonly #limit: number;
  readonly #matches: Match[] = [];
  readonly #counts: { path: string; count: number }[] = [];
  readonly #budget: number;
  #bytes = 0;
  /** Bytes of text that have been searched. */
  #searched = 0;
  /** Matches found so far, or files with a match; those of earlier pages included. */
  total: number;
  /** Files searched so far. */
  scanned = 0;
  /** Limit that left matches out. */
  #cut: "limit" | "bytes" | undefined;
  #stopped: Incomplete | undefined;
  /** Where the next page goes on: after the last returned item, or after the last finished file. */
  #done: Omit<Position, "counted"> | undefined;
  #isFull = false;
  /** The first file that was left out because it is too large. */
  #tooLarge: readonly string[] | undefined;
  /** Matches in earlier pieces of the current file, where those of whole files are told. */
  #inFile = 0;

  constructor(input: GrepInput, parts: GrepAnswerParts) {
    this.#input = input;
    this.#parts = parts;
    const isWhole = parts.terms !== undefined;
    this.#wish = wishOf(input, isWhole);
    this.#limit = isWhole ? Number.POSITIVE_INFINITY : (input.limit ?? USUAL_LIMIT);
    this.#budget = isWhole ? Number.POSITIVE_INFINITY : BUDGET;
    this.total = parts.sieve.resume?.counted ?? 0;
  }

  /** The scan job for the next file: at most as many lines as still fit into the answer. */
  jobFor(bytes: Uint8Array, afterLine: number): ScanJob {
    const { isLines, before, after, mostOfLine } = this.#wish;
    const most = isLines && !this.#isFull ? this.#limit - this.#matches.length : 0;
    const firstOnly = this.#wish.output === "files";
    // Runs for each file: spreading an object would take longer than reading a small file.
    const form = this.#parts.terms === undefined ? undefined : "strict";
    return {
      bytes,
      afterLine,
      lastLine: undefined,
      shown: undefined,
      form,
      most,
      mostChars: this.#budget,
      mostOfLine,
      before,
      after,
      firstOnly,
    };
  }

  /** Counts what was found before the time of the search was over. */
  stopInFile(path: readonly string[]): void {
    const done = this.#done;
    this.#addPieces(path);
    this.#done = done;
    this.stop("timeout");
  }

  /** Ends the search before all files have been scanned. */
  stop(reason: Incomplete): void {
    this.#stopped ??= reason;
  }

  leaveOut({ path }: ScannedFile, kind: HiddenKind): void {
    if (kind === "tooLarge") this.#tooLarge ??= path;
    this.#parts.sieve.hidden.add(kind);
    this.#finish(path);
  }

  /** @throws TOO_LARGE beyond the profile's `maxTotalBytes` */
  add(file: ScannedFile, scan: Scan): void {
    if (scan === "binary") {
      this.leaveOut(file, "binary");
      return;
    }
    this.#searched += file.bytes ?? 0;
    const { terms, place } = this.#parts;
    if (terms !== undefined && this.#searched > terms.maxTotalBytes) throw tooMuchToSearch(place, terms.maxTotalBytes);
    this.scanned++;
    if (this.#wish.isLines) this.#addLines(file, scan);
    else if (scan.count > 0) this.#addFile(file, scan.count);
    this.#finish(file.path);
  }

  /** @param at where a piece of a large file begins, `next` where it ends @returns whether more is wanted of the file */
  addPiece({ path, isFirst, at, next }: AddedPiece, scan: Exclude<Scan, "binary">): boolean {
    if (isFirst) this.scanned++;
    if (this.#wish.isLines) this.#addLines({ path, afterLine: 0 }, scan);
    else this.#inFile += scan.count;
    if (this.#isFull) {
      // To count the rest of it would take as long as the next pages.
      this.stop("limit");
      this.#done = { path, line: this.#done?.line ?? at.lines, at };
      return false;
    }
    // A line that goes on in the next piece may have been told.
    this.#done = { path, line: Math.max(next.lines, this.#done?.line ?? 0), at: next };
    const isKnown = this.#wish.output === "files" && this.#inFile > 0;
    if (isKnown) this.endPieces(path);
    return !isKnown;
  }

  /** @param part of a document, after so many lines of others */
  addPart(path: readonly string[], scan: Exclude<Scan, "binary">, part: DocumentPart): void {
    if (this.#wish.isLines) this.#addLines({ path, afterLine: 0 }, scan, part);
    else this.#inFile += scan.count;
  }

  /** A large file, or a document, has been searched. */
  endPieces(path: readonly string[]): void {
    this.#addPieces(path);
    this.#finish(path);
  }

  #addPieces(path: readonly string[]): void {
    const count = this.#inFile;
    this.#inFile = 0;
    if (count > 0) this.#addFile({ path, afterLine: 0 }, count);
  }

  #addLines(
    { path }: ScannedFile,
    { count, lines }: Exclude<Scan, "binary">,
    { unit, before }: DocumentPart = WHOLE,
  ): void {
    this.total += count;
    if (this.#isFull || count === 0) return;
    const shown = path.join("/");
    for (const line of lines) {
      const match = { path: shown, ...(unit && { [unit.is]: unit.at }), ...line } as Match;
      if (!this.#takes(this.#matches.length, bytesOfMatch(match))) return;
      this.#matches.push(match);
      this.#done = { path, line: before + line.line };
    }
    if (lines.length < count) this.#fill(this.#matches.length >= this.#limit ? "limit" : "bytes");
  }

  #addFile({ path }: ScannedFile, count: number): void {
    this.total++;
    if (this.#isFull) return;
    const shown = path.join("/");
    if (!this.#takes(this.#counts.length, Buffer.byteLength(shown) + 8)) return;
    this.#counts.push({ path: shown, count });
    this.#done = { path, line: 0 };
  }

  /** Whether one more item fits; the first always does. @param given items so far */
  #takes(given: number, bytes: number): boolean {
    if (given >= this.#limit) this.#fill("limit");
    else if (given > 0 && this.#bytes + bytes > this.#budget) this.#fill("bytes");
    else this.#bytes += bytes;
    return !this.#isFull;
  }

  #fill(reason: "limit" | "bytes"): void {
    this.#cut = reason;
    this.#isFull = true;
  }

  #finish(path: readonly string[]): void {
    if (!this.#isFull) this.#done = { path, line: 0 };
  }

  output(): GrepOutput {
    const { output = "lines" } = this.#input;
    const { sieve, binding } = this.#parts;
    const stopped = this.#stopped ?? sieve.stopped;
    const { isExhausted } = sieve;
    const reason = isExhausted ? "error" : (this.#cut ?? stopped);
    const given = output === "lines" ? this.#matches.length : this.#counts.length;
    // A file that could not be scanned in time is not finished, although the walk has passed it.
    const isAllScanned = this.#cut === undefined && this.#stopped === undefined;
    const done = isAllScanned && sieve.reached.length > 0 ? { path: sieve.reached, line: 0 } : this.#done;
    const counted = (sieve.resume?.counted ?? 0) + given;
    const completeness = {
      ...(reason === undefined ? {} : { reason }),
      ...(reason === undefined || isExhausted || done === undefined
        ? {}
        : { nextCursor: writeCursor(binding, { ...done, counted }) }),
      ...sieve.hidden.part(),
    };
    return {
      ...this.#items(output),
      totalMatches: this.total,
      countIsComplete: stopped === undefined && !isExhausted,
      filesScanned: this.scanned,
      timedOut: stopped === "timeout",
      complete: reason === undefined,
      ...completeness,
      ...hintOf(completeness, isExhausted ? { error: EXHAUSTED } : ADVICE, this.#texts()),
    };
  }

  #texts(): HiddenTexts {
    const path = this.#tooLarge?.join("/") ?? "";
    const { multiline, maxFileBytes } = this.#input;
    const bound = multiline === true ? "multiline" : "maxFileBytes";
    // A call that names the file already must not be told to name it.
    const isBound = (multiline === true || maxFileBytes !== undefined) && path === this.#parts.place.path;
    const tooLarge = isBound ? `too large: leave out ${bound}` : largeText(path);
    return { tooLarge, symlinks: linksText(this.#input.links, this.total, this.#parts.sieve.hidden) };
  }

  #items(output: NonNullable<GrepInput["output"]>): Pick<GrepOutput, "matches" | "paths" | "counts"> {
    if (output === "lines") return { matches: this.#matches };
    return output === "files" ? { paths: this.#counts.map(({ path }) => path) } : { counts: this.#counts };
  }
}

const ADVICE = {
  timeout: "Pass a larger timeoutMs, or a deeper path",
  visited: "Pass a deeper path",
  error: "Pass a deeper path or a simpler pattern",
};
