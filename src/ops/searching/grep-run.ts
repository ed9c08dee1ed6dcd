// Searches lines for one reading of the input of `grep`.

import { countText } from "../../core/call/progress.js";
import type { LineScanner } from "../../core/call/scan.js";
import type { CallScope } from "../../core/call/scope.js";
import type { SearchTerms } from "../../core/call/terms.js";
import { FileAdapterError } from "../../core/errors/errors.js";
import { notSupportedHere } from "../../core/errors/texts.js";
import type { Awaitable, Io } from "../../core/io.js";
import type { ReadRange, Visit, WalkContent, WalkEntry, WalkStep } from "../../core/ports/backend.js";
import type { PathCall } from "../../core/ports/operation.js";
import type { GrepInput, GrepOutput } from "../../schema/types.js";
import { type Binding, invalidCursor } from "../../search/cursor.js";
import type { Patience, Sieve } from "../../search/entry-filter.js";
import { compileGlobs, Selection } from "../../search/globs.js";
import { walk } from "./follow-links.js";
import { GrepAnswer, type ScannedFile } from "./grep-answer.js";
import { GrepDocuments } from "./grep-documents.js";
import { searchPieces } from "./grep-pieces.js";
import { FileScans } from "./grep-scans.js";
import { type SearchCall, sieveOf } from "./search.js";

/** Least time to wait for a scanner, since a thread may have to be started. */
const MIN_START_MS = 1000;
const USUAL_FILE_BYTES = 8_388_608;
const MOST_FILE_BYTES = 33_554_432;

/** Hint of a search that found nothing. */
const OTHERS = "Some files are not UTF-8: pass their encoding (latin1?)";

/** The call that a search is made for. */
export interface GrepCall extends SearchCall {
  /** Ends the search once its caller knows enough. Absent: the search runs to its end. */
  readonly isEnough?: (answer: GrepAnswer) => boolean;
}

export async function searchLines(input: GrepInput, { isEnough, ...search }: GrepCall): Promise<GrepOutput> {
  const { base, call, patience } = search;
  const { scanners } = call;
  if (scanners === undefined) throw notSupportedHere("search");
  const terms = call.terms?.search;
  const selection = new Selection(
    input.glob === undefined ? undefined : compileGlobs(input.glob, "glob"),
    input.exclude,
  );
  const binding = bindingOf(input, base);
  const { length: depth } = base.path.segments;
  const sieve = await sieveOf(input, search, {
    ...{ binding, globs: input.glob },
    found: isEnough === undefined ? () => countText(answer.total, "match", "matches") : undefined,
    concerns: (path, isDirectory, pace) =>
      selection.concerns(path.slice(depth), isDirectory, { pace, mayBe: !isDirectory }),
  });
  const { resume } = sieve;
  const answer: GrepAnswer = new GrepAnswer(input, { sieve, binding, terms, place: base.access.place });
  const { pattern, literal = false, ignoreCase = false, multiline = false } = input;
  const opening = scanners.open(
    { pattern, literal, ignoreCase, multiline },
    Math.max(MIN_START_MS, patience.remainingMs),
    call.caller,
  );
  const scanner = await openInTime(opening, base.access.scope);
  if (scanner === undefined) {
    answer.stop("timeout");
    return answer.output();
  }
  const scans = new FileScans(scanner, {
    ...{ answer, patience, encoding: input.encoding ?? base.root.encoding },
    isForeign: /[^\0-\x7f]/.test(pattern),
  });
  const session =
    input.documents === true ? call.documents?.open({ signal: call.scope.signal, caller: call.caller }) : undefined;
  const documents = session && new GrepDocuments({ session, scans, answer, patience });
  const ends = { answer, patience, isEnough: () => isEnough?.(answer) === true };
  try {
    await searchFiles({ input, base, selection, wants: terms?.wants, sieve, scans, documents, ...ends });
  } finally {
    session?.close();
    scanner.close();
  }
  if (resume?.isLost === true) throw invalidCursor();
  const output = answer.output();
  if (answer.total > 0 || !scans.hasOthers) return output;
  return { ...output, hint: [OTHERS, output.hint].filter((part) => part !== undefined).join(". ") };
}

/** @returns `undefined` if no scanner is ready in time */
async function openInTime(opening: Promise<LineScanner>, scope: CallScope): Promise<LineScanner | undefined> {
  try {
    return await scope.race(opening.catch(undefinedIfLate));
  } catch (error) {
    // A scanner that opens after this call has given up must be released for others.
    opening.then(
      (late) => late.close(),
      () => {},
    );
    throw error;
  }
}

/** TIMEOUT: no thread was free in time, or the pattern took too long to compile. */
function undefinedIfLate(error: unknown): undefined {
  if (error instanceof FileAdapterError && error.code === "TIMEOUT") return undefined;
  throw error;
}

const bindingOf = (input: GrepInput, { root, path, caller }: PathCall): Binding => {
  const { limit: _limit, cursor: _cursor, timeoutMs: _timeoutMs, root: _root, path: _path, ...rest } = input;
  return ["grep", root.name, path.text, caller, Object.entries(rest).sort(([a], [b]) => (a < b ? -1 : 1))];
};

