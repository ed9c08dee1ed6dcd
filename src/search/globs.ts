// Sets of globs, as in `pattern`, `glob` and `exclude` of searches.

import { invalidInput, invalidPattern } from "../core/errors/texts.js";
import type { Io } from "../core/io.js";
import { compileGlob, type Glob, type GlobMatcher } from "../path/glob-match.js";
import { GlobFault, readGlobNodes } from "../path/glob-reader.js";
import type { Pace } from "./match-budget.js";

const MAX_PATTERNS = 20;
const MAX_CHARS = 1000;

const SYNTAX = { negation: false, groups: false } as const;
const ASCII = /^[\0-\x7f]*$/;
// The most common globs, such as `**/*.ts`: a name suffix at any depth.
const ENDING = /^\*\*\/\*([\w.-]*)$/;

/** A caller's glob; it matches whole paths below the base. */
interface Compiled extends Pick<GlobMatcher, "matches" | "weight"> {
  /** Segments of the pattern, whose depth is spelled out. */
  readonly segments: readonly string[];
  /** Leading directories of every match, as far as the pattern names them literally. */
  readonly fixed: readonly string[];
  /** Most segments of a matching path. */
  readonly maxDepth: number;
  readonly onlyDirectories: boolean;
  /** Matchers of the segments before `**`, by their number; made when needed. */
  readonly above: GlobMatcher[];
}

/** The union of some globs. Matching takes time linear in the path, whatever the patterns. */
export class Globs {
  readonly #all: readonly Compiled[];

  constructor(all: readonly Compiled[]) {
    this.#all = all;
  }

  /** @param path below the base, without a trailing slash */
  matches(path: string, isDirectory: boolean): boolean {
    return this.#all.some((glob) => (isDirectory || !glob.onlyDirectories) && glob.matches(path));
  }

  /** Like {@link matches}, but yields to other calls when it takes long. @throws TimeIsUp */
  *test(path: string, isDirectory: boolean, pace: Pace): Io<boolean> {
    for (const glob of this.#all) {
      if (pace.takes(glob.weight * path.length)) yield* pace.rest();
      if ((isDirectory || !glob.onlyDirectories) && glob.matches(path)) return true;
    }
    return false;
  }

  /** Whether a glob names a directory (or a link to one) on the way to what it matches. @param segments below the base */
  names(segments: readonly string[]): boolean {
    return this.#all.some((glob) => isNamed(glob, segments));
  }

  /** Whether something below the directory can match. @param segments below the base */
  reaches(segments: readonly string[]): boolean {
    return this.#all.some((glob) => reachesBelow(glob, segments));
  }

  /** Whether every glob that can match below one directory can below another one. */
  reachesAlso(other: readonly string[], segments: readonly string[]): boolean {
    return this.#all.every((glob) => !reachesBelow(glob, segments) || reachesBelow(glob, other));
  }
}

type Patterns = string | readonly string[];

/** What a search looks at by the globs of its input. Paths are below its start. */
export class Selection {
  readonly #wanted: Globs | undefined;
  readonly #excluded: Globs | undefined;

  /** @param wanted absent: everything */
  constructor(wanted: Globs | undefined, exclude: Patterns | undefined) {
    this.#wanted = wanted;
    this.#excluded = exclude === undefined ? undefined : compileGlobs(exclude, "exclude");
  }

  /** There are no globs. */
  get isAll(): boolean {
    return this.#wanted === undefined && this.#excluded === undefined;
  }

  /** Whether an entry is excluded by itself. @throws TimeIsUp */
  *excludes(below: readonly string[], isDirectory: boolean, pace: Pace): Io<boolean> {
    return this.#excluded !== undefined && (yield* this.#excluded.test(below.join("/"), isDirectory, pace));
  }

  /** Whether an entry is wanted, or may contain what is. @param mayBe whether entries of its type are wanted @throws TimeIsUp */
  *concerns(
    below: readonly string[],
    isDirectory: boolean,
    { pace, mayBe }: { pace: Pace; mayBe: boolean },
  ): Io<boolean> {
    if (yield* this.excludes(below, isDirectory, pace)) return false;
    const wanted = this.#wanted;
    if (wanted === undefined || (isDirectory && wanted.reaches(below))) return true;
    return mayBe && (yield* wanted.test(below.join("/"), isDirectory, pace));
  }

  /** Whether the globs name a link, behind which something may be. */
  names(link: readonly string[]): boolean {
    return this.#wanted?.names(link) === true;
  }

