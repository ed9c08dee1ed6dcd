// The names of files in unified diffs: quoted or not, with prefixes and times, or absent.

import { fault } from "./lines.js";

const ABSENT = "/dev/null";
/** Times that `diff -N` gives to a file that is not there, in any time zone; and the words of Subversion. */
const NOT_THERE = /^(?:1970-01-0[12]|1969-12-31)[ T]|^\((?:nonexistent|revision 0)\)/;
/** Time or revision behind a name without a tab. */
const BEHIND = /(?<! ) +(\d{4}-\d\d-\d\d[ T]\d\d:\d\d.*|\((?:revision \d+|working copy|nonexistent)\))$/s;
/** Characters of two names, more than any path has. */
const MAX_NAMES = 10_000;
const ESCAPES: Readonly<Record<string, string>> = {
  ...{ a: "\x07", b: "\b", t: "\t", n: "\n", v: "\v", f: "\f", r: "\r" },
};

/** The name of one side of a file. */
export interface Side {
  readonly name: string;
  readonly isAbsent: boolean;
}

/** The names of both sides, as the command of git has them. */
export interface Sides {
  readonly old: string;
  readonly new: string;
}

/** The name behind `---` or `+++`. */
export function sideOf(text: string, number: number): Side {
  if (text.startsWith('"')) {
    const [name, rest] = unquoted(text, number);
    return { name, isAbsent: NOT_THERE.test(rest.trim()) };
  }
  const [name = "", more] = text.split("\t", 2);
  const [, behind = more ?? ""] = (more === undefined ? BEHIND.exec(name) : null) ?? [];
  const bare = (more === undefined ? name.replace(BEHIND, "") : name).trim();
  return { name: bare, isAbsent: bare === ABSENT || NOT_THERE.test(behind) };
}

/** A whole name, as behind `rename from`. */
export const bareName = (text: string, number: number): string =>
  text.startsWith('"') ? unquoted(text, number)[0] : text;

/** The two names of a `diff --git` command; `undefined`: they cannot be told apart. */
export function gitSides(text: string, number: number): Sides | undefined {
  if (text.startsWith('"')) {
    const [old, rest] = unquoted(text, number);
    return { old, new: bareName(rest.slice(1), number) };
  }
  const quoted = text.indexOf(' "');
  if (quoted > 0 && text.endsWith('"')) {
    return { old: text.slice(0, quoted), new: bareName(text.slice(quoted + 1), number) };
  }
  if (text.length > MAX_NAMES) return undefined;
  // Names may have spaces. Where both sides have one name, it says where the first one ends.
  for (let at = text.indexOf(" "); at > 0; at = text.indexOf(" ", at + 1)) {
    const sides = { old: text.slice(0, at), new: text.slice(at + 1) };
    if (commonPath(sides) !== undefined) return sides;
  }
  return undefined;
}

/** The path that both sides name: with the same first folder, or each with one of its own, such as a/ and b/. */
function commonPath({ old, new: now }: Sides): string | undefined {
  if (old === now) return old;
  const [left, right] = [old, now].map((name) => name.slice(name.indexOf("/") + 1));
  return left === right && left !== old && right !== now ? left : undefined;
}

/** @throws INVALID_INPUT if the names are those of two files */
export function pathOf(
  { git, old, now }: { git: Sides | undefined; old: Side | undefined; now: Side | undefined },
  number: number,
): string {
  const common = git && commonPath(git);
  if (common !== undefined) return common;
  const names = [old, now].flatMap((side) => (side === undefined || side.name === ABSENT ? [] : [side.name]));
  const [first, second = first] = names;
  if (first === undefined || second === undefined) throw fault(number, "the name of the file is missing");
  if (names.length === 1) return first.replace(old?.name === first ? /^a\// : /^b\//, "");
  const path = commonPath({ old: first, new: second }) ?? shorterOf(first, second);
  if (path !== undefined) return path;
  throw fault(number, "its two names are of two files. To rename one, put rename from and rename to above them");
}

/** A file beside its copy: `x` and `x.orig`, or `x` and `/tmp/old/x`. */
function shorterOf(...names: [string, string]): string | undefined {
  const [short, long] = names.toSorted((left, right) => left.length - right.length) as [string, string];
  return long.startsWith(`${short}.`) || long === `${short}~` || long.endsWith(`/${short}`) ? short : undefined;
}

/** The first name, in the quotes of git, and what follows it. */
function unquoted(text: string, number: number): [name: string, rest: string] {
  const [whole, inside = ""] = /^"((?:[^"\\]|\\.)*)"/.exec(text) ?? [];
  if (whole === undefined) throw fault(number, "a quoted name does not end");
  const bytes: Buffer[] = [];
  for (const [part] of inside.matchAll(/\\[0-7]{3}|\\.|[^\\]+/g)) {
    const byte = /^\\[0-7]{3}$/.test(part) ? Number.parseInt(part.slice(1), 8) & 0xff : undefined;
    if (byte !== undefined) bytes.push(Buffer.of(byte));
    else bytes.push(Buffer.from(part.startsWith("\\") ? (ESCAPES[part.slice(1)] ?? part.slice(1)) : part));
  }
  const name = Buffer.concat(bytes).toString("utf8");
  if (name.includes("\ufffd")) throw fault(number, "a name that is not UTF-8");
  return [name, text.slice(whole.length)];
}
