/** A failure as the log shows it: without host paths, tokens or contents, and of bounded size. */
export interface DescribedError {
  /** `TypeError`; of something that is no error its type, `string`. */
  readonly name: string;
  readonly message: string;
  /** `ENOENT`, `ERR_INVALID_ARG_TYPE`. */
  readonly code?: string;
  /** `open`. */
  readonly syscall?: string;
  /** The innermost frames, with files relative to the package. */
  readonly stack?: readonly string[];
  readonly cause?: DescribedError;
  /** Of an error that stands for several: the first of them. */
  readonly errors?: readonly DescribedError[];
}

import { packageFile } from "../package-files.js";

const MOST_INPUT_CHARS = 4096;
const MOST_MESSAGE_CHARS = 500;
const MOST_WORD_CHARS = 80;
const MOST_FRAMES = 12;
const MOST_CAUSES = 3;
const MOST_ERRORS = 4;

const PATH = "<path>";
const TOKEN = "<token>";

/** The folder of this package, as it stands in stack frames and as the system writes it. */
const PACKAGE_URL = packageFile("").href;
const PACKAGE_PATH = decodeURIComponent(new URL(PACKAGE_URL).pathname);

/**
 * Turns anything that was thrown into fields for the log. It never throws itself.
 *
 * What looks like an absolute path (POSIX, Windows, `file:`) or a token is replaced, too much rather than too little. A
 * path with spaces is known for one by its quotes or by the error's own `path`; otherwise its words without a slash
 * stay behind.
 */
export function describeError(error: unknown): DescribedError {
  return describe(error, MOST_CAUSES);
}

function describe(error: unknown, depth: number): DescribedError {
  try {
    return isThing(error) ? describeThing(error, depth) : { name: typeof error, message: redact(String(error), []) };
  } catch {
    // A getter, a proxy, a symbol: whatever it is, it must not take the log down.
    return { name: "unknown", message: "" };
  }
}

function describeThing(error: object, depth: number): DescribedError {
  const paths = knownPaths(error);
  const text = stringOf(error, "message") ?? "";
  const code = codeOf(error);
  const syscall = stringOf(error, "syscall");
  const stack = framesOf(stringOf(error, "stack"));
  const cause = read(error, "cause");
  const errors = read(error, "errors");
  return {
    name: wordOf(stringOf(error, "name") ?? error.constructor?.name ?? "object", paths),
    message: redact(text, paths),
    ...(code === undefined ? {} : { code: wordOf(code, paths) }),
    ...(syscall === undefined ? {} : { syscall: wordOf(syscall, paths) }),
    ...(stack.length === 0 ? {} : { stack }),
    ...(cause === undefined || cause === null || depth === 0 ? {} : { cause: describe(cause, depth - 1) }),
    ...(Array.isArray(errors) && depth > 0
      ? { errors: errors.slice(0, MOST_ERRORS).map((one) => describe(one, depth - 1)) }
      : {}),
  };
}

const isThing = (error: unknown): error is object =>
  (typeof error === "object" && error !== null) || typeof error === "function";

/** By shape throughout: an error of another realm is no instance of this one's `Error`. */
function read(thing: object, name: string): unknown {
  return name in thing ? Reflect.get(thing, name) : undefined;
}

function stringOf(thing: object, name: string): string | undefined {
  const value = read(thing, name);
  return typeof value === "string" ? value : undefined;
}

function codeOf(error: object): string | undefined {
  const code = read(error, "code");
  return typeof code === "string" || typeof code === "number" ? String(code) : undefined;
}

/** Paths that the system put into the error; they stand in its message letter for letter. */
function knownPaths(error: object): string[] {
  return ["path", "dest", "address", "filename", "spawnfile"]
    .map((name) => stringOf(error, name))
    .filter((path) => path !== undefined)
    .filter((path) => /^(?:[/\\]|file:|[A-Za-z]:[/\\])/.test(path) && path.length > 1)
    .sort((one, other) => other.length - one.length);
}

function wordOf(text: string, paths: readonly string[]): string {
  return cut(redact(text, paths), MOST_WORD_CHARS);
}

const cut = (text: string, chars: number): string => (text.length > chars ? `${text.slice(0, chars)}…` : text);

