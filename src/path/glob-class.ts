// Parses bracket expressions (character classes) of globs.

/** POSIX named classes such as `[:alpha:]`, ASCII only. */
const NAMED: Readonly<Record<string, RegExp>> = {
  alnum: /[A-Za-z0-9]/,
  alpha: /[A-Za-z]/,
  ascii: /[\0-\x7f]/,
  blank: /[ \t]/,
  cntrl: /[\0-\x1f\x7f]/,
  digit: /[0-9]/,
  graph: /[\x21-\x7e]/,
  lower: /[a-z]/,
  print: /[\x20-\x7e]/,
  punct: /[!-/:-@[-`{-~]/,
  space: /[ \t\r\n\v\f]/,
  upper: /[A-Z]/,
  word: /[A-Za-z0-9_]/,
  xdigit: /[0-9A-Fa-f]/,
};

export interface GlobClass {
  readonly has: (char: string) => boolean;
  /** Position after the closing bracket. */
  readonly end: number;
}

type Member = (char: string) => boolean;

/**
 * Reads a class such as `[a-z]`, `[!a]` or `[[:digit:]_]`.
 * @param at position of its opening bracket @returns a text saying why it is invalid, if it is
 */
export function readClass(text: string, at: number): GlobClass | string {
  const isNot = text[at + 1] === "!" || text[at + 1] === "^";
  let next = at + (isNot ? 2 : 1);
  const members: Member[] = [];
  for (let isFirst = true; ; isFirst = false) {
    if (next >= text.length) return "'[' is not closed";
    if (text[next] === "]" && !isFirst) break;
    const named = /^\[:([a-z]+):\]/.exec(text.slice(next, next + 12));
    if (named !== null) {
      const expression = NAMED[named[1] ?? ""];
      if (expression === undefined) return "a class or range in it is not valid";
      members.push((char) => expression.test(char));
      next += named[0].length;
      continue;
    }
    const low = readMember(text, next);
    if (low === undefined) return "'[' is not closed";
    next = low.end;
    let high: ReturnType<typeof readMember> = low;
    if (text[next] === "-" && text[next + 1] !== "]" && next + 1 < text.length) {
      high = readMember(text, next + 1);
      if (high === undefined) return "'[' is not closed";
      next = high.end;
    }
    if (low.char === "/" || high.char === "/") return "'/' in a class";
    const [from, to] = [low.char.codePointAt(0) ?? 0, high.char.codePointAt(0) ?? 0];
    if (to < from) return "a class or range in it is not valid";
    members.push((char) => {
      const code = char.codePointAt(0) ?? 0;
      return from <= code && code <= to;
    });
  }
  return { has: (char) => members.some((member) => member(char)) !== isNot, end: next + 1 };
}

function readMember(text: string, at: number): { char: string; end: number } | undefined {
  const escaped = text[at] === "\\";
  const code = text.codePointAt(escaped ? at + 1 : at);
  if (code === undefined) return undefined;
  const char = String.fromCodePoint(code);
  return { char, end: at + (escaped ? 1 : 0) + char.length };
}
