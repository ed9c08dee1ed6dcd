// Shared by `glob`, `grep`, `du` and other enumerations: time limits, base paths, ignore rules, hints, names.

import type { Completeness, Hidden, HiddenKind, Incomplete } from "../../core/call/completeness.js";
import { DEFAULT_LIMITS, type Limits } from "../../core/call/limits.js";
import { type ErrorCode, FileAdapterError } from "../../core/errors/errors.js";
import { escapeText } from "../../core/errors/texts.js";
import { counted } from "../../core/errors/wording.js";
import { runIo } from "../../core/io.js";
import type { WalkContent } from "../../core/ports/backend.js";
import type { PathCall, PlacesCall } from "../../core/ports/operation.js";
import type { GlobOutput } from "../../schema/types.js";
import { type Binding, readCursor } from "../../search/cursor.js";
import { type HiddenCount, type Patience, Sieve, type SieveOptions } from "../../search/entry-filter.js";
import { IgnoreRules, MAX_RULE_BYTES, REPOSITORY, RULE_FILES } from "../../search/ignore-rules.js";
import { Pace } from "../../search/match-budget.js";
import { MAX_INDEX_BYTES } from "../../search/tracked-files.js";
import { type Reading, readingHint } from "./readings.js";

/** The longest time limit that a caller may request. */
const MAX_PATIENCE_MS = 60_000;

/** Time limit of a search in ms: as requested, at most 60 s, or the operator's `timeoutMs` if below the default. */
export function patienceMs(requestedMs: number | undefined, otherwise: number, limits: Limits): number {
  const most = limits.timeoutMs < DEFAULT_LIMITS.timeoutMs ? limits.timeoutMs : MAX_PATIENCE_MS;
  return Math.min(requestedMs ?? otherwise, most);
}

/** The path that a search starts at. */
export const baseOf = (input: { root: string; path?: string }, call: PlacesCall): PathCall =>
  call.at({ root: input.root, path: input.path ?? "", abilities: ["crud/read"], changes: false });

/**
 * The ignore rules of the ancestors of a search's base, as far as the caller may read them: the effect of a rule file
 * must not reveal its content to a caller that may not read it.
 * @returns `undefined`: nothing is ignored; `unread`: number of rule files not read, or not completely
 */
export async function ignoreRules(
  input: { root: string; ignore?: "gitignore" | "none" },
  { base, call }: { base: PathCall; call: PlacesCall },
): Promise<{ rules: IgnoreRules; unread: number } | undefined> {
  if (input.ignore === "none") return undefined;
  const rules = new IgnoreRules(async (repository) => {
    const content = await readBeside([...repository, ".git", "index"], input.root, { call, maxBytes: MAX_INDEX_BYTES });
    return Buffer.isBuffer(content) ? content : undefined;
  }, base.root.backend.foldsCase);
  let unread = 0;
  const { segments } = base.path;
  for (let depth = 0; depth < segments.length; depth++) {
    const directory = segments.slice(0, depth);
    const read = (name: string) => readBeside([...directory, name], input.root, { call, maxBytes: MAX_RULE_BYTES });
    const repository = await read(REPOSITORY);
    const contents: (WalkContent | undefined)[] = [];
    for (const name of RULE_FILES) {
      const isThere = name !== REPOSITORY && (repository !== undefined || !name.includes("/"));
      contents.push(isThere ? await read(name) : undefined);
    }
    contents[RULE_FILES.indexOf(REPOSITORY)] = repository;
    unread += rules.enter(directory, contents);
  }
  const { scope } = base.access;
  await runIo(rules.admit(segments, new Pace(scope, () => false)), scope);
  return { rules, unread };
}

/** The call that a search is made for. */
export interface SearchCall {
  readonly base: PathCall;
  readonly call: PlacesCall;
  readonly patience: Patience;
}

interface Sifting extends Pick<SieveOptions, "found" | "concerns" | "maxVisited"> {
  readonly binding: Binding;
  /** The globs that may name `.git`. */
  readonly globs: string | readonly string[] | undefined;
}