interface Search {
  readonly input: GrepInput;
  readonly base: PathCall;
  readonly selection: Selection;
  /** Whether a profile includes a file, by its path below the root. Absent: there is none. */
  readonly wants: SearchTerms["wants"] | undefined;
  readonly sieve: Sieve;
  readonly scans: FileScans;
  /** Absent: files are searched as they are. */
  readonly documents: GrepDocuments | undefined;
  readonly answer: GrepAnswer;
  readonly patience: Patience;
  readonly isEnough: () => boolean;
}

async function searchFiles(search: Search): Promise<void> {
  const { input, base, selection, sieve, documents, isEnough } = search;
  const { root, path, access } = base;
  const found = path.segments.length === 0 ? undefined : await root.backend.stat(path, access);
  if (found?.type === "file") return searchFile(search);
  const maxBytes = input.maxFileBytes ?? USUAL_FILE_BYTES;
  /** Files to be read, which the walk may pass later than it visits the next ones. */
  const wanted = new Map<WalkEntry, { path: readonly string[]; afterLine: number }>();
  function* step(entry: WalkEntry): Io<WalkStep> {
    const sifted = yield* sieve.look(entry);
    if (sifted.kind === "stop" || isEnough()) return "stop";
    if (sifted.kind === "out") return "skip";
    const isLast = sifted.kind === "in" && sifted.isLast;
    const next = yield* stepFor(entry, sifted.path, search);
    if (next === "link") {
      if (sifted.kind === "in" && !isLast) {
        sieve.hidden.add("symlinks");
        sieve.hidden.namesLinks ||= selection.names(sifted.path.slice(path.segments.length));
      }
      return "skip";
    }
    if (next !== "read") return next;
    const afterLine = isLast ? (sieve.resume?.line ?? 0) : 0;
    // Answered files are not read again, except one in the middle of which the last page ended.
    if (sifted.kind === "done" || (isLast && afterLine === 0)) return "skip";
    wanted.set(entry, { path: sifted.path, afterLine });
    return "read";
  }
  const visit: Visit = (entry) => sieve.decide(step(entry));
  const take = (entry: WalkEntry, content: WalkContent) => {
    const file = wanted.get(entry);
    wanted.delete(entry);
    return file === undefined ? "on" : takeFile(file, content, maxBytes, search);
  };
  const most = documents === undefined ? maxBytes : Math.max(maxBytes, MOST_FILE_BYTES);
  const options = { visit, sizes: false, content: { maxBytes: most, take }, ...sieve.rules() };
  await walk(base, options, input.links === undefined ? undefined : selection);
  await search.scans.finish();
}

function* stepFor(
  { type }: WalkEntry,
  path: readonly string[],
  { base, selection, wants, sieve: { pace } }: Search,
): Io<"enter" | "skip" | "read" | "link"> {
  if (type === "other") return "skip";
  const below = path.slice(base.path.segments.length);
  // Behind a link that the globs name there may be files.
  const mayHold = type === "directory" || (type === "symlink" && selection.names(below));
  if (!(yield* selection.concerns(below, mayHold, { pace, mayBe: !mayHold }))) return "skip";
  if (type !== "file") return type === "directory" ? "enter" : "link";
  return wants?.(path) === false ? "skip" : "read";
}

/** Searches a file, as a document where it is one. @param maxBytes of others */
function takeFile(
  file: ScannedFile,
  content: WalkContent,
  maxBytes: number,
  { scans, documents }: Pick<Search, "scans" | "documents">,
): Awaitable<"on" | "stop"> {
  const plain = () =>
    scans.take(file, content.length > maxBytes && typeof content !== "string" ? "too large" : content);
  const taking = documents?.take(file, content);
  return taking === undefined ? plain() : taking.then((taken) => taken ?? plain());
}

async function searchFile(search: Search): Promise<void> {
  const { input, base, wants, scans, documents } = search;
  const { resume } = search.sieve;
  const { root, path, access } = base;
  // A profile says which files are searched, and how.
  const isWhole = input.multiline === true || wants !== undefined;
  const maxBytes = input.maxFileBytes ?? (input.multiline === true ? MOST_FILE_BYTES : USUAL_FILE_BYTES);
  if (wants?.(path.segments) === false) return;
  const most = documents === undefined ? maxBytes : Math.max(maxBytes, MOST_FILE_BYTES);
  const plan = (size: number): ReadRange => ({ offset: 0, length: size > most ? 0 : most + 1 });
  const { bytes, size } = await root.backend.read(path, plan, access);
  // The base is the only file, but the cursor's position must be found for the resume to be valid.
  const isLast = resume?.standing(path.segments) === "last";
  const file = { path: path.segments, afterLine: isLast ? resume.line : 0 };
  if (size <= most && (await documents?.take(file, bytes)) !== undefined) return;
  if (size > maxBytes && !isWhole && input.maxFileBytes === undefined) return searchLarge(file.afterLine, search);
  await scans.take(file, Math.max(size, bytes.length) > maxBytes ? "too large" : bytes);
  await scans.finish();
}

/** A file that the caller names is searched whatever its size. */
async function searchLarge(afterLine: number, { input, base, sieve, scans, answer, patience }: Search): Promise<void> {
  const { root, path, access } = base;
  const { context = 0, before = context, after = context } = input;
  const file = await root.backend.open(path, access);
  try {
    const encoding = input.encoding ?? root.encoding;
    await searchPieces(
      { path: path.segments, file, afterLine, from: sieve.resume?.at, encoding },
      { answer, scans, scope: access.scope, isOver: () => patience.isOver, around: { before, after } },
    );
  } finally {
    file.close();
  }
}
