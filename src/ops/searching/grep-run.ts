// Searches lines for one reading of the input of `grep`.

import { countText } from "../../core/call/progress.js";
import type { LineScanner } from "../../core/call/scan.js";
import type { CallScope } from "../../core/call/scope.js";
import type { SearchTerms } from "../../core/call/terms.js";
import { FileAdapterError } from "../../core/errors/errors.js";
import { notSupportedHere } from "../../core/errors/texts.js";
import type { Awaitable, Io } from "../../core/io.js";
import type { ReadRange, Visit, WalkContent, WalkEntry, WalkStep } from "../../core/ports/backend.js";
import type { PathCall, PlacesCall } from "../../core/ports/operation.js";
import type { GrepInput, GrepOutput } from "../../schema/types.js";
import { type Binding, invalidCursor, type Resume, readCursor } from "../../search/cursor.js";
import { type Patience, Sieve } from "../../search/entry-filter.js";
import { compileGlobs, excludes, type Globs } from "../../search/globs.js";
import type { Pace } from "../../search/match-budget.js";
import { type Following, walk } from "./follow-links.js";
import { GrepAnswer, type ScannedFile } from "./grep-answer.js";
import { GrepDocuments } from "./grep-documents.js";
import { searchPieces } from "./grep-pieces.js";
import { FileScans } from "./grep-scans.js";
import { ignoreRules, isGitBase, namesGit } from "./search.js";

/** Least time to wait for a scanner, since a thread may have to be started. */
const MIN_START_MS = 1000;
const USUAL_FILE_BYTES = 8_388_608;
const MOST_FILE_BYTES = 33_554_432;

/** Hint of a search that found nothing. */
const OTHERS = "Some files are not UTF-8: pass their encoding (latin1?)";

/** The call that a search is made for. */
export interface GrepCall {
  readonly base: PathCall;
  readonly call: PlacesCall;
  readonly patience: Patience;
  /** Ends the search once its caller knows enough. Absent: the search runs to its end. */
  readonly isEnough?: (answer: GrepAnswer) => boolean;
}

export async function searchLines(input: GrepInput, { base, call, patience, isEnough }: GrepCall): Promise<GrepOutput> {
  const { scanners } = call;
  if (scanners === undefined) throw notSupportedHere("search");
  const terms = call.terms?.search;
  const files: WantedFiles = new WantedFiles(base, {
    pace: () => sieve.pace,
    wants: terms?.wants,
    glob: input.glob === undefined ? undefined : compileGlobs(input.glob, "glob"),
    exclude: input.exclude === undefined ? undefined : compileGlobs(input.exclude, "exclude"),
  });
  const binding = bindingOf(input, base);
  const resume = input.cursor === undefined ? undefined : readCursor(binding, input.cursor);
  const ignore = await ignoreRules(input, { base, call });
  const sieve: Sieve = new Sieve({
    base: base.path.segments,
    ...{ patience, resume, scope: base.access.scope, ignore: ignore?.rules },
    entersGit: namesGit(input.glob) || isGitBase(base.path.segments),
    found: isEnough === undefined ? () => countText(answer.total, "match", "matches") : undefined,
    concerns: (path, isDirectory) => files.concerns(path, isDirectory),
  });
  for (let count = 0; count < (ignore?.unread ?? 0); count++) sieve.hidden.add("unreadable");
  const answer: GrepAnswer = new GrepAnswer(input, { sieve, resume, binding, terms, place: base.access.place });
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
    await search({ input, base, files, sieve, resume, scans, documents, ...ends });
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
  readonly files: WantedFiles;
  readonly sieve: Sieve;
  readonly resume: Resume | undefined;
  readonly scans: FileScans;
  /** Absent: files are searched as they are. */
  readonly documents: GrepDocuments | undefined;
  readonly answer: GrepAnswer;
  readonly patience: Patience;
  readonly isEnough: () => boolean;
}

async function search(search: Search): Promise<void> {
  const { input, base, files, sieve, resume, documents, isEnough } = search;
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
    const step = yield* files.stepFor(entry, sifted.path);
    if (step === "link") {
      if (sifted.kind === "in" && !isLast) {
        sieve.hidden.add("symlinks");
        sieve.hidden.namesLinks ||= files.names(sifted.path.slice(path.segments.length));
      }
      return "skip";
    }
    if (step !== "read") return step;
    const afterLine = isLast ? (resume?.line ?? 0) : 0;
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
  await walk(base, options, input.links === undefined ? undefined : files);
  await search.scans.finish();
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
  const { input, base, files, resume, scans, documents } = search;
  const { root, path, access } = base;
  const isWhole = input.multiline === true || files.isNarrowed;
  const maxBytes = input.maxFileBytes ?? (input.multiline === true ? MOST_FILE_BYTES : USUAL_FILE_BYTES);
  if (!files.takes(path.segments)) return;
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
async function searchLarge(afterLine: number, { input, base, resume, scans, answer, patience }: Search): Promise<void> {
  const { root, path, access } = base;
  const { context = 0, before = context, after = context } = input;
  const file = await root.backend.open(path, access);
  try {
    const encoding = input.encoding ?? root.encoding;
    await searchPieces(
      { path: path.segments, file, afterLine, from: resume?.at, encoding },
      { answer, scans, scope: access.scope, isOver: () => patience.isOver, around: { before, after } },
    );
  } finally {
    file.close();
  }
}

interface Wishes {
  readonly glob: Globs | undefined;
  readonly exclude: Globs | undefined;
  readonly wants: SearchTerms["wants"] | undefined;
  readonly pace: () => Pace;
}

/** Decides which files are searched. */
class WantedFiles implements Following {
  readonly #wishes: Wishes;
  readonly #depth: number;

  constructor(base: PathCall, wishes: Wishes) {
    this.#wishes = wishes;
    this.#depth = base.path.segments.length;
  }

  /** Whether a file is searched, or a directory may contain such files. */
  *concerns(path: readonly string[], isDirectory: boolean): Io<boolean> {
    const { glob, exclude, pace } = this.#wishes;
    const below = path.slice(this.#depth);
    if (exclude !== undefined && (yield* exclude.test(below.join("/"), isDirectory, pace()))) return false;
    if (glob === undefined) return true;
    return isDirectory ? glob.reaches(below) : yield* glob.test(below.join("/"), false, pace());
  }

  /** Whether the globs name a link, behind which files may be. */
  names(below: readonly string[]): boolean {
    return this.#wishes.glob?.names(below) === true;
  }

  getsTo(below: readonly string[], link: readonly string[], isDirectory: boolean): boolean {
    const { glob, exclude } = this.#wishes;
    if (exclude !== undefined && excludes(exclude, below, isDirectory)) return false;
    return glob === undefined || (isDirectory ? glob.reachesAlso(below, link) : glob.matches(below.join("/"), false));
  }

  /** A profile says which files are searched, and how. */
  get isNarrowed(): boolean {
    return this.#wishes.wants !== undefined;
  }

  /** Whether the call's profile includes a file. @param path below the root */
  takes(path: readonly string[]): boolean {
    return this.#wishes.wants?.(path) !== false;
  }

  *stepFor({ type }: WalkEntry, path: readonly string[]): Io<"enter" | "skip" | "read" | "link"> {
    if (type === "other") return "skip";
    const isConcerned = yield* this.concerns(
      path,
      type === "directory" || (type === "symlink" && this.names(path.slice(this.#depth))),
    );
    if (!isConcerned) return "skip";
    if (type !== "file") return type === "directory" ? "enter" : "link";
    return this.takes(path) ? "read" : "skip";
  }
}
