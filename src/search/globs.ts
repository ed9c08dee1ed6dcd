import { invalidInput, invalidPattern } from "../core/texts.js";
import { type GlobPattern, readGlob } from "./glob-pattern.js";

const MOST_PATTERNS = 20;
const MOST_CHARS = 1000;

/** By far the most common ones: the end of a name, wherever the file is. */
const ENDING = /^\*\*\/\*([\w.-]*)$/;

interface Compiled extends GlobPattern {
  test(path: string): boolean;
}

/** What some globs together match. Time is linear in the path, whatever the patterns. */
export class Globs {
  readonly #all: readonly Compiled[];

  constructor(all: readonly Compiled[]) {
    this.#all = all;
  }

  /** @param path below the base, without a trailing slash */
  matches(path: string, isDirectory: boolean): boolean {
    return this.#all.some((glob) => (isDirectory || !glob.onlyDirectories) && glob.test(path));
  }

  /** Whether something below the directory can match. @param segments below the base */
  reaches(segments: readonly string[]): boolean {
    return this.#all.some(
      ({ fixed, maxDepth }) =>
        segments.length < maxDepth && segments.every((name, at) => at >= fixed.length || fixed[at] === name),
    );
  }
}

/** @param field of the input, for errors @throws INVALID_PATTERN, INVALID_INPUT */
export async function compileGlobs(patterns: string | readonly string[], field: string): Promise<Globs> {
  const all = typeof patterns === "string" ? [patterns] : patterns;
  if (all.length === 0 || all.length > MOST_PATTERNS) {
    throw invalidInput(
      `'${field}' must be 1 to ${MOST_PATTERNS} patterns`,
      `/${field}`,
      `1..${MOST_PATTERNS} patterns`,
    );
  }
  const { RE2JS } = await import("re2js");
  return new Globs(
    all.map((pattern): Compiled => {
      if (pattern.length > MOST_CHARS) {
        throw invalidPattern(`${pattern.slice(0, 40)}…`, `longer than ${MOST_CHARS} characters`);
      }
      const glob = readGlob(pattern);
      const ending = ENDING.exec(pattern)?.[1];
      if (ending !== undefined) return { ...glob, test: (path) => path.endsWith(ending) };
      try {
        const re = RE2JS.compile(glob.expression, RE2JS.DOTALL);
        return { ...glob, test: (path) => re.testExact(path) };
      } catch {
        throw invalidPattern(pattern, "a class or range in it is not valid");
      }
    }),
  );
}
