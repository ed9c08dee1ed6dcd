import { type KeyPath, keyText } from "./key-path.js";

/** Line number (1-based) of each key and array item of a configuration, by its path: `file.roots.docs`. */
export type Lines = ReadonlyMap<string, number>;

/**
 * Finds the lines of all keys.
 *
 * @param text valid JSON5
 * @param unquote parses a quoted key
 */
export function linesOf(text: string, unquote: (quoted: string) => unknown): Lines {
  const scanner = new Scanner(text, unquote);
  scanner.value([]);
  return scanner.lines;
}

/** Prefixes a problem with the line of the first key it names, if known. @param above path prefix of its keys */
export function withLine(problem: string, lines: Lines, above = ""): string {
  // A mistake on the command line, not in the file.
  if (problem.endsWith(" by --root")) return problem;
  for (const [, quoted = ""] of problem.matchAll(/'([^']+)'/g)) {
    // Messages about a root that cannot be opened contain only its name.
    const places = problem.startsWith("Root '") ? [`file.roots.${quoted}`] : [quoted];
    const line = places.map((place) => lineOf(above + place, lines)).find((found) => found !== undefined);
    if (line !== undefined) return `line ${line}: ${problem}`;
  }
  return problem;
}

/** For a missing key, the line of its parent. */
function lineOf(path: string, lines: Lines): number | undefined {
  for (let at = path; at !== ""; at = at.replace(/(?:^|\.)[^.[\]]*$|\[[^[\]]*\]$/, "")) {
    const line = lines.get(at);
    if (line !== undefined) return line;
    if (!/[.[\]]/.test(at)) return undefined;
  }
  return undefined;
}

/** Sorts problems by line; those without a line come last. */
export const inOrder = (problems: readonly string[]): readonly string[] =>
  problems
    .map((problem) => ({ problem, line: Number(/^line ([0-9]+): /.exec(problem)?.[1] ?? Number.POSITIVE_INFINITY) }))
    .sort((one, other) => (one.line === other.line ? 0 : one.line - other.line))
    .map(({ problem }) => problem);

/** White space and comments. */
const BLANK = /(?:[\s\uFEFF]+|\/\/[^\n\r\u2028\u2029]*|\/\*[\s\S]*?\*\/)*/y;
const QUOTED = /"(?:[^"\\]|\\[\s\S])*"|'(?:[^'\\]|\\[\s\S])*'/y;
const BARE = /[^\s\uFEFF,:{}[\]/"']+/y;

class Scanner {
  readonly lines = new Map<string, number>();
  readonly #text: string;
  readonly #unquote: (quoted: string) => unknown;
  #at = 0;
  #line = 1;

  constructor(text: string, unquote: (quoted: string) => unknown) {
    this.#text = text;
    this.#unquote = unquote;
  }

  value(path: KeyPath): void {
    this.#blank();
    if (this.#takes("{")) this.#all("}", () => this.#member(path));
    else if (this.#takes("[")) this.#all("]", (index) => this.#item([...path, index]));
    else this.#scalar();
  }

  #all(end: string, next: (index: number) => void): void {
    for (let index = 0; ; index++) {
      this.#blank();
      if (this.#takes(end) || this.#at >= this.#text.length) return;
      next(index);
      this.#blank();
      this.#takes(",");
    }
  }

  #member(path: KeyPath): void {
    const line = this.#line;
    const key = this.#scalar();
    const name = /^["']/.test(key) ? String(this.#unquote(key)) : key;
    this.lines.set(keyText([...path, name]), line);
    this.#blank();
    this.#takes(":");
    this.value([...path, name]);
  }

  #item(path: KeyPath): void {
    this.lines.set(keyText(path), this.#line);
    this.value(path);
  }

  #blank(): void {
    this.#match(BLANK);
  }

  /** @returns at least one character, so that scanning terminates even for invalid text */
  #scalar(): string {
    return this.#match(QUOTED) || this.#match(BARE) || this.#match(/[\s\S]/y);
  }

  #takes(character: string): boolean {
    if (this.#text[this.#at] !== character) return false;
    this.#at++;
    return true;
  }

  #match(pattern: RegExp): string {
    pattern.lastIndex = this.#at;
    const [found = ""] = pattern.exec(this.#text) ?? [];
    this.#at += found.length;
    // Counts lines as the JSON5 parser does in its error messages.
    this.#line += found.split("\n").length - 1;
    return found;
  }
}
