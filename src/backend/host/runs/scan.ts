// Scans a mounted tree before and after a command, to find what the command has changed.

import { identityInVersion } from "../../../core/identity.js";
import type { Io } from "../../../core/io.js";
import type { Access, PlacePolicy } from "../../../core/ports/backend.js";
import type { ChangedKind, EntryState } from "../../../core/ports/changes/change.js";
import type { JournalWriter } from "../../../core/ports/changes/journal-writer.js";
import type { EntryType, WalkEntry, WalkStep } from "../../../core/ports/walk.js";
import { identity, type Pinned } from "../../../jail/handles.js";
import type { Jail } from "../../../jail/jail.js";
import { succeeds } from "../../../jail/sys.js";
import { isReservedName } from "../../../path/grammar.js";
import { walkEntries } from "../walk.js";

/** An entry as a scan saw it. */
export interface SeenEntry extends EntryState {
  readonly kind: ChangedKind;
  readonly version: string;
}

/** The directory in which a command runs. */
export interface RunDirectory {
  readonly jail: Jail;
  /** The mounted directory. */
  readonly directory: Pinned;
  /** Its names below the root. */
  readonly real: readonly string[];
}

/** The same, in a root with a journal. */
export interface RunPlace extends RunDirectory {
  readonly access: Access;
  readonly journal: JournalWriter;
}

/** How far a scan goes. */
export interface ScanLimits {
  readonly entries: number;
  /** Milliseconds. */
  readonly ms: number;
}

const SCAN_LIMITS: ScanLimits = { entries: 50_000, ms: 500 };

/** Set-user-id and set-group-id. */
export const SET_ID_BITS = 0o6000;
/** A directory with a longer path may be too deep to be mounted over, which is for the search for masks to see. */
const LONG_PATH = 1_000;

/** Paths are relative to the mount, with "/" between names; its top is "". */
export interface SeenTree {
  /** Without what is denied or reserved. Directories stand before what is in them. */
  readonly entries: ReadonlyMap<string, SeenEntry>;
  /** Whether all names of a directory were seen. */
  isWhole(directory: string): boolean;
}

export const joinPath = (directory: string, name: string): string => (directory === "" ? name : `${directory}/${name}`);
export const parentOf = (path: string): string => path.slice(0, Math.max(0, path.lastIndexOf("/")));
export const nameOf = (path: string): string => path.slice(path.lastIndexOf("/") + 1);
/** Whether a path is another one or below it. */
export const isIn = (path: string, above: string): boolean =>
  above === "" || path === above || path.startsWith(`${above}/`);

/** An entry by its directory, which keeps its identity when it is renamed. */
export const placeKey = (directory: string, name: string): string => `${directory}/${name}`;

type ScanAccess = Pick<Access, "scope" | "policy" | "protection">;

/** Visits a tree once. If its top cannot be read, nothing is seen. */
export function* scanTree(jail: Jail, top: Pinned, access: ScanAccess, limits = SCAN_LIMITS): Io<Scan> {
  // Asked of each name: it may be found out late.
  const isReserved = (name: string): boolean => isReservedName(name, jail.foldsCase);
  const seen = new Scan(limits, { top: identity(top), isReserved });
  const policies = [access.policy, access.protection].filter((one) => one !== undefined);
  const isHidden = (below: readonly string[], name: string): boolean =>
    isReserved(name) || access.policy?.denies(below, name) === true;
  const policy: PlacePolicy = {
    denies(below, name) {
      const isDenied = isHidden(below, name);
      if (isDenied || access.protection?.denies(below, name) === true) seen.mark(below.join("/"));
      return isDenied;
    },
    isDoubtful: (below, name) => policies.some((one) => one.isDoubtful?.(below, name) === true),
  };
  const walking = walkEntries(jail, top, {
    ...{ access: { scope: access.scope, policy }, sizes: true, versions: true, keepsReserved: true },
    visit: (entry) => seen.visit(entry),
    visitDenied: (entry) => seen.visitDenied(entry),
    missed: (below, name) => seen.missed([...below, name].join("/")),
    unreadable: () => seen.unreadable(),
    exhausted: () => seen.endEarly(),
  });
  if (!(yield* succeeds(walking))) seen.endEarly();
  return seen;
}

const KINDS: Readonly<Record<EntryType, ChangedKind>> = {
  ...{ file: "file", directory: "directory", symlink: "link", other: "other" },
};

