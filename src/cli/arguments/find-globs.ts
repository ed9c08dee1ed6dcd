import { UsageError } from "./options.js";

/** A search has at most so many patterns. */
const MOST_DEPTH = 20;
/** What globs of operations give a meaning, and those of `find` do not. */
const LITERAL = /[{}()|]/g;

export interface FindWish {
  /** Globs of a name of its own. */
  readonly names: readonly string[];
  /** Globs of a path from the start. */
  readonly paths: readonly string[];
  readonly maxDepth: number | undefined;
}

/** What `file:glob` is asked for. `undefined`: nothing can be found. @throws UsageError */
export function findGlobs({ names, paths, maxDepth }: FindWish): readonly string[] | undefined {
  if (names.length > 0 && paths.length > 0) throw new UsageError("'find' takes either -name or -path");
  if (paths.length > 0) {
    if (maxDepth !== undefined) throw new UsageError("'find' takes -maxdepth with -name, not with -path");
    return paths;
  }
  const own = (names.length === 0 ? ["*"] : names).map(nameGlob);
  if (maxDepth === undefined) return own.map((glob) => `**/${glob}`);
  if (maxDepth === 0) return undefined;
  if (maxDepth * own.length > MOST_DEPTH) {
    throw new UsageError(`-maxdepth can be at most ${Math.floor(MOST_DEPTH / own.length)} here`);
  }
  return own.flatMap((glob) => Array.from({ length: maxDepth }, (_, depth) => `${"*/".repeat(depth)}${glob}`));
}

function nameGlob(name: string): string {
  if (name.includes("/")) throw new UsageError("-name takes the glob of a name; for a path there is -path");
  const plain = name.replace(LITERAL, "\\$&");
  return plain.startsWith("!") ? `\\${plain}` : plain;
}