  /** Whether a walk looks by itself at a place that a link leads to. */
  getsTo(below: readonly string[], link: readonly string[], isDirectory: boolean): boolean {
    const [wanted, excluded] = [this.#wanted, this.#excluded];
    const isExcluded = (end: number): boolean =>
      excluded?.matches(below.slice(0, end).join("/"), end < below.length || isDirectory) === true;
    if (below.some((_, at) => isExcluded(at + 1))) return false;
    return (
      wanted === undefined || (isDirectory ? wanted.reachesAlso(below, link) : wanted.matches(below.join("/"), false))
    );
  }
}

const isSameName = (one: string | undefined, name: string): boolean => one === name || one === name.normalize("NFC");

const reachesBelow = ({ fixed, maxDepth }: Compiled, segments: readonly string[]): boolean =>
  segments.length < maxDepth && segments.every((name, at) => at >= fixed.length || isSameName(fixed[at], name));

/** Whether a glob names a directory above what it matches: by wildcards down to it, or by its name at any depth. */
function isNamed({ segments, above }: Compiled, path: readonly string[]): boolean {
  const depth = path.length;
  if (segments.slice(0, -1).includes((path.at(-1) ?? "").normalize("NFC"))) return true;
  const first = segments.slice(0, depth);
  if (depth >= segments.length || first.some((one) => one.includes("**") || /[{(]/.test(one))) return false;
  above[depth] ??= compileGlob(readGlobNodes(first.join("/"), SYNTAX));
  return above[depth].matches(path.join("/"));
}

/** @param field input field named in errors @throws INVALID_PATTERN, INVALID_INPUT */
export function compileGlobs(patterns: Patterns, field: string): Globs {
  const all = typeof patterns === "string" ? [patterns] : patterns;
  if (all.length === 0 || all.length > MAX_PATTERNS) {
    throw invalidInput(`'${field}' must be 1 to ${MAX_PATTERNS} patterns`, `/${field}`, `1..${MAX_PATTERNS} patterns`);
  }
  return new Globs(all.map(compileOne));
}

/**
 * Derives which directories a glob can match in. As in Git and ripgrep, a pattern without a slash matches a name at any depth;
 * `./` before it keeps it to the start directory. @throws INVALID_PATTERN
 */
function compileOne(given: string): Compiled {
  if (given.length > MAX_CHARS) throw invalidPattern(`${given.slice(0, 40)}…`, `longer than ${MAX_CHARS} characters`);
  // Typed names are composed; names on a disk need not be.
  const pattern = given.normalize("NFC");
  const text = pattern.replace(/^(?:\.\/)+/, "");
  if (text === "") throw invalidPattern(pattern, "it is empty");
  if (text.startsWith("/")) throw invalidPattern(pattern, "must be relative to the path: at 0", 0);
  if (text.startsWith("!") && text[1] !== "(") throw invalidPattern(pattern, "use exclude in place of '!': at 0", 0);
  if (text.split("/").includes("..")) throw invalidPattern(pattern, "'..' is not allowed");
  const onlyDirectories = text.endsWith("/");
  const bare = onlyDirectories ? text.replace(/\/+$/, "") : text;
  const atAnyDepth = text === pattern && !bare.includes("/") && bare !== "**";
  // Checked before the prefix is added, so that positions of faults are the caller's.
  const own = nodesOf(pattern, bare);
  const body = atAnyDepth ? `**/${bare}` : bare;
  const segments = body.split("/");
  const magic = segments.findIndex((segment, at) => at === segments.length - 1 || /[\\?*+@!()[\]{}]/.test(segment));
  const maxDepth = body.includes("**") || /[{(]/.test(body) ? Number.POSITIVE_INFINITY : segments.length;
  const facts = { segments, fixed: segments.slice(0, magic), maxDepth, onlyDirectories, above: [] };
  const ending = ENDING.exec(body)?.[1];
  if (ending !== undefined) return { ...facts, weight: 0, matches: (path) => path.endsWith(ending) };
  const { weight, matches } = compileGlob(atAnyDepth ? nodesOf(pattern, body) : own);
  return { ...facts, weight, matches: ASCII.test(given) ? matches : (path) => matches(path.normalize("NFC")) };
}

function nodesOf(pattern: string, body: string): Glob {
  try {
    return readGlobNodes(body, SYNTAX);
  } catch (error) {
    if (!(error instanceof GlobFault)) throw error;
    throw invalidPattern(pattern, `${error.message}: at ${error.position}`, error.position);
  }
}
