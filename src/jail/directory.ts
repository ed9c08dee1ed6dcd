// Lists directories by handle: sorted names, entries with size and time, and stored spellings.

import type { CallScope } from "../core/call/scope.js";
import type { Io } from "../core/io.js";
import type { Entry, EntryType } from "../core/ports/backend.js";
import { isReachableName, isReservedName } from "../path/grammar.js";
import { compareCodePoints, type Named, sortByName } from "../path/order.js";
import { below, entryPath, identity, type Pinned } from "./handles.js";
import type { DirectoryEntry } from "./native/entries.js";
import { confirm, confirmed } from "./native/placed-sys.js";
import type { EntryFacts } from "./native/statx.js";
import { Stat } from "./stat.js";
import { errnoOf, type Sys } from "./sys.js";

export interface Name {
  /** For display: bytes that are not valid UTF-8 appear as `\xhh`. */
  readonly name: string;
  /** Appended to the directory's path to reach the entry. */
  readonly raw: string | Buffer;
  /** As reported by readdir; `undefined` where the file system does not report it. */
  readonly type: EntryType | undefined;
  /** Nothing but printable ASCII without capitals, colon and backslash: it is reached, sorted and shown as it is. */
  readonly isUsual?: boolean;
}

/** Properties of the root that {@link readNames} needs. */
export interface DirectoryRules {
  readonly foldsCase: boolean;
  readonly scope: CallScope;
  readonly keepsReserved?: boolean | undefined;
  /** Other names are left out. */
  readonly startsWith?: string | undefined;
}

/** Size in bytes above which a directory may hold thousands of names and is read in pieces. */
const LARGE_BYTES = 16_384;

/** The names of a directory in no order ({@link sortYielding}), without the reserved ones unless those are asked for. */
export function* readNames(sys: Sys, directory: Pinned, rules: DirectoryRules): Io<Name[]> {
  const names: Name[] = [];
  yield* forEachPiece(sys, directory, function* (entries) {
    yield* rules.scope.breathe();
    for (const entry of entries) takeName(names, nameOf(entry), rules);
  });
  return names;
}

/**
 * The sorted names of a small directory, without waiting. `undefined`: that one has to read it.
 * @param rules.asParts see `parseEntries`: for who calls nothing by the names
 */
export function readNamesNow(
  sys: Sys,
  directory: Pinned,
  rules: NameRules & { readonly asParts: boolean },
): Name[] | undefined {
  const entries = directory.stat.size <= LARGE_BYTES ? sys.namesNow(directory, rules.asParts) : undefined;
  if (entries === undefined) return undefined;
  const names: Name[] = [];
  for (const entry of entries) takeName(names, nameOf(entry), rules);
  return sortByName(names);
}

type NameRules = Pick<DirectoryRules, "foldsCase" | "keepsReserved" | "startsWith">;

function takeName(names: Name[], name: Name, { foldsCase, keepsReserved, startsWith }: NameRules): void {
  if (startsWith !== undefined && !name.name.startsWith(startsWith)) return;
  if (keepsReserved === true || !isReservedName(name.name, foldsCase)) names.push(name);
}

/** Passes the entries of a directory to `work`, all at once or in pieces. Entries removed meanwhile cause no error. */
export function* forEachPiece(
  sys: Sys,
  directory: Pinned,
  work: (entries: readonly DirectoryEntry[]) => Io<void>,
): Io<void> {
  if (directory.stat.size <= LARGE_BYTES) return yield* work(yield* confirmed(sys, directory, sys.names(directory)));
  const reading = sys.native?.calls?.read(directory);
  if (reading !== undefined) {
    try {
      for (let entries = reading.next(); entries.length > 0; entries = reading.next()) yield* work(entries);
      return;
    } finally {
      reading.close();
    }
  }
  const open = yield* sys.openDirectory(directory.path);
  try {
    // From here on it is the same one.
    yield* confirm(sys, directory);
    for (;;) {
      const entries = yield* sys.readPiece(open);
      if (entries.length === 0) return;
      yield* work(entries);
    }
  } finally {
    open.closeSync();
  }
}

