// Finds the line and column of each key in a JSON5 text, so that messages can name the place.

import { escapeText } from "../core/errors/texts.js";
import { type KeyPath, keyText } from "./errors.js";

/** Where something stands in a text; both count from 1, columns in UTF-16 units. */
export interface Position {
  readonly line: number;
  readonly column: number;
}

/** Position of each key and array item of a configuration, by its path: `file.roots.docs`. */
export type Positions = ReadonlyMap<string, Position>;

/** A configuration file and where its keys stand. */
export interface Located {
  /** Name of the file as its author gave it. */
  readonly file: string;
  readonly positions: Positions;
}

/** A problem with a configuration. */
export interface Problem {
  readonly text: string;
  /** Path prefix of the keys it names: `venues[0].`. */
  readonly above?: string;
}

/** A key that an object has twice; to a parser the last one counts. */
interface Duplicate {
  readonly key: string;
  readonly first: Position;
  readonly again: Position;
}

/**
 * Finds the positions of all keys.
 *
 * @param text valid JSON5
 * @param unquote parses a quoted key
 */
export function positionsOf(text: string, unquote: (quoted: string) => unknown): Positions {
  return scan(text, unquote).positions;
}

/** Finds the keys that an object has twice. @param text valid JSON5 @param unquote parses a quoted key */
export function duplicatesIn(text: string, unquote: (quoted: string) => unknown): readonly Duplicate[] {
  return scan(text, unquote).duplicates;
}

function scan(text: string, unquote: (quoted: string) => unknown): Scanner {
  const scanner = new Scanner(text, unquote);
  scanner.value([]);
  return scanner;
}

/**
 * Puts `file:line:column` of the first key it names before each problem, in the order of the file. Problems that name
 * none of its keys come last, as they are.
 */
export function locate(problems: readonly Problem[], { file, positions }: Located): readonly string[] {
  const placed = problems.map((problem) => ({ text: problem.text, at: positionOf(problem, positions) }));
  const lines = placed
    .sort((one, other) => compare(one.at, other.at))
    .map(({ text, at }) => (at === undefined ? text : `${place(file, at)}: ${text}`));
  return [...new Set(lines)];
}

/** `venue.json5:3:9`, as editors and terminals open it. */
export const place = (file: string, { line, column }: Position): string => `${escapeText(file)}:${line}:${column}`;

function compare(one: Position | undefined, other: Position | undefined): number {
  if (one === undefined || other === undefined) return Number(one === undefined) - Number(other === undefined);
  return one.line - other.line || one.column - other.column;
}

function positionOf({ text, above = "" }: Problem, positions: Positions): Position | undefined {
  // A mistake on the command line, not in the file.
  if (text.endsWith(" by --root")) return undefined;
  if (text.startsWith("Config must ")) return { line: 1, column: 1 };
  for (const key of keysIn(text)) {
    const found = nearestPosition(above + key, positions);
    if (found !== undefined) return found;
  }
  return undefined;
}

/** The keys that a message is about. */
function keysIn(text: string): readonly string[] {
  // Messages about a listener contain none of its keys, those about a root that cannot be opened only its name.
  if (text.startsWith("Refusing to start: ")) return text.includes("'") ? ["hostname"] : ["baseUrl", "trustProxy"];
  const quoted = [...text.matchAll(/'([^']+)'/g)].map(([, key = ""]) => key);
  return text.startsWith("Root '") ? quoted.map((name) => `file.roots.${name}`) : quoted;
}

/** For a missing key, the position of its parent. */
function nearestPosition(path: string, positions: Positions): Position | undefined {
  for (let at = path; at !== ""; at = at.replace(/(?:^|\.)[^.[\]]*$|\[[^[\]]*\]$/, "")) {
    const found = positions.get(at);
    if (found !== undefined) return found;
    if (!/[.[\]]/.test(at)) return undefined;
  }
  return undefined;
}

/** White space and comments. */
const BLANK = /(?:[\s\uFEFF]+|\/\/[^\n\r\u2028\u2029]*|\/\*[\s\S]*?\*\/)*/y;
const QUOTED = /"(?:[^"\\]|\\[\s\S])*"|'(?:[^'\\]|\\[\s\S])*'/y;
const BARE = /[^\s\uFEFF,:{}[\]/"']+/y;

class Scanner {
  readonly positions = new Map<string, Position>();
  readonly duplicates: Duplicate[] = [];
  readonly #text: string;
  readonly #unquote: (quoted: string) => unknown;
  #at = 0;
  #line = 1;
  /** Offset at which the line begins. */
  #start = 0;

  constructor(text: string, unquote: (quoted: string) => unknown) {
    this.#text = text;
    this.#unquote = unquote;
  }

  value(path: KeyPath): void {
    this.#blank();
    const names = new Map<string, Position>();
    if (this.#takes("{")) this.#all("}", () => this.#member(path, names));
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

  /** @param names those of the same object so far */
  #member(path: KeyPath, names: Map<string, Position>): void {
    const position = this.#position();
    const key = this.#scalar();
    // Bare keys may hold escapes too.
    const quoted = /^["']/.test(key) ? key : key.includes("\\") ? `"${key}"` : undefined;
    const name = quoted === undefined ? key : String(this.#unquote(quoted));
    const first = names.get(name);
    if (first === undefined) names.set(name, position);
    else this.duplicates.push({ key: keyText([...path, name]), first, again: position });
    this.positions.set(keyText([...path, name]), position);
    this.#blank();
    this.#takes(":");
    this.value([...path, name]);
  }

  #item(path: KeyPath): void {
    this.positions.set(keyText(path), this.#position());
    this.value(path);
  }

  #position(): Position {
    return { line: this.#line, column: this.#at - this.#start + 1 };
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
    // Counts lines as the JSON5 parser does in its error messages.
    this.#line += found.split("\n").length - 1;
    if (found.includes("\n")) this.#start = this.#at + found.lastIndexOf("\n") + 1;
    this.#at += found.length;
    return found;
  }
}
