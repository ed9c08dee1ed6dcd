import type { Incomplete } from "../core/call/completeness.js";
import { countText } from "../core/call/progress.js";
import { escapeText } from "../core/errors/texts.js";
import type { Io } from "../core/io.js";
import type { Rendering } from "../core/ports/adapter.js";
import type { Visit, WalkEntry, WalkStep } from "../core/ports/backend.js";
import { type Operation, type PathCall, READS } from "../core/ports/operation.js";
import { compareVisits } from "../path/order.js";
import type { GlobInput, GlobOutput } from "../schema/types.js";
import { type Binding, invalidCursor, writeCursor } from "../search/cursor.js";
import { Patience, type Sieve } from "../search/entry-filter.js";
import { compileGlobs, type Globs, Selection } from "../search/globs.js";
import { countWithin } from "./content/clamp.js";
import { walk } from "./searching/follow-links.js";
import { meantGlobs, withMeantExclude } from "./searching/meant-globs.js";
import { linksReadings, patternReadings, type Reading } from "./searching/readings.js";
import {
  baseOf,
  EXHAUSTED,
  hintOf,
  isEmptyHanded,
  linksText,
  patienceMs,
  type SearchCall,
  searchNote,
  sieveOf,
  withReading,
} from "./searching/search.js";

const PATIENCE_MS = 5000;
const USUAL_LIMIT = 200;

/** `glob`: finds paths by name patterns. */
export const glob: Operation<GlobInput, GlobOutput> = {
  name: "glob",
  on: "places",
  ...READS,
  looksInArchives: true,
  patienceMs: (input, limits) => patienceMs(input.timeoutMs, PATIENCE_MS, limits),
  async run(asked, call) {
    const base = baseOf(asked, call);
    const pattern = meantGlobs(asked.pattern, base, call);
    const input = withMeantExclude({ ...asked, pattern }, base, call);
    const patience = new Patience(base.access.scope, patienceMs(input.timeoutMs, PATIENCE_MS, call.limits));
    const output = await findPaths(input, { base, call, patience });
    if (!isEmptyHanded(input, output) || call.terms !== undefined) return output;
    return withReading<GlobOutput, GlobInput>(
      output,
      [linksReadings(input, output), readingsOf(input, base.path.text)],
      {
        patience,
        finds: async (change) => {
          const probe = { ...input, ...change, limit: 1 };
          return (await findPaths(probe, { base, call, patience }, true)).totalMatches > 0;
        },
      },
    );
  },
  render,
};

function* readingsOf({ pattern }: GlobInput, path: string): Generator<Reading<GlobInput>> {
  for (const { why, patterns } of patternReadings(pattern, path)) yield { why, change: { pattern: patterns } };
}

/** @param isProbe the first path is enough */
async function findPaths(input: GlobInput, call: SearchCall, isProbe = false): Promise<GlobOutput> {
  if (input.cursor !== undefined && input.sort === "modified") throw invalidCursor();
  const { base } = call;
  const patterns = compileGlobs(input.pattern, "pattern");
  const selection = new Selection(patterns, input.exclude);
  const binding = bindingOf(input, base);
  const { length: depth } = base.path.segments;
  const sieve = await sieveOf(input, call, {
    ...{ binding, globs: input.pattern, maxVisited: call.call.terms?.maxVisited },
    found: isProbe ? undefined : () => countText(search.total, "path"),
    concerns: (path, isDirectory, pace) =>
      selection.concerns(path.slice(depth), isDirectory, {
        pace,
        mayBe: wants(input, isDirectory ? "directory" : "file"),
      }),
  });
  const search: GlobSearch = new GlobSearch(input, { base, patterns, selection, sieve, isProbe });
  const visit: Visit = (entry) => sieve.decide(search.visit(entry));
  const options = { visit, sizes: input.sort === "modified", ...sieve.rules() };
  await walk(base, options, input.links === undefined ? undefined : selection);
  if (sieve.resume?.isLost === true) throw invalidCursor();
  return search.answer(binding);
}

const wants = ({ type: wanted = "file" }: GlobInput, type: WalkEntry["type"]): boolean =>
  wanted === "any" || wanted === type;

const bindingOf = (input: GlobInput, { root, path, caller }: PathCall): Binding => {
  const { pattern, exclude, type, links, ignore, sort } = input;
  return ["glob", root.name, path.text, caller, pattern, exclude, type, links, ignore, sort];
};

interface Found {
  readonly path: readonly string[];
  readonly shown: string;
  readonly modified: number;
}

interface GlobSearchParts {
  readonly base: PathCall;
  readonly patterns: Globs;
  readonly selection: Selection;
  readonly sieve: Sieve;
  readonly isProbe: boolean;
}

class GlobSearch {
  readonly #input: GlobInput;
  readonly #parts: GlobSearchParts;
  readonly #limit: number;
  readonly #depth: number;
  readonly #found: Found[] = [];
  /** Paths found so far, those of earlier pages included. */
  total: number;
  /** Entries that are no directories and that were compared with the patterns. */
  #seen = 0;
  /** Directories that match, if no type was asked for. */
  #directories = 0;

  constructor(input: GlobInput, parts: GlobSearchParts) {
    this.#input = input;
    this.#parts = parts;
    this.#limit = input.limit ?? USUAL_LIMIT;
    this.#depth = parts.base.path.segments.length;
    this.total = parts.sieve.resume?.counted ?? 0;
  }