type StampPart = (stat: Stat) => Pick<Entry, "stamp">;

interface FoundEntries {
  readonly entries: Entry[];
  /** Number of entries that cannot be examined, and so are left out. */
  readonly unreadable: number;
  /** Number of entries that vanished meanwhile. */
  readonly vanished: number;
}

interface EntriesOptions {
  readonly names: readonly Name[];
  readonly top: boolean;
  readonly scope: CallScope;
  readonly stampPart?: StampPart | undefined;
}

/** The entries of a directory with size and time. Entries that vanish are left out. */
export const readEntries = (sys: Sys, directory: Pinned, options: EntriesOptions): Io<FoundEntries> =>
  confirmed(sys, directory, entriesOf(sys, directory, options));

function* entriesOf(sys: Sys, directory: Pinned, options: EntriesOptions): Io<FoundEntries> {
  const { names, top, scope, stampPart } = options;
  let unreadable = 0;
  let vanished = 0;
  const entries: Entry[] = [];
  const take = (name: Name, facts: EntryFacts): void => {
    const { type, size, modifiedMs } = facts;
    const entry: Entry = { name: name.name, type, size: type === "file" ? size : 0, modified: modifiedMs };
    if (type === "file" && facts instanceof Stat) Object.assign(entry, stampPart?.(facts));
    entries.push(isReachable(name, top) ? entry : { ...entry, unreachable: true });
  };
  for (const [index, name] of names.entries()) {
    if (index % LOOKS_BETWEEN === 0) yield* scope.breathe();
    // A native call does not say why it found nothing.
    const looked = stampPart === undefined ? sys.native?.calls?.look(directory.fd, name.raw) : undefined;
    const stat = looked ?? (yield* lookAt(sys, directory, name));
    if (stat === "unreadable") unreadable += 1;
    else if (stat === undefined) vanished += 1;
    else take(name, stat);
  }
  return { entries, unreadable, vanished };
}

/** Entries examined before the clock is asked whether other calls should have a turn. */
const LOOKS_BETWEEN = 16;

/**
 * Whether the path grammar allows a path to this entry.
 * @param top the entry is in the root directory itself
 */
export const isReachable = (name: Name, top: boolean): boolean =>
  (name.isUsual === true && !name.name.endsWith("!")) ||
  (typeof name.raw === "string" && isReachableName(name.name, top));

/** `undefined` if the entry vanished or cannot be examined. */
export function* examine(sys: Sys, directory: Pinned, entry: Name): Io<Stat | undefined> {
  const stat = yield* lookAt(sys, directory, entry);
  return stat === "unreadable" ? undefined : stat;
}

/** `undefined` if the entry vanished. */
export function* lookAt(sys: Sys, directory: Pinned, entry: Name): Io<Stat | "unreadable" | undefined> {
  try {
    return sys.native?.calls?.stat(directory.fd, entry.raw) ?? (yield* sys.lstat(entryPath(directory, entry.raw)));
  } catch (error) {
    if (errnoOf(error) === undefined) throw error;
    return "unreadable";
  }
}

/**
 * The stored spelling of the name of `object` in `directory`, on a file system that folds names. Names with equal case
 * folding are tried first, then every entry, since file systems have their own folding rules. Falls back to `used` if
 * the entry is gone.
 */
export function* storedName(sys: Sys, directory: Pinned, used: string, object: Pinned): Io<string> {
  const names = (yield* sys.names(directory)).map(nameOf);
  if (names.some(({ raw }) => raw === used)) return used;
  const folded = fold(used);
  const alike = names.filter(({ name }) => fold(name) === folded);
  for (const entry of [...alike, ...names]) {
    const stat = yield* examine(sys, directory, entry);
    if (stat?.identity === identity(object)) return entry.name;
  }
  return used;
}

const fold = (name: string): string => name.normalize("NFC").toLowerCase();

