// Translates the tests of `find` into globs of `file:glob`.

import { UsageError } from "../options.js";

/** Maximum number of patterns in a search; each level of `-maxdepth` takes one per name. */
const MAX_DEPTH = 20;
/** Characters special in globs of operations, but literal in those of `find`. */
const LITERAL = /[{}()|]/g;

export interface FindTests {
  /** Globs matched against the file name (`-name`). */
  readonly names: readonly string[];
  /** Globs matched against the path from the start (`-path`). */
  readonly paths: readonly string[];
  readonly maxDepth: number | undefined;
}

/** Translates options of `find` into patterns of `file:glob`. `undefined`: nothing can match. @throws UsageError */
export function findGlobs({ names, paths, maxDepth }: FindTests): readonly string[] | undefined {
  if (names.length > 0 && paths.length > 0) throw new UsageError("'find' takes either -name or -path");
  if (paths.length > 0) {
    if (maxDepth !== undefined) throw new UsageError("'find' takes -maxdepth with -name, not with -path");
    return paths.map((path) => (path.includes("/") ? path : `./${path}`));
  }
  const own = (names.length === 0 ? ["*"] : names).map(nameGlob);
  if (maxDepth === undefined) return own.map((glob) => `**/${glob}`);
  if (maxDepth === 0) return undefined;
  if (maxDepth * own.length > MAX_DEPTH) {
    throw new UsageError(`-maxdepth can be at most ${Math.floor(MAX_DEPTH / own.length)} here`);
  }
  return own.flatMap((glob) => Array.from({ length: maxDepth }, (_, depth) => `./${"*/".repeat(depth)}${glob}`));
}

function nameGlob(name: string): string {
  if (name.includes("/")) throw new UsageError("-name takes the glob of a name; for a path there is -path");
  const plain = name.replace(LITERAL, "\\$&");
  return plain.startsWith("!") ? `\\${plain}` : plain;
}

/** A glob that matches in any case: each letter becomes a class of both its forms (`-iname`). */
export const ignoreCaseGlob = (name: string): string =>
  name.replace(/\\.|\[([!^]?)(\]?[^\]]*)\]|\p{L}/gsu, (found, not: string | undefined, members: string | undefined) => {
    if (found.startsWith("\\")) return found;
    if (members !== undefined) return `[${not}${members}${swapCase(members)}]`;
    const other = swapCase(found);
    return other === found ? found : `[${found}${other}]`;
  });

const swapCase = (text: string): string =>
  [...text].map((one) => (one === one.toLowerCase() ? upperCaseOf(one) : one.toLowerCase())).join("");

/** Only letters whose other form is one letter too. */
const upperCaseOf = (letter: string): string =>
  [...letter.toUpperCase()].length === 1 ? letter.toUpperCase() : letter;