  *visit(entry: WalkEntry): Io<WalkStep> {
    const { sieve, selection, patterns, isProbe } = this.#parts;
    const sifted = yield* sieve.look(entry);
    if (sifted.kind === "stop" || (isProbe && this.total > 0)) return "stop";
    if (sifted.kind === "out") return "skip";
    const { path } = sifted;
    const below = path.slice(this.#depth);
    const isDirectory = entry.type === "directory";
    if (yield* selection.excludes(below, isDirectory, sieve.pace)) return "skip";
    const isNew = sifted.kind === "in" && !sifted.isLast;
    if (isNew && !isDirectory) this.#seen++;
    if (isNew) yield* this.#take(entry, path);
    return isDirectory && patterns.reaches(below) ? "enter" : "skip";
  }

  *#take(entry: WalkEntry, path: readonly string[]): Io<void> {
    const { patterns, sieve } = this.#parts;
    const isDirectory = entry.type === "directory";
    const isLink = entry.type === "symlink";
    const isWanted = wants(this.#input, entry.type);
    // Directories are told of where nothing else is found.
    if (!isWanted && !isLink && (!isDirectory || this.total > 0 || this.#input.type !== undefined)) return;
    const below = path.slice(this.#depth);
    const matches = yield* patterns.test(below.join("/"), isDirectory, sieve.pace);
    // The link's target type is unknown: it, or what is behind it, might have been a match.
    const isNamed = isLink && patterns.names(below);
    if (isNamed || (isLink && matches && !isWanted)) sieve.hidden.add("symlinks");
    sieve.hidden.namesLinks ||= isNamed;
    if (isDirectory && matches && !isWanted) this.#directories++;
    if (!matches || !isWanted) return;
    this.total++;
    const isSorted = this.#input.sort === "modified";
    if (!isSorted && this.#found.length >= this.#limit) return;
    const shown = `${path.join("/")}${isDirectory ? "/" : ""}`;
    this.#found.push({ path, shown, modified: entry.modified ?? 0 });
  }

  answer(binding: Binding): GlobOutput {
    const { sieve, base } = this.#parts;
    const isSorted = this.#input.sort === "modified";
    if (isSorted) this.#found.sort((a, b) => b.modified - a.modified || compareVisits(a.path, b.path));
    const most = base.budget?.defaultBytes ?? Number.POSITIVE_INFINITY;
    const found = this.#found.slice(0, this.#limit);
    const paths = found.map((one) => one.shown);
    const shown = found.slice(0, countWithin(paths, most));
    const before = sieve.resume?.counted ?? 0;
    const isCut = this.total - before > shown.length;
    const cut = shown.length < found.length ? "bytes" : isCut ? "limit" : undefined;
    const reason: Incomplete | undefined = sieve.isExhausted ? "error" : (cut ?? sieve.stopped);
    const last = isCut ? (shown.at(-1)?.path ?? []) : sieve.reached;
    // Results sorted by time have one page: files that change between pages would be missed or appear twice.
    // After "error" there is no cursor, since a next page would not revisit the skipped entries.
    const hasMore = reason !== undefined && reason !== "error" && !isSorted && last.length > 0;
    const counted = before + shown.length;
    const completeness = {
      ...(reason === undefined ? {} : { reason }),
      ...(hasMore ? { nextCursor: writeCursor(binding, { path: last, line: 0, counted }) } : {}),
      ...sieve.hidden.part(),
    };
    return {
      paths: paths.slice(0, shown.length),
      totalMatches: this.total,
      ...(this.total === 0 ? { filesSeen: this.#seen } : {}),
      countIsComplete: sieve.stopped === undefined && !sieve.isExhausted,
      timedOut: sieve.stopped === "timeout",
      complete: reason === undefined,
      ...completeness,
      ...this.#hint(
        hintOf(completeness, this.#advice, { symlinks: linksText(this.#input.links, this.total, sieve.hidden) }).hint,
      ),
    };
  }

  get #advice() {
    return this.#limit < MAX_LIMIT ? ADVICE : { ...ADVICE, ...NARROWER };
  }

  #hint(hint: string | undefined): { hint?: string } {
    const directories = this.total === 0 && this.#directories > 0 ? 'Directories match: pass type: "any"' : undefined;
    const text = [directories, hint].filter((part) => part !== undefined).join(". ");
    return text === "" ? {} : { hint: text };
  }
}

/** The largest that can be passed. */
const MAX_LIMIT = 5000;
const NARROWER = { limit: "Pass a narrower pattern", bytes: "Pass a narrower pattern" };

const ADVICE = {
  ...NARROWER,
  limit: "Pass a larger limit or a narrower pattern",
  timeout: "Pass a larger timeoutMs, or a deeper path",
  visited: "Pass a deeper path",
  error: EXHAUSTED,
};

function render({ paths, ...rest }: GlobOutput): Rendering {
  const text = paths.map((path) => `${escapeText(path)}\n`).join("");
  const note = searchNote(rest, { given: paths.length, files: rest.filesSeen ?? 0, noun: " paths" });
  return { kind: "text", text, rest, ...(note === undefined ? {} : { note }) };
}