/** Result of one scan. */
export class Scan implements SeenTree {
  /** When it began, in milliseconds since the epoch. */
  readonly began = Date.now();
  readonly entries = new Map<string, SeenEntry>();
  /** Identities of entries below names that no path can have, which only commands see. */
  readonly unreachable = new Set<string>();
  /** Denied entries, by {@link placeKey}, without those in denied directories. */
  readonly denied = new Set<string>();
  /** Denied and reserved directories, which the scan did not enter. */
  readonly closed = new Set<string>();
  /** The scan was not ended early, and nothing moved away under it. */
  isComplete = true;
  /** A file has bits that give rights of its owner or group. */
  hasSetId = false;
  readonly #limits: ScanLimits;
  readonly #isReserved: (name: string) => boolean;
  readonly #end: number;
  /** Paths of the directories from the top to the one that is being visited, and their identities. */
  readonly #branch = [""];
  readonly #identities: string[];
  readonly #partial = new Set<string>();
  readonly #marked = new Set<string>();
  #hasMissed = false;
  /** Depth of the topmost directory on the branch that no path can name. */
  #lostFrom = Number.POSITIVE_INFINITY;
  #last = "";

  constructor(limits: ScanLimits, { top, isReserved }: { top: string; isReserved: (name: string) => boolean }) {
    [this.#limits, this.#isReserved, this.#identities] = [limits, isReserved, [top]];
    this.#end = performance.now() + limits.ms;
  }

  /** The scan saw every entry except those in {@link closed}. */
  get isThorough(): boolean {
    return this.isComplete && !this.#hasMissed && this.#partial.size === 0;
  }

  /** Whether all in a directory was seen, and nothing there is denied, protected or reserved. */
  isPlain(directory: string): boolean {
    return this.isComplete && this.entries.get(directory)?.kind === "directory" && !this.#marked.has(directory);
  }

  /** Whether something in a directory is, or could not be seen. */
  isMarked(directory: string): boolean {
    return this.#marked.has(directory);
  }

  /** Marks a directory, and those above it. */
  mark(directory: string): void {
    for (let above = directory; !this.#marked.has(above); above = parentOf(above)) this.#marked.add(above);
  }

  isWhole(directory: string): boolean {
    if (this.#partial.has(directory)) return false;
    return this.isComplete || directory === "" || this.entries.has(directory);
  }

  visit({ name, type, depth, size = 0, modified = 0, mode = 0, version, unreachable }: WalkEntry): WalkStep {
    this.#arrive(depth);
    if (this.#isFull()) return "stop";
    const isLost = unreachable === true || this.#lostFrom < depth;
    if (version === undefined) return "skip";
    this.#lookForSetId(type, mode);
    const path = joinPath(this.#branch[depth - 1] ?? "", name);
    // No operation can reach it, so that no entry of the journal can name it.
    if (isLost) this.unreachable.add(identityInVersion(version));
    else this.entries.set(path, { kind: KINDS[type], size, modified, version, mode });
    this.#last = path;
    if (type !== "directory") return "enter";
    if (path.length > LONG_PATH) this.mark(path);
    if (isLost) this.#lostFrom = Math.min(this.#lostFrom, depth);
    this.#branch.push(path);
    this.#identities.push(identityInVersion(version));
    return "enter";
  }

  /** Entries in a denied directory are neither seen nor moved by a command. */
  visitDenied({ name, type, depth, mode, unreachable }: WalkEntry): WalkStep {
    this.#arrive(depth);
    if (this.#isFull()) return "stop";
    this.#lookForSetId(type, mode);
    if (type === "directory") {
      this.closed.add(joinPath(this.#branch[depth - 1] ?? "", name));
      // Its path says not where it is.
      if (unreachable === true || this.#lostFrom < depth) this.#hasMissed = true;
    }
    if (!this.#isReserved(name)) this.denied.add(placeKey(this.#identities[depth - 1] ?? "", name));
    return "skip";
  }

  /** An entry that was not seen, though its name was. */
  missed(path: string): void {
    this.#hasMissed = true;
    this.mark(path);
  }

  #lookForSetId(type: EntryType, mode = 0): void {
    if (type === "file" && (mode & SET_ID_BITS) !== 0) this.hasSetId = true;
  }

  #arrive(depth: number): void {
    this.#branch.length = depth;
    this.#identities.length = depth;
    if (this.#lostFrom >= depth) this.#lostFrom = Number.POSITIVE_INFINITY;
  }

  #isFull(): boolean {
    const count = this.entries.size + this.unreachable.size + this.denied.size;
    if (count < this.#limits.entries && performance.now() <= this.#end) return false;
    this.endEarly();
    return true;
  }

  /** The directory that was visited last cannot be looked into. */
  unreadable(): void {
    this.#partial.add(this.#last);
    this.mark(this.#last);
  }

  endEarly(): void {
    this.isComplete = false;
    for (const directory of this.#branch) this.#partial.add(directory);
  }
}
