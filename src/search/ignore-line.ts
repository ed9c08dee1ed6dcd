// Parses one line of an ignore file.

import { readClass } from "../path/glob-class.js";
import { compileGlob, type Glob, type GlobNode } from "../path/glob-match.js";

/** One pattern of an ignore file, as defined by gitignore(5). */
export interface IgnoreRule {
  /** Re-includes what earlier rules ignore (`!`). */
  readonly isException: boolean;
  readonly onlyDirectories: boolean;
  /** The pattern matches the base name at any depth; otherwise the path relative to the ignore file. */
  readonly isName: boolean;
  /** The name, if it matches exactly one. */
  readonly name: string | undefined;
  /** Upper bound of the matching steps per character. */
  readonly weight: number;
  /** @param text the base name or the path, by `isName` */
  matches(text: string): boolean;
}

/**
 * Text of a pattern or a path, as Git compares it where names fold (`core.ignoreCase`, `core.precomposeUnicode`): only ASCII letters
 * lose their case.
 */
export const foldForGit = (text: string): string =>
  text
    .normalize("NFC")
    .replace(/[A-Z]+/g, (letters) => letters.toLowerCase())
    .replaceAll("[:upper:]", "[:lower:]");

/** Plain names and name suffixes, the most common patterns. */
const PLAIN = /^\*?[^*?[\\/]+$/;

/**
 * Parses a line. The pattern itself is compiled on first use: most files have more lines than a walk needs.
 * @returns `undefined` for an empty line or a comment
 */
export function readIgnoreLine(line: string): IgnoreRule | undefined {
  const isException = line.startsWith("!");
  const text = trimEnd(isException ? line.slice(1) : line);
  if (text === "" || line.startsWith("#")) return undefined;
  const onlyDirectories = text.endsWith("/");
  const body = onlyDirectories ? text.slice(0, -1) : text;
  const isName = !body.includes("/");
  if (body === "") return undefined;
  const isPlain = PLAIN.test(body);
  const name = isPlain && !body.startsWith("*") ? body : undefined;
  const weight = isPlain ? 1 : body.length;
  return { isException, onlyDirectories, isName, name, weight, matches: matchLater(body) };
}

function matchLater(body: string): IgnoreRule["matches"] {
  let matches: IgnoreRule["matches"] | undefined;
  return (text) => {
    matches ??= matchOf(readNodes(body.startsWith("/") ? body.slice(1) : body));
    return matches(text);
  };
}

/** An invalid pattern matches nothing. */
const matchOf = (nodes: Glob | undefined): IgnoreRule["matches"] =>
  nodes === undefined || nodes.length === 0 ? () => false : compileGlob(nodes).matches;

/** Removes trailing spaces, except one escaped by a backslash. */
function trimEnd(text: string): string {
  let end = text.length;
  while (text[end - 1] === " ") end--;
  let slashes = 0;
  while (text[end - 1 - slashes] === "\\") slashes++;
  return text.slice(0, end < text.length && slashes % 2 === 1 ? end + 1 : end);
}

function readNodes(text: string): Glob | undefined {
  const nodes: GlobNode[] = [];
  for (let at = 0; at < text.length; ) {
    const read = readOne(text, at);
    if (read === undefined) return undefined;
    const last = nodes.at(-1);
    if (last?.kind === "text" && read.node.kind === "text") {
      nodes[nodes.length - 1] = { kind: "text", text: last.text + read.node.text };
    } else nodes.push(read.node);
    at = read.end;
  }
  return nodes;
}

const LITERAL = /^[^*?[/\\]+/;

function readOne(text: string, at: number): { node: GlobNode; end: number } | undefined {
  const char = text[at] ?? "";
  switch (char) {
    case "*":
      return readStars(text, at);
    case "?":
      return { node: { kind: "one", has: () => true }, end: at + 1 };
    case "[": {
      const found = readClass(text, at);
      return typeof found === "string" ? undefined : { node: { kind: "one", has: found.has }, end: found.end };
    }
    case "/": {
      const stars = starsAt(text, at + 1);
      const isBetween = stars >= 2 && text[at + 1 + stars] === "/";
      return isBetween
        ? { node: { kind: "below" }, end: at + 1 + stars }
        : { node: { kind: "text", text: char }, end: at + 1 };
    }
    case "\\": {
      const escaped = text[at + 1];
      return escaped === undefined ? undefined : { node: { kind: "text", text: escaped }, end: at + 2 };
    }
    default: {
      const plain = LITERAL.exec(text.slice(at))?.[0] ?? char;
      return { node: { kind: "text", text: plain }, end: at + plain.length };
    }
  }
}

/** Two or more stars match directories only if they make up a whole segment. */
function readStars(text: string, at: number): { node: GlobNode; end: number } {
  const end = at + starsAt(text, at);
  const isWhole = end - at >= 2 && (at === 0 || text[at - 1] === "/");
  if (isWhole && end === text.length) return { node: { kind: "any" }, end };
  if (isWhole && text[end] === "/") return { node: { kind: "folders" }, end: end + 1 };
  return { node: { kind: "star" }, end };
}

function starsAt(text: string, at: number): number {
  let end = at;
  while (text[end] === "*") end++;
  return end - at;
}
