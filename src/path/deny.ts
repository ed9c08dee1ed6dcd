// Compiles an operator's patterns (root options `deny` and `protect`) into a PathPolicy.

import type { PathPolicy } from "../core/ports/path-policy.js";
import { compileGlob, type GlobMatcher } from "./glob-match.js";
import { GlobFault, readGlobNodes } from "./glob-reader.js";
import { foldName } from "./grammar.js";
import { patternsOf } from "./pattern-sets.js";

export interface DenyOptions {
  /** Names that differ only in case, or in how their characters are composed, are one name. Asked at each match: it may be found out late. */
  readonly foldsCase: boolean;
}

type DenyGlob = Pick<GlobMatcher, "matches" | "covers">;

interface PathPattern {
  readonly glob: DenyGlob;
  /** The pattern without a trailing `/**`: matches the topmost denied entry only. */
  readonly top: DenyGlob;
  readonly anchors: Anchors;
}

/**
 * Compiles patterns: globs in which `*` and `?` match leading dots too. A pattern without `/` is a base name at
 * any depth, others start at the root. A directory that matches covers everything below. `@secrets`, `@git`, `@clients`
 * and `@instructions` stand for lists.
 *
 * @throws Error whose message completes "must be a glob: …"
 */
export function compileDeny(patterns: readonly string[], options: DenyOptions): PathPolicy {
  const exact = compile(patterns, asIs);
  let folded: PathPolicy | undefined;
  const inFolded = (): PathPolicy => {
    folded ??= compile(patterns, foldName);
    return folded;
  };
  // A name that a pattern excludes by `[!A-Z]` may be denied under its stored spelling only.
  const hasExceptions = patterns.some((pattern) => /\[[!^]|!\(/.test(pattern));
  return {
    deniesEntry: (directory, name) =>
      exact.deniesEntry(directory, name) || (options.foldsCase && inFolded().deniesEntry(directory, name)),
    anchors: (directory, name) => {
      const isFolded = options.foldsCase && inFolded().deniesEntry(directory, name);
      return (isFolded ? inFolded() : exact).anchors(directory, name);
    },
    denies: (segments) => exact.denies(segments) || (options.foldsCase && inFolded().denies(segments)),
    patternOf: (segments) => {
      const folds = options.foldsCase ? [asIs, foldName] : [asIs];
      for (const written of patterns) {
        const found = patternsOf(written).find((one) => folds.some((fold) => compile([one], fold).denies(segments)));
        if (found !== undefined) return found === written ? `"${found}"` : `"${found}" of "${written}"`;
      }
      return undefined;
    },
    isDoubtfulEntry: (directory, name) =>
      !options.foldsCase &&
      ((hasExceptions && hasCase(name)) || inFolded().deniesEntry(directory, name)) &&
      !exact.deniesEntry(directory, name),
    isDoubtful: (segments) =>
      !options.foldsCase &&
      ((hasExceptions && segments.some(hasCase)) || inFolded().denies(segments)) &&
      !exact.denies(segments),
  };
}

const asIs = (name: string): string => name;

const hasCase = (name: string): boolean => name.toLowerCase() !== name || name.toUpperCase() !== name;

function compile(patterns: readonly string[], fold: (name: string) => string): PathPolicy {
  const plainNames = new Set<string>();
  const names: DenyGlob[] = [];
  const paths: PathPattern[] = [];
  // The sets have many patterns, nearly all of which end in a plain name: an entry is compared with those of its own.
  const byName = new Map<string, PathPattern[]>();
  const others: PathPattern[] = [];
  const read = (glob: string, pattern: string): DenyGlob =>
    patterns.includes(pattern) ? matcherOf(glob, pattern) : atFirstUse(() => matcherOf(glob, pattern));
  for (const pattern of patterns.flatMap(patternsOf)) {
    // As in ignore files, a trailing slash only marks a directory.
    const plain = pattern.replace(/\/+$/, "");
    const rooted = plain.replace(/^(?:\.?\/)+/, "");
    if (!plain.includes("/")) {
      const glob = read(fold(rooted), pattern);
      if (isPlain(rooted)) plainNames.add(fold(rooted));
      else names.push(glob);
      continue;
    }
    // A directory is denied first, and everything below through it.
    const whole = rooted.replace(/\/\*\*$/, "");
    const glob = read(fold(rooted), pattern);
    const top = whole === rooted ? glob : read(fold(whole), pattern);
    const path = { glob, top, anchors: anchorsOf(whole) };
    paths.push(path);
    const last = rooted.split("/").at(-1) ?? "";
    const same = isPlain(last) && !GROUPS.test(rooted) ? (byName.get(fold(last)) ?? []) : others;
    same.push(path);
    if (same !== others) byName.set(fold(last), same);
  }
  const deniesFolded = (name: string): boolean => plainNames.has(name) || names.some((glob) => glob.matches(name));
  const deniesName = (name: string): boolean => deniesFolded(fold(name));
  const namedLike = (folded: string): readonly PathPattern[] => byName.get(folded) ?? NO_PATTERNS;
  return {
    deniesEntry: (directory, name) => {
      const folded = fold(name);
      if (deniesFolded(folded)) return true;
      const alike = namedLike(folded);
      if (alike.length + others.length === 0) return false;
      const path = fold([...directory, name].join("/"));
      return [alike, others].some((some) => some.some(({ glob }) => glob.matches(path)));
    },
    anchors: (directory, name) => {
      if (deniesName(name)) return [];
      const path = fold([...directory, name].join("/"));
      const depth = directory.length + 1;
      // One pattern suffices to deny the entry: take the one that depends on the fewest ancestors.
      return paths
        .filter(({ glob }) => glob.matches(path))
        .map(({ top, anchors }) => (top.matches(path) ? anchors(depth) : allAbove(depth)))
        .reduce((best, one) => (one.length < best.length ? one : best), allAbove(depth));
    },
    denies: (segments) => {
      if (segments.some(deniesName)) return true;
      if (paths.length === 0 || segments.length === 0) return false;
      const path = fold(segments.join("/"));
      return [others, ...segments.map((name) => namedLike(fold(name)))].some((some) =>
        some.some(({ glob }) => glob.covers(path)),
      );
    },
  };
}

const NO_PATTERNS: readonly PathPattern[] = [];

/** Whether a text stands for itself alone. */
const isPlain = (text: string): boolean => !/[*?[\]{}()!+@|\\]/.test(text);

/** The patterns of the sets are sound, and most are never asked: each is read at its first match. */
function atFirstUse(make: () => DenyGlob): DenyGlob {
  let made: DenyGlob | undefined;
  const matcher = (): DenyGlob => {
    made ??= make();
    return made;
  };
  return { matches: (text) => matcher().matches(text), covers: (path) => matcher().covers(path) };
}

function matcherOf(glob: string, pattern: string): DenyGlob {
  if (pattern.startsWith("!")) throw new Error("it cannot begin with '!'");
  if (glob === "") throw new Error("nothing can have that name");
  if (glob.split("/").some((part) => part === "" || part === "." || part === "..")) {
    throw new Error("it cannot hold '//', '.' or '..' as a part");
  }
  if (isAmbiguous(glob)) {
    throw new Error("put a backslash before '\"', before '+' behind a bracket, and before '|' outside of brackets");
  }
  try {
    return compileGlob(readGlobNodes(glob, { negation: true, groups: true }));
  } catch (error) {
    if (error instanceof GlobFault) throw new Error("a bracket, brace or range in it does not fit");
    throw error;
  }
}

/** Some programs read these as regular expression syntax: refused, lest a name meant to be denied stay open. */
function isAmbiguous(glob: string): boolean {
  let bare = glob.replace(/\\./gs, "");
  if (/"|[\])}]\+/.test(bare)) return true;
  for (let before = ""; before !== bare; ) {
    before = bare;
    bare = bare.replace(/\([^()]*\)/g, "");
  }
  return bare.includes("|");
}

/** Depths, from 1, of the directories above an entry that must keep their names so that it stays denied. */
type Anchors = (depth: number) => readonly number[];

/** Syntax for alternatives, or for a segment that may hold a slash. */
const GROUPS = /[\\{}()[\]]/;
const ANY_DEPTH = "**";

/**
 * The ancestors whose names a path pattern depends on. Directories matched by `**` may have any name and are left
 * out. With groups, several `**` or one at the end it is unclear which those are, so every ancestor counts.
 */
function anchorsOf(pattern: string): Anchors {
  const names = pattern.split("/");
  const first = names.indexOf(ANY_DEPTH);
  const isPlain = !GROUPS.test(pattern) && first === names.lastIndexOf(ANY_DEPTH) && names.at(-1) !== ANY_DEPTH;
  if (!isPlain || first < 0) return allAbove;
  // The last segment after `**` is the entry itself.
  const behind = names.length - first - 2;
  return (depth) => allAbove(depth).filter((at) => at <= first || at >= depth - behind);
}

const allAbove: Anchors = (depth) => Array.from({ length: Math.max(0, depth - 1) }, (_, index) => index + 1);