/** Where an absolute path begins: not within a word, so that `text/plain` and `and/or` are left alone. */
const START = String.raw`(?:file:\/*|[\\/]{1,2}(?=[^\s"'\x60<>(),;:\\/])|\b[A-Za-z]:[\\/])`;
const NOT_IN_A_WORD = String.raw`(?<![\p{L}\p{N}_.~%+-])`;

/**
 * In this order: URLs, of which only the origin stays; paths in quotes, to the closing one; other paths, to the next
 * space, with every following word that has a slash in it, since it may be the rest of a name with a space.
 */
const PATHS = new RegExp(
  [
    String.raw`\b(?<scheme>https?|wss?):\/\/(?:[^\s/@]*@)?(?<host>[^\s/?#"'\x60<>@]+)[^\s"'\x60<>]*`,
    String.raw`(?<quote>["'\x60])${START}.*?(?:\k<quote>|$)`,
    String.raw`${NOT_IN_A_WORD}${START}[^\s"'\x60<>(),;]*(?:[ \t]+[^\s"'\x60<>(),;]*[\\/][^\s"'\x60<>(),;]*)*`,
  ].join("|"),
  "gsu",
);

/**
 * First what is long but shown to everybody, DIDs and the ids of requests; then JWTs, and so long a run of characters
 * that it may be a key.
 */
const NAMES_OR_TOKENS = new RegExp(
  [
    String.raw`(\bdid:[a-z]+:[\w.:%-]+|\b[\da-f]{8}(?:-[\da-f]{4}){3}-[\da-f]{12}\b)`,
    String.raw`\bBearer\s+\S+`,
    String.raw`\beyJ[\w-]{8,}[\w.-]*`,
    String.raw`(?<![\w+\/-])[\w+\/-]{32,}={0,2}`,
  ].join("|"),
  "giu",
);

/** V8 repeats a piece of the text that was no JSON. */
const JSON_EXCERPT = /,? *(?:\.\.\.)?".*"(?:\.\.\.)? is not valid JSON/s;

function redact(text: string, paths: readonly string[]): string {
  // The last word may be the beginning of something longer that would have been recognised.
  let clean = text.length > MOST_INPUT_CHARS ? text.slice(0, MOST_INPUT_CHARS).replace(/\S*$/, "…") : text;
  for (const path of paths) clean = clean.replaceAll(path, PATH);
  clean = clean.replace(JSON_EXCERPT, ": not valid JSON").replace(PATHS, (...found) => {
    const { scheme, host, quote = "" }: { scheme?: string; host?: string; quote?: string } = found.at(-1);
    return scheme === undefined ? `${quote}${PATH}${quote}` : `${scheme}://${host}`;
  });
  clean = clean.replace(NAMES_OR_TOKENS, (_found, name?: string) => name ?? TOKEN);
  return cut(clean, MOST_MESSAGE_CHARS);
}

/** A line of a stack as V8 writes it: a name, if it has one, and a place with line and column. */
const FRAME = /^ +at (?:(?<name>[^()/\\]{1,120}) \()?(?<place>\S.*):(?<line>\d+):(?<column>\d+)\)?$/;

/** The header of a stack, which repeats the message, is left out. */
function framesOf(stack = ""): string[] {
  const frames: string[] = [];
  const start = Math.max(0, stack.search(/^ +at /m));
  for (const text of stack.slice(start, start + 2 * MOST_INPUT_CHARS).split("\n")) {
    const { name, place, line, column } = FRAME.exec(text)?.groups ?? {};
    if (place === undefined) continue;
    const at = `${placeOf(place)}:${line}:${column}`;
    frames.push(cut(name === undefined ? at : `${redact(name, [])} (${at})`, 2 * MOST_WORD_CHARS));
    if (frames.length === MOST_FRAMES) break;
  }
  return frames;
}

function placeOf(place: string): string {
  if (/^node:[\w/-]+$/.test(place)) return place;
  for (const folder of [PACKAGE_URL, PACKAGE_PATH]) {
    if (place.startsWith(folder)) return place.slice(folder.length);
  }
  // Of a library outside the package its own files are worth knowing, where it lies is not.
  const library = place.lastIndexOf("/node_modules/");
  return library === -1 ? PATH : place.slice(library + 1);
}
