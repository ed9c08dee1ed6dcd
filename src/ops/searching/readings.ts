// Other readings of inputs that found nothing: what a caller may have meant, as the fields of the next call.

/** Fields to change, and the reason in a few words. */
export interface Reading<Input> {
  readonly why: string;
  readonly change: Partial<Input>;
}

/** The hint that names the call of a reading. */
export const readingHint = ({ why, change }: Reading<object>): string =>
  `${why}: pass ${Object.entries(change)
    .map(([name, value]) => `${name}: ${JSON.stringify(value)}`)
    .join(", ")}`;

/** Links that an empty answer left out may lead to what was meant. */
export function* linksReadings(
  { links }: { readonly links?: "follow" },
  { hidden }: { readonly hidden?: { readonly symlinks?: number } },
): Generator<Reading<{ links: "follow" }>> {
  if (links === undefined && hidden?.symlinks !== undefined) {
    yield { why: "Links are not followed", change: { links: "follow" } };
  }
}

type Patterns = string | readonly string[];

export interface PatternsReading {
  readonly why: string;
  readonly patterns: string | string[];
}

/** Other readings of globs. @param path that they are relative to */
export function* patternReadings(patterns: Patterns, path: string): Generator<PatternsReading> {
  const all = [patterns].flat();
  const split = all.map(splitList);
  if (split.some((parts) => parts.length > 1)) {
    yield { why: "Globs are separated by braces", patterns: joined(split.flat()) };
  }
  for (const brackets of [/\\?[[\]()]/g, /\\?[[\](){}]/g]) {
    yield* changed(all, "Brackets are wildcards", (one) => one.replace(brackets, (found) => `\\${found.at(-1)}`));
  }
  yield* changed(all, "Names are separated by /", (one) => one.replaceAll("\\", "/"));
  const prefix = `${path.replace(/^\/|\/$/g, "")}/`;
  yield* changed(all, "Globs start at path", (one) =>
    prefix.length > 1 && one.startsWith(prefix) ? `./${one.slice(prefix.length)}` : one,
  );
  yield* changed(all, "Globs with / start at path", atAnyDepth);
}

/** Globs of files that name folders may be meant for what is in them. @param path that they are relative to */
export function* fileReadings(patterns: Patterns, path: string): Generator<PatternsReading> {
  const all = [patterns].flat();
  const within = all.map(inside);
  yield* changed(all, "Globs match files", (_, at) => within[at] ?? "");
  if (within.some((one, at) => one !== all[at])) yield* changed(within, "Globs match files", atAnyDepth);
  yield* patternReadings(patterns, path);
}

const atAnyDepth = (one: string): string =>
  one.includes("/") && !/^(?:\*\*\/|\.\/|[!/])/.test(one) ? `**/${one}` : one;

/** A glob for the entries in the folder that a glob names. */
function inside(one: string): string {
  const folder = one.replace(/\/+$/, "");
  if (/\*[^/]*$/.test(folder)) return one;
  return `${folder.includes("/") ? "" : "**/"}${folder}/**`;
}

function* changed(
  all: readonly string[],
  why: string,
  change: (one: string, at: number) => string,
): Generator<PatternsReading> {
  const others = all.map(change);
  if (others.some((one, at) => one !== all[at])) yield { why, patterns: single(others) };
}

const single = (all: readonly string[]): string | string[] => (all.length === 1 ? (all[0] ?? "") : [...all]);

/** One glob where braces mean the same: a name is looked for at any depth, a path is not. */
function joined(all: readonly string[]): string | string[] {
  const paths = all.filter((one) => one.includes("/")).length;
  const isPlain = all.every((one) => !/[{}]/.test(one));
  return isPlain && (paths === 0 || paths === all.length) ? `{${all.join(",")}}` : [...all];
}

/** The globs of a text that lists several; the text itself if it does not. */
function splitList(text: string): string[] {
  const listed = /^\[".*"\]$/s.test(text) ? listIn(text) : undefined;
  if (listed !== undefined) return listed;
  // A separator in brackets makes no list.
  const marked = text.replace(/\{[^{}]*\}|\[[^\]]*\]|\([^()]*\)/g, (group) => "x".repeat(group.length));
  const parts: string[] = [];
  let from = 0;
  for (const { 0: mark, index } of marked.matchAll(/\s*[,;|]\s*|\s+/g)) {
    parts.push(text.slice(from, index));
    from = index + mark.length;
  }
  parts.push(text.slice(from));
  const isList = parts.every((part) => part !== "" && (/[,;|]/.test(marked) || part.includes("*")));
  return isList ? parts : [text];
}

function listIn(text: string): string[] | undefined {
  try {
    return (JSON.parse(text) as unknown[]).map(String);
  } catch {
    return undefined;
  }
}

/** A pattern of `grep` and how it is read. */
export interface Asked {
  readonly pattern: string;
  readonly literal?: boolean;
  readonly multiline?: boolean;
}

const LINE_FEED = /\n|\\n|\\r|\(\?[a-zA-Z]*s[a-zA-Z]*[:)]|\[\\[sSwWdD]\\[sSwWdD]\]|\\s[*+]/;
const META = /[\\^$.|?*+()[\]{}]/;

/** Other readings of the pattern of `grep`. */
export function* expressionReadings({ pattern, literal = false, multiline = false }: Asked): Generator<Reading<Asked>> {
  if (!multiline && LINE_FEED.test(literal ? pattern.replaceAll("\\", "") : pattern)) {
    yield { why: "Lines are matched one by one", change: { multiline: true } };
  }
  if (literal) {
    if (META.test(pattern)) yield { why: "As an expression it matches", change: { literal: false } };
    return;
  }
  const why = "RE2 writes it without backslashes";
  const bars = pattern.replaceAll("\\|", "|");
  if (bars !== pattern) yield { why, change: { pattern: bars } };
  const extended = fromBasic(pattern);
  if (extended !== pattern && extended !== bars) yield { why, change: { pattern: extended } };
  if (META.test(pattern)) yield { why: "It occurs as plain text", change: { literal: true } };
}

/** A basic expression of GNU programs, where a backslash gives signs their meaning, in the syntax of RE2. */
function fromBasic(pattern: string): string {
  if (!/\\[|(){}+?<>]/.test(pattern)) return pattern;
  return pattern.replace(/\[[^\]]*\]|\\[<>]|\\[|(){}+?]|[|(){}+?]|\\./gs, (part) => {
    if (part === "\\<" || part === "\\>") return "\\b";
    if (part.length === 1) return `\\${part}`;
    return /^\\[|(){}+?]$/.test(part) ? part.slice(1) : part;
  });
}