/** The sieve of a search, which goes on where its cursor says. @throws INVALID_INPUT for a cursor of another call */
export async function sieveOf(
  input: { root: string; ignore?: "gitignore" | "none"; cursor?: string },
  { base, call, patience }: SearchCall,
  { binding, globs, ...rest }: Sifting,
): Promise<Sieve> {
  const { segments } = base.path;
  const resume = input.cursor === undefined ? undefined : readCursor(binding, input.cursor);
  const ignore = await ignoreRules(input, { base, call });
  const entersGit = namesGit(globs) || isGitBase(segments);
  const { scope } = base.access;
  const sieve = new Sieve({ ...rest, base: segments, patience, scope, ignore: ignore?.rules, entersGit, resume });
  sieve.hidden.add("unreadable", ignore?.unread ?? 0);
  return sieve;
}

/** There is no rule file, or none that the caller may know of. */
const NO_RULE_FILE: ReadonlySet<string> = new Set<ErrorCode>([
  ...(["NOT_FOUND", "NOT_A_DIRECTORY", "IS_A_DIRECTORY", "NOT_A_FILE", "INVALID_PATH"] as const),
  ...(["DANGLING_SYMLINK", "SYMLINK_ESCAPE", "OTHER_DEVICE", "CAPABILITY_DENIED", "DENIED_BY_POLICY"] as const),
]);

/** @returns `undefined`: no such rule file, or the caller may not read it */
async function readBeside(
  segments: readonly string[],
  root: string,
  { call, maxBytes }: { call: PlacesCall; maxBytes: number },
): Promise<WalkContent | undefined> {
  try {
    const place = call.at({ root, path: segments.join("/"), abilities: ["crud/read"], changes: false, isExact: true });
    const { backend } = place.root;
    const found = await backend.stat(place.path, place.access);
    // As in the walk, a link does not count as a rule file.
    if (found?.type !== "file" || found.symlink) return undefined;
    if (found.size > maxBytes) return "too large";
    const { bytes } = await backend.read(place.path, () => ({ offset: 0, length: maxBytes }), place.access);
    return Buffer.from(bytes);
  } catch (error) {
    if (!(error instanceof FileAdapterError)) throw error;
    if (NO_RULE_FILE.has(error.code)) return undefined;
    // An error that ends the call must not let the search continue without the rules; others are reported with the
    // answer.
    if (error.code === "ABORTED" || error.code === "TIMEOUT") throw error;
    return "unreadable";
  }
}

/** Whether a glob names `.git` as its first segment: only then, or from inside `.git`, is it searched. */
const namesGit = (pattern: string | readonly string[] | undefined): boolean =>
  [pattern ?? []].flat().some((one) => /^(?:\.\/)*\.git(?:\/|$)/.test(one));

export const isGitBase = (base: readonly string[]): boolean => base.includes(".git");

/** Advice if parts could not be opened: no other limit or pattern would help. */
export const EXHAUSTED = "Some parts could not be opened. Call again later, or on a deeper path";

/** The hint of an answer that ends early or leaves something out. */
export function hintOf(
  { reason, nextCursor, hidden }: Omit<Completeness, "complete" | "hint">,
  advice: Partial<Record<Incomplete, string>>,
  texts: HiddenTexts = {},
): { hint?: string } {
  const next = nextCursor === undefined ? reason && advice[reason] : "Go on with cursor: nextCursor";
  // The advice for "error" tells of unreadable entries already.
  const { unreadable: _, ...others } = hidden ?? {};
  const hint = withHidden(next, reason === "error" ? others : hidden, texts);
  return hint === undefined ? {} : { hint };
}

/** Texts for kinds of entries that were left out, where they depend on the call. */
export type HiddenTexts = { readonly [kind in HiddenKind]?: HiddenText | undefined };

/** One text for any number, or one of a single entry and one of many; `""`: it is not told. */
type HiddenText = string | readonly [one: string, many: string];

/** A note, and after it what was left out. */
export function withHidden(note: string | undefined, hidden: Hidden = {}, texts: HiddenTexts = {}): string | undefined {
  const { gitignored: count } = hidden;
  const paths = count === true ? "gitignored paths" : counted(count ?? 0, "gitignored path");
  const parts = [note, count === undefined ? undefined : `${paths} hidden; pass ignore: "none"`].filter(
    (part) => part !== undefined,
  );
  const told = SHOWN.map(({ kind, text }) => ({ count: Number(hidden[kind] ?? 0), text: texts[kind] ?? text }));
  const shown = told.filter(({ count, text }) => count > 0 && text !== "").slice(0, MAX_KINDS - parts.length);
  const left = shown
    .map(({ count, text }) => (typeof text === "string" ? `${count} ${text}` : counted(count, ...text)))
    .join("; ");
  return [...parts, ...(left === "" ? [] : [`Left out: ${left}`])].join(". ") || undefined;
}