/** Whether two names in a directory are one entry, since it does not tell them apart; else they are hard links, or two files. */
export function* isOneEntry(sys: Sys, directory: Pinned, name: string, other: string): Io<boolean> {
  const [own, same] = [yield* sys.lstat(below(directory, name)), yield* sys.lstat(below(directory, other))];
  if (own === undefined || own.identity !== same?.identity) return false;
  const names = (yield* sys.names(directory)).map((entry) => nameOf(entry).name);
  return !(names.includes(name) && names.includes(other));
}

export const nameOf = (entry: DirectoryEntry): Name => (isName(entry) ? entry : parseName(entry.name, entry.type));

const isName = (entry: DirectoryEntry): entry is DirectoryEntry & Name => entry.raw !== undefined;

function parseName(latin1: string, type: EntryType | undefined): Name {
  const raw = rawName({ name: latin1 });
  return { name: typeof raw === "string" ? raw : escapeBytes(raw), raw, type, isUsual: false };
}

/** The name as text if it is valid UTF-8, else as bytes. */
export function rawName({ name }: Pick<DirectoryEntry, "name">): string | Buffer {
  if (/^[\0-\x7f]*$/.test(name)) return name;
  const bytes = Buffer.from(name, "latin1");
  const text = bytes.toString("utf8");
  return Buffer.from(text).equals(bytes) ? text : bytes;
}

/** Decodes valid UTF-8 and shows every other byte as `\xhh`. */
function escapeBytes(bytes: Buffer): string {
  let shown = "";
  for (let at = 0; at < bytes.length; ) {
    const length = [1, 2, 3, 4].find((n) => at + n <= bytes.length && isOneCodePoint(bytes.subarray(at, at + n)));
    shown += length === undefined ? `\\x${bytes.toString("hex", at, at + 1)}` : bytes.toString("utf8", at, at + length);
    at += length ?? 1;
  }
  return shown;
}

function isOneCodePoint(bytes: Buffer): boolean {
  const text = bytes.toString("utf8");
  return [...text].length === 1 && Buffer.from(text).equals(bytes);
}

/** Entries sorted before other calls get a turn. */
const RUN = 4096;

/** An entry with its name prepared for comparison. */
interface Keyed<T extends Named> {
  readonly entry: T;
  readonly folded: string;
}

/** Sorts like {@link sortByName}, in runs that are merged afterwards; other calls get turns in between. */
export function* sortYielding<T extends Named>(entries: readonly T[], scope: CallScope): Io<T[]> {
  if (entries.length <= RUN) return sortByName(entries);
  let runs: Keyed<T>[][] = [];
  for (let at = 0; at < entries.length; at += RUN) {
    yield* scope.breathe();
    const sorted = sortByName(entries.slice(at, at + RUN));
    runs.push(sorted.map((entry) => ({ entry, folded: entry.name.toLowerCase() })));
  }
  while (runs.length > 1) {
    const merged: Keyed<T>[][] = [];
    for (let at = 0; at < runs.length; at += 2) merged.push(yield* merge(runs[at] ?? [], runs[at + 1] ?? [], scope));
    runs = merged;
  }
  const sorted: T[] = [];
  for (const { entry } of runs[0] ?? []) sorted.push(entry);
  return sorted;
}

function* merge<T extends Named>(
  left: readonly Keyed<T>[],
  right: readonly Keyed<T>[],
  scope: CallScope,
): Io<Keyed<T>[]> {
  const merged: Keyed<T>[] = [];
  let l = 0;
  let r = 0;
  for (;;) {
    if (merged.length % RUN === 0) yield* scope.breathe();
    const a = left[l];
    const b = right[r];
    if (a !== undefined && (b === undefined || isInOrder(a, b))) {
      merged.push(a);
      l++;
    } else if (b !== undefined) {
      merged.push(b);
      r++;
    } else return merged;
  }
}

const isInOrder = (a: Keyed<Named>, b: Keyed<Named>): boolean =>
  (compareCodePoints(a.folded, b.folded) || compareCodePoints(a.entry.name, b.entry.name)) <= 0;
