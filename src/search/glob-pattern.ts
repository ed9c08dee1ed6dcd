import { invalidPattern } from "../core/texts.js";

/** A glob, ready to be compiled by the engine for regular expressions. */
export interface GlobPattern {
  /** For RE2, to be matched against the whole path below the base. */
  readonly expression: string;
  /** Directories that every match stands in, as far as the pattern names them. */
  readonly fixed: readonly string[];
  /** Most segments of a match. */
  readonly maxDepth: number;
  readonly onlyDirectories: boolean;
}

const SPECIAL = /[\\^$.|?*+()[\]{}]/g;
const MOST_OF_RANGE = 1000;
const EXTENDED: Readonly<Record<string, string>> = { "@": "", "?": "?", "*": "*", "+": "+" };

const inClass = (member: string): string => (/[\w\u0080-\uffff]/.test(member) ? member : `\\${member}`);
const literal = (text: string): string => text.replace(SPECIAL, "\\$&");

/**
 * Reads a glob. `*` and `?` do not cross `/`, `**` does as a whole segment, braces, classes and extended groups work,
 * names that begin with a dot match like others.
 * @throws INVALID_PATTERN
 */
export function readGlob(pattern: string): GlobPattern {
  const text = pattern.replace(/^(?:\.\/)+/, "");
  if (text === "") throw invalidPattern(pattern, "it is empty");
  if (text.startsWith("/")) throw invalidPattern(pattern, "must be relative to the path: at 0", 0);
  if (text.startsWith("!") && text[1] !== "(") throw invalidPattern(pattern, "use exclude in place of '!': at 0", 0);
  if (text.split("/").includes("..")) throw invalidPattern(pattern, "'..' is not allowed");
  const onlyDirectories = text.endsWith("/");
  const body = onlyDirectories ? text.replace(/\/+$/, "") : text;
  const expression = new GlobReader(pattern, body).read();
  const segments = body.split("/");
  const magic = segments.findIndex((segment, at) => at === segments.length - 1 || /[\\?*+@!()[\]{}]/.test(segment));
  const isFree = body.includes("**") || /[{(]/.test(body);
  return {
    expression,
    fixed: segments.slice(0, magic),
    maxDepth: isFree ? Number.POSITIVE_INFINITY : segments.length,
    onlyDirectories,
  };
}

/** One pass over a glob; every construct becomes one of about the same length. */
class GlobReader {
  readonly #pattern: string;
  readonly #text: string;
  #at = 0;

  constructor(pattern: string, text: string) {
    this.#pattern = pattern;
    this.#text = text;
  }

  read(): string {
    return this.#sequence("");
  }

  /** @param ends characters that end it; they are not taken */
  #sequence(ends: string): string {
    let made = "";
    while (this.#at < this.#text.length) {
      const char = this.#text[this.#at] ?? "";
      if (ends.includes(char)) break;
      made += this.#one(char);
    }
    return made;
  }

  #one(char: string): string {
    const next = this.#text[this.#at + 1];
    if (next === "(" && "@?*+!".includes(char)) return this.#extended(char);
    switch (char) {
      case "*":
        return this.#stars();
      case "?":
        this.#at++;
        return "[^/]";
      case "[":
        return this.#class();
      case "{":
        return this.#braces();
      case "(":
        return this.#group();
      case "/":
        return this.#slash();
      case "\\":
        if (next === undefined) throw this.#fault("it ends in a backslash", this.#at);
        this.#at += 2;
        return literal(next);
      default:
        this.#at++;
        return literal(char);
    }
  }

  #slash(): string {
    while (this.#text[this.#at] === "/") this.#at++;
    // `a/**` is `a` too, as `a/**/b` is `a/b`.
    if (!this.#isGlobstar(this.#at)) return "/";
    this.#skipStars();
    const isLast = !this.#isMore();
    return isLast ? "(?:/.*)?" : "(?:/[^/]+)*";
  }

  #stars(): string {
    const isFirst = this.#at === 0 || "/{,(|".includes(this.#text[this.#at - 1] ?? "");
    const isWhole = isFirst && this.#isGlobstar(this.#at);
    this.#skipStars();
    if (!isWhole) return "[^/]*";
    if (!this.#isMore()) return ".*";
    this.#at++;
    while (this.#text[this.#at] === "/") this.#at++;
    return "(?:[^/]+/)*";
  }

  /** Whether a slash goes on with the path. */
  #isMore = (): boolean => this.#text[this.#at] === "/";

  /** Two stars or more that are a whole segment. */
  #isGlobstar(at: number): boolean {
    let end = at;
    while (this.#text[end] === "*") end++;
    return end - at >= 2 && [undefined, "/", ",", "}", "|", ")"].includes(this.#text[end]);
  }

  #skipStars(): void {
    while (this.#text[this.#at] === "*") this.#at++;
  }

  #class(): string {
    const start = this.#at++;
    const isNot = "!^".includes(this.#text[this.#at] ?? " ");
    if (isNot) this.#at++;
    let members = "";
    for (let isFirst = true; ; isFirst = false) {
      const char = this.#text[this.#at];
      if (char === undefined) throw this.#fault("'[' is not closed", start);
      const named = /^\[:[a-z]+:\]/.exec(this.#text.slice(this.#at, this.#at + 12))?.[0];
      this.#at += named?.length ?? 1;
      if (char === "]" && !isFirst) break;
      const isEscape = char === "\\" && named === undefined;
      const member = isEscape ? (this.#text[this.#at++] ?? "") : char;
      if (member === "/") throw this.#fault("'/' in a class", start);
      const isDash = member === "-" && !isEscape;
      members += named ?? (isDash ? "-" : inClass(member));
    }
    return isNot ? `[^/${members}]` : `[${members}]`;
  }

  #braces(): string {
    const start = this.#at;
    const range = /^\{(-?\d+|[^{}/])\.\.(-?\d+|[^{}/])\}/u.exec(this.#text.slice(start));
    if (range !== null) {
      this.#at += range[0].length;
      return this.#range(range[1] ?? "", range[2] ?? "", start);
    }
    const parts = this.#alternatives(",", "}", "'{' is not closed");
    return parts.length === 1 ? `\\{${parts[0]}\\}` : `(?:${parts.join("|")})`;
  }

  #range(from: string, to: string, start: number): string {
    const isNumbers = /^-?\d+$/.test(from) && /^-?\d+$/.test(to);
    const [a, b] = isNumbers ? [Number(from), Number(to)] : [from.codePointAt(0) ?? 0, to.codePointAt(0) ?? 0];
    const [low, high] = [Math.min(a, b), Math.max(a, b)];
    if (high - low >= MOST_OF_RANGE) throw this.#fault(`a range may have ${MOST_OF_RANGE} members`, start);
    const all = Array.from({ length: high - low + 1 }, (_, index) => low + index);
    return `(?:${all.map((one) => (isNumbers ? String(one) : literal(String.fromCodePoint(one)))).join("|")})`;
  }

  #extended(kind: string): string {
    const start = this.#at;
    const suffix = EXTENDED[kind];
    if (suffix === undefined) throw this.#fault("'!(…)' is not supported, use exclude", start);
    this.#at++;
    return `(?:${this.#alternatives("|", ")", "'(' is not closed").join("|")})${suffix}`;
  }

  /** Only with a choice in it is it a group: directories are named `(app)`. */
  #group(): string {
    const before = this.#at;
    const close = this.#text.indexOf(")", before);
    if (close > 0 && this.#text.slice(before, close).includes("|")) {
      return `(?:${this.#alternatives("|", ")", "'(' is not closed").join("|")})`;
    }
    this.#at++;
    return "\\(";
  }

  #alternatives(separator: string, close: string, fault: string): string[] {
    const start = this.#at++;
    const parts: string[] = [];
    for (;;) {
      parts.push(this.#sequence(separator + close));
      const char = this.#text[this.#at++];
      if (char === undefined) throw this.#fault(fault, start);
      if (char === close) return parts;
    }
  }

  #fault(reason: string, at: number): Error {
    return invalidPattern(this.#pattern, `${reason}: at ${at}`, at);
  }
}
