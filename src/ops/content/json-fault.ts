// Locates the first syntax error in a text that is not JSON (RFC 8259).

import { stringEnd } from "../../schema/exact-json.js";

/** The next token that the grammar allows: a value, a member name, …, or only the end. */
type Expected = "value" | "value or ]" | "name" | "name or }" | ":" | ", or end";

interface Token {
  readonly kind: "string" | "scalar" | "{" | "}" | "[" | "]" | ":" | ",";
  readonly end: number;
}

/**
 * Describes a JSON syntax error and its position, without quoting the text. V8's own message depends on its version
 * and often gives no position.
 * @param text known not to be JSON
 */
export function jsonFault(text: string): string {
  const at = faultAt(text);
  if (at === text.length) return "unexpected end";
  let line = 1;
  let start = 0;
  for (let next = text.indexOf("\n"); next >= 0 && next < at; next = text.indexOf("\n", start)) {
    line++;
    start = next + 1;
  }
  return `unexpected character at line ${line}, column ${at - start + 1}`;
}

/** Position of the first token that is malformed or misplaced; the length of the text if it only ends too soon. */
function faultAt(text: string): number {
  const open: ("}" | "]")[] = [];
  let expected: Expected = "value";
  for (let at = skipSpace(text, 0); at < text.length; ) {
    const token = tokenAt(text, at);
    if (token === "endless") return text.length;
    const next: Expected | undefined = token && follow(token.kind, expected, open);
    if (token === undefined || next === undefined) return at;
    expected = next;
    at = skipSpace(text, token.end);
  }
  return text.length;
}

/** The token that the grammar allows after this one; `undefined` if this one is misplaced. */
function follow(kind: Token["kind"], expected: Expected, open: ("}" | "]")[]): Expected | undefined {
  if (expected === ":") return kind === ":" ? "value" : undefined;
  if (kind === "}" || kind === "]") {
    const closes = expected === ", or end" || expected === (kind === "}" ? "name or }" : "value or ]");
    return closes && open.pop() === kind ? ", or end" : undefined;
  }
  if (expected === ", or end") {
    if (kind !== ",") return undefined;
    return open.length === 0 ? undefined : open.at(-1) === "}" ? "name" : "value";
  }
  if (expected === "name" || expected === "name or }") return kind === "string" ? ":" : undefined;
  if (kind === "string" || kind === "scalar") return ", or end";
  if (kind !== "{" && kind !== "[") return undefined;
  open.push(kind === "{" ? "}" : "]");
  return kind === "{" ? "name or }" : "value or ]";
}

function tokenAt(text: string, at: number): Token | "endless" | undefined {
  const first = text[at];
  switch (first) {
    case "{":
    case "}":
    case "[":
    case "]":
    case ":":
    case ",":
      return { kind: first, end: at + 1 };
    case '"': {
      const end = stringEnd(text, at);
      if (end === undefined) return "endless";
      return isJson(text.slice(at, end)) ? { kind: "string", end } : undefined;
    }
    default: {
      let end = at;
      while (end < text.length && /[\w+.-]/.test(text[end] ?? "")) end++;
      return isJson(text.slice(at, end)) ? { kind: "scalar", end } : undefined;
    }
  }
}

function skipSpace(text: string, from: number): number {
  let at = from;
  while (at < text.length && " \t\n\r".includes(text[at] ?? "x")) at++;
  return at;
}

function isJson(token: string): boolean {
  try {
    JSON.parse(token);
    return true;
  } catch {
    return false;
  }
}
