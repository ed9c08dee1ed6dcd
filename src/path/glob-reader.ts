// Parses globs into nodes for matching.

import { readClass } from "./glob-class.js";
import { type Glob, type GlobNode, nodesOf, type Repeat } from "./glob-match.js";

const MAX_RANGE = 1000;
/** Most parts in a repeated group: each is tried at each character. */
const MAX_REPEATED = 100;

/** Characters without a meaning in any glob. */
const PLAIN = /[\w.-]+/y;

/** A syntax error in a glob. */
export class GlobFault extends Error {
  /** Position of the fault in characters, from 0. */
  readonly position: number;

  constructor(reason: string, position: number) {
    super(reason);
    this.name = "GlobFault";
    this.position = position;
  }
}

export interface GlobSyntax {
  /** `!(…)` is allowed. */
  readonly negation: boolean;
  /** Every `(…)` is a group, not only one that contains `|`. */
  readonly groups: boolean;
}

/**
 * Parses a glob. `*` and `?` do not match `/`; `**` as a whole segment does. Braces, classes and extended groups work;
 * names with a leading dot match like others.
 * @throws GlobFault
 */
export function readGlobNodes(text: string, syntax: GlobSyntax): Glob {
  return new GlobReader(text, syntax).read();
}

/** A one-pass parser; every construct becomes one node. */
class GlobReader {
  readonly #text: string;
  readonly #syntax: GlobSyntax;
  #at = 0;

  constructor(text: string, syntax: GlobSyntax) {
    this.#text = text;
    this.#syntax = syntax;
  }

  read(): Glob {
    return this.#sequence("");
  }

  /** @param ends characters that end the sequence; they are not consumed */
  #sequence(ends: string): Glob {
    const made: GlobNode[] = [];
    while (this.#at < this.#text.length) {
      const char = this.#text[this.#at] ?? "";
      if (ends.includes(char)) break;
      for (const node of this.#one(char)) append(made, node);
    }
    return made;
  }

  #one(char: string): GlobNode[] {
    const next = this.#text[this.#at + 1];
    if (next === "(" && isRepeat(char)) return [this.#extended(char)];
    switch (char) {
      case "*":
        return [this.#stars()];
      case "?":
        this.#at++;
        return [{ kind: "one", has: () => true }];
      case "[":
        return [this.#class()];
      case "{":
        return this.#braces();
      case "(":
        return [this.#group()];
      case "/":
        return [this.#slash()];
      case "\\":
        if (next === undefined) throw new GlobFault("it ends in a backslash", this.#at);
        this.#at += 2;
        return [literal(next)];
      default:
        return [this.#run()];
    }
  }

  /** Characters that stand for themselves, together where there are several. */
  #run(): GlobNode {
    PLAIN.lastIndex = this.#at;
    const text = PLAIN.exec(this.#text)?.[0] ?? this.#text.charAt(this.#at);
    this.#at += text.length;
    return literal(text);
  }

  #slash(): GlobNode {
    while (this.#text[this.#at] === "/") this.#at++;
    // `a/**` also matches `a`, as `a/**/b` matches `a/b`.
    if (!this.#isGlobstar(this.#at)) return literal("/");
    this.#skipStars();
    return { kind: this.#isMore() ? "below" : "tail" };
  }

  #stars(): GlobNode {
    const isFirst = this.#at === 0 || "/{,(|".includes(this.#text[this.#at - 1] ?? "");
    const isWhole = isFirst && this.#isGlobstar(this.#at);
    this.#skipStars();
    if (!isWhole) return { kind: "star" };
    if (!this.#isMore()) return { kind: "any" };
    while (this.#text[this.#at] === "/") this.#at++;
    return { kind: "folders" };
  }

  #isMore = (): boolean => this.#text[this.#at] === "/";

  /** Whether two or more stars make up a whole segment. */
  #isGlobstar(at: number): boolean {
    let end = at;
    while (this.#text[end] === "*") end++;
    return end - at >= 2 && [undefined, "/", ",", "}", "|", ")"].includes(this.#text[end]);
  }

  #skipStars(): void {
    while (this.#text[this.#at] === "*") this.#at++;
  }

  #class(): GlobNode {
    const found = readClass(this.#text, this.#at);
    if (typeof found === "string") throw new GlobFault(found, this.#at);
    this.#at = found.end;
    return { kind: "one", has: found.has };
  }

  #braces(): GlobNode[] {
    const start = this.#at;
    const range = /^\{(-?\d+|[^{}/])\.\.(-?\d+|[^{}/])\}/u.exec(this.#text.slice(start));
    if (range !== null) {
      this.#at += range[0].length;
      return [readRange(range[1] ?? "", range[2] ?? "", start)];
    }
    const choices = this.#alternatives(",", "}", "'{' is not closed");
    if (choices.length > 1) return [{ kind: "group", choices, repeat: "@" }];
    return [literal("{"), ...(choices[0] ?? []), literal("}")];
  }

  #extended(repeat: Repeat): GlobNode {
    const start = this.#at;
    if (repeat === "!" && !this.#syntax.negation) throw new GlobFault("'!(…)' is not supported, use exclude", start);
    this.#at++;
    const choices = this.#alternatives("|", ")", "'(' is not closed");
    if ((repeat === "*" || repeat === "+") && choices.reduce((sum, one) => sum + nodesOf(one), 0) > MAX_REPEATED) {
      throw new GlobFault(`a repeated group may have ${MAX_REPEATED} parts`, start);
    }
    return { kind: "group", choices, repeat };
  }

  /** Without `syntax.groups`, a group only if it contains `|`: directories may be named `(app)`. */
  #group(): GlobNode {
    const before = this.#at;
    const close = this.#text.indexOf(")", before);
    if (this.#syntax.groups || (close > 0 && this.#text.slice(before, close).includes("|"))) {
      return { kind: "group", choices: this.#alternatives("|", ")", "'(' is not closed"), repeat: "@" };
    }
    this.#at++;
    return literal("(");
  }

  #alternatives(separator: string, close: string, fault: string): Glob[] {
    const start = this.#at++;
    const parts: Glob[] = [];
    for (;;) {
      parts.push(this.#sequence(separator + close));
      const char = this.#text[this.#at++];
      if (char === undefined) throw new GlobFault(fault, start);
      if (char === close) return parts;
    }
  }
}

const literal = (text: string): GlobNode => ({ kind: "text", text });

const isRepeat = (char: string): char is Repeat => "@?*+!".includes(char);

/** Appends a node; merges adjacent texts, and adjacent stars. */
function append(nodes: GlobNode[], node: GlobNode): void {
  const last = nodes.at(-1);
  if (last?.kind === "text" && node.kind === "text") nodes[nodes.length - 1] = literal(last.text + node.text);
  else if (last?.kind !== "star" || node.kind !== "star") nodes.push(node);
}

function readRange(from: string, to: string, start: number): GlobNode {
  const isNumbers = /^-?\d+$/.test(from) && /^-?\d+$/.test(to);
  const [a, b] = isNumbers ? [Number(from), Number(to)] : [from.codePointAt(0) ?? 0, to.codePointAt(0) ?? 0];
  const [low, high] = [Math.min(a, b), Math.max(a, b)];
  if (high - low >= MAX_RANGE) throw new GlobFault(`a range may have ${MAX_RANGE} members`, start);
  if (isNumbers) return { kind: "number", low, high };
  const has = (char: string): boolean => {
    const code = char.codePointAt(0) ?? 0;
    return low <= code && code <= high;
  };
  return { kind: "one", has };
}