/** Whether a whole search found nothing. */
export const isEmptyHanded = (
  { cursor }: { readonly cursor?: string },
  { complete, totalMatches }: { readonly complete: boolean; readonly totalMatches: number },
): boolean => complete && totalMatches === 0 && cursor === undefined;

/** An empty answer, with the first other reading of its input that finds something. */
export async function withReading<Output extends { hint?: string }, Input>(
  output: Output,
  readings: readonly Iterable<Reading<Partial<Input>>>[],
  { patience, finds }: { patience: Patience; finds: (change: Partial<Input>) => Promise<boolean> },
): Promise<Output> {
  for (const reading of each(readings)) {
    if (patience.isOver) break;
    if (!(await ifValid(finds(reading.change)))) continue;
    const { hint } = output;
    return { ...output, hint: `${readingHint(reading)}${hint === undefined ? "" : `. ${hint}`}` };
  }
  return output;
}

function* each<T>(lists: readonly Iterable<T>[]): Generator<T> {
  for (const list of lists) yield* list;
}

/** A reading need not be valid in itself. */
async function ifValid(finding: Promise<boolean>): Promise<boolean> {
  try {
    return await finding;
  } catch (error) {
    if (error instanceof FileAdapterError && error.code === "INVALID_PATTERN") return false;
    throw error;
  }
}

/** A file that is named as `path` is searched whatever its size. */
export const largeText = (path: string): string =>
  `too large: search ${path === "" || path.length > MAX_PATH_CHARS ? "each as path" : `path: ${JSON.stringify(path)}`}`;

const MAX_PATH_CHARS = 80;

/** Text of a search that follows links, for those that lead nowhere the caller may read. */
const DEAD_LINKS = ["link that leads nowhere here", "links that lead nowhere here"] as const;

/** Text for links that were left out. A search that found something tells only of links that the caller names. */
export function linksText(links: "follow" | undefined, found: number, hidden: HiddenCount): HiddenText | undefined {
  if (links !== undefined) return DEAD_LINKS;
  return found > 0 && !hidden.namesLinks ? "" : undefined;
}

type SearchAnswer = Pick<GlobOutput, "complete" | "hint" | "nextCursor" | "totalMatches" | "countIsComplete">;

/** The note of a search: what is left out, with the cursor itself. @param told items given, files looked at, what is counted */
export function searchNote(
  { complete, hint, nextCursor, totalMatches, countIsComplete }: SearchAnswer,
  { given, files, noun = "" }: { readonly given: number; readonly files: number; readonly noun?: string },
): string | undefined {
  if (complete && given > 0) return hint;
  const what = complete
    ? `No match in ${counted(files, "file")}`
    : `Cut: ${given} of ${countIsComplete ? "" : "at least "}${totalMatches}${noun}`;
  const next = nextCursor === undefined ? hint : hint?.replace("cursor: nextCursor", `cursor: "${nextCursor}"`);
  return `${what}${next === undefined ? "" : `. ${next}`}`;
}

/** A name as one line of an enumeration. Lines that begin with U+2026 say what was left out, so no name does. */
export const entryName = (name: string): string =>
  name.startsWith("…") ? `\\u{2026}${escapeText(name.slice(1))}` : escapeText(name);

/** Part of an answer from whose directories entries vanished while they were read. */
export const warningsOf = (hasVanished: boolean): { warnings?: string[] } =>
  hasVanished ? { warnings: ["Entries vanished while the directory was read and are left out"] } : {};

/** Most kinds of what was left out that a hint names: it has 30 tokens. */
const MAX_KINDS = 3;

/** Kinds that another call can include come first. */
const SHOWN: readonly { readonly kind: HiddenKind; readonly text: HiddenText }[] = [
  { kind: "tooLarge", text: "too large" },
  { kind: "binary", text: "binary" },
  { kind: "unreadable", text: "that cannot be read or named" },
  { kind: "policy", text: "denied by policy" },
  { kind: "symlinks", text: ["link", "links"] },
];
