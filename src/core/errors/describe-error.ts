/** An error as it is logged: without host paths, tokens or contents, and of bounded size. */
export interface DescribedError {
  /** `TypeError`; for a thrown non-object its type, `string`. */
  readonly name: string;
  readonly message: string;
  /** `ENOENT`, `ERR_INVALID_ARG_TYPE`. */
  readonly code?: string;
  /** `open`. */
  readonly syscall?: string;
  /** The innermost frames, with files relative to the package. */
  readonly stack?: readonly string[];
  readonly cause?: DescribedError;
  /** The first errors of an AggregateError. */
  readonly errors?: readonly DescribedError[];
}

import { packageFile } from "../package-files.js";

const MAX_INPUT_CHARS = 4096;
const MAX_MESSAGE_CHARS = 500;
const MAX_WORD_CHARS = 80;
const MAX_FRAMES = 12;
const MAX_CAUSES = 3;
const MAX_ERRORS = 4;

const PATH = "<path>";
const TOKEN = "<token>";

/** Directory of this package, as a URL (ESM stack frames) and as a path. */
const PACKAGE_URL = packageFile("").href;
const PACKAGE_PATH = decodeURIComponent(new URL(PACKAGE_URL).pathname);

/**
 * Converts any thrown value to log fields. Never throws.
 *
 * Replaces what looks like an absolute path (POSIX, Windows, `file:`) or a token, preferring false positives. A path
 * with spaces is recognised as a whole only if it is quoted or in the error's own `path`; otherwise those of its words
 * that have no slash remain.
 */
export function describeError(error: unknown): DescribedError {
  return describe(error, MAX_CAUSES);
}

function describe(error: unknown, depth: number): DescribedError {
  try {
    return isThing(error) ? describeThing(error, depth) : { name: typeof error, message: redact(String(error), []) };
  } catch {
    // Throwing getters, proxies and symbols must not make logging fail.
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
      ? { errors: errors.slice(0, MAX_ERRORS).map((one) => describe(one, depth - 1)) }
      : {}),
  };
}

const isThing = (error: unknown): error is object =>
  (typeof error === "object" && error !== null) || typeof error === "function";

/** Duck-typed: an error of another realm is not an instance of this realm's `Error`. */
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

/** Paths in the fields of a system error; its message repeats them verbatim. */
function knownPaths(error: object): string[] {
  return ["path", "dest", "address", "filename", "spawnfile"]
    .map((name) => stringOf(error, name))
    .filter((path) => path !== undefined)
    .filter((path) => /^(?:[/\\]|file:|[A-Za-z]:[/\\])/.test(path) && path.length > 1)
    .sort((one, other) => other.length - one.length);
}

function wordOf(text: string, paths: readonly string[]): string {
  return cut(redact(text, paths), MAX_WORD_CHARS);
}

const cut = (text: string, chars: number): string => (text.length > chars ? `${text.slice(0, chars)}…` : text);

/** Start of an absolute path: not inside a word, so that `text/plain` and `and/or` do not match. */
const START = String.raw`(?:file:\/*|[\\/]{1,2}(?=[^\s"'\x60<>(),;:\\/])|\b[A-Za-z]:[\\/])`;
const NOT_IN_A_WORD = String.raw`(?<![\p{L}\p{N}_.~%+-])`;

/**
 * Alternatives in order: URLs, reduced to their origin; quoted paths, to the closing quote; other paths, to the next
 * space, with every following word that contains a slash, since it may be the rest of a name with a space.
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
 * First what is long but not secret (DIDs and request ids), which is kept; then bearer tokens, JWTs, and runs of at
 * least 32 characters, which may be keys.
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

/** V8 quotes an excerpt of the input in its JSON syntax errors. */
const JSON_EXCERPT = /,? *(?:\.\.\.)?".*"(?:\.\.\.)? is not valid JSON/s;

function redact(text: string, paths: readonly string[]): string {
  // The last word may be the truncated start of a path or token that would otherwise have been recognised.
  let clean = text.length > MAX_INPUT_CHARS ? text.slice(0, MAX_INPUT_CHARS).replace(/\S*$/, "…") : text;
  for (const path of paths) clean = clean.replaceAll(path, PATH);
  clean = clean.replace(JSON_EXCERPT, ": not valid JSON").replace(PATHS, (...found) => {
    const { scheme, host, quote = "" }: { scheme?: string; host?: string; quote?: string } = found.at(-1);
    return scheme === undefined ? `${quote}${PATH}${quote}` : `${scheme}://${host}`;
  });
  clean = clean.replace(NAMES_OR_TOKENS, (_found, name?: string) => name ?? TOKEN);
  return cut(clean, MAX_MESSAGE_CHARS);
}

/** A stack frame of V8: an optional function name, and a location with line and column. */
const FRAME = /^ +at (?:(?<name>[^()/\\]{1,120}) \()?(?<place>\S.*):(?<line>\d+):(?<column>\d+)\)?$/;

/** Skips the header of the stack, which repeats the message. */
function framesOf(stack = ""): string[] {
  const frames: string[] = [];
  const start = Math.max(0, stack.search(/^ +at /m));
  for (const text of stack.slice(start, start + 2 * MAX_INPUT_CHARS).split("\n")) {
    const { name, place, line, column } = FRAME.exec(text)?.groups ?? {};
    if (place === undefined) continue;
    const at = `${placeOf(place)}:${line}:${column}`;
    frames.push(cut(name === undefined ? at : `${redact(name, [])} (${at})`, 2 * MAX_WORD_CHARS));
    if (frames.length === MAX_FRAMES) break;
  }
  return frames;
}

function placeOf(place: string): string {
  if (/^node:[\w/-]+$/.test(place)) return place;
  for (const folder of [PACKAGE_URL, PACKAGE_PATH]) {
    if (place.startsWith(folder)) return place.slice(folder.length);
  }
  // For a library outside the package, keep its own files and drop its location on the host.
  const library = place.lastIndexOf("/node_modules/");
  return library === -1 ? PATH : place.slice(library + 1);
}
