// Scans a mounted tree before and after a command, to find what the command has changed.

import { identityInVersion } from "../../../core/identity.js";
import type { Io } from "../../../core/io.js";
import type { Access } from "../../../core/ports/backend.js";
import type { ChangedKind, EntryState } from "../../../core/ports/changes/change.js";
import type { EntryType, WalkEntry, WalkStep } from "../../../core/ports/walk.js";
import { identity, type Pinned } from "../../../jail/handles.js";
import type { Jail } from "../../../jail/jail.js";
import { walkEntries } from "../walk.js";

/** An entry as a scan saw it. */
export interface SeenEntry extends EntryState {
  readonly kind: ChangedKind;
  readonly version: string;
}

/** How far a scan goes. */
export interface ScanLimits {
  readonly entries: number;
  /** Milliseconds. */
  readonly ms: number;
}

export const SCAN_LIMITS: ScanLimits = { entries: 50_000, ms: 500 };

/** Result of one scan. Paths are relative to the mount, with "/" between names; its top is "". */
export interface Scan {
  /** When it began, in milliseconds since the epoch. */
  readonly began: number;
  /** Without what is denied or reserved. Directories stand before what is in them. */
  readonly entries: ReadonlyMap<string, SeenEntry>;
  /** Identities of entries below names that no path can have, which only commands see; if asked for. */
  readonly unreachable: ReadonlySet<string>;
  /** Denied entries, by {@link placeKey}, without those in denied directories; if asked for. */
  readonly denied: ReadonlySet<string>;
  /** It was not ended early, and nothing moved away under it. */
  readonly isComplete: boolean;
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

export interface ScanOptions {
  readonly access: Pick<Access, "scope" | "policy">;
  readonly limits: ScanLimits;
  /** Note denied and unreachable entries too. */
  readonly notesAll?: boolean;
}

/** Visits a tree once. @throws an error of the system if its top cannot be read */
export function* scanTree(jail: Jail, top: Pinned, { access, limits, notesAll = false }: ScanOptions): Io<Scan> {
  const seen = new TreeScan(limits, { top: identity(top), notesAll });
  yield* walkEntries(jail, top, {
    ...{ access, sizes: true, versions: true },
    visit: (entry) => seen.visit(entry),
    ...(notesAll ? { visitDenied: (entry: WalkEntry) => seen.visitDenied(entry) } : {}),
    unreadable: () => seen.unreadable(),
    exhausted: () => seen.exhausted(),
  });
  return seen;
}

const KINDS: Readonly<Record<EntryType, ChangedKind>> = {
  ...{ file: "file", directory: "directory", symlink: "link", other: "other" },
};

class TreeScan implements Scan {
  readonly began = Date.now();
  readonly entries = new Map<string, SeenEntry>();
  readonly unreachable = new Set<string>();
  readonly denied = new Set<string>();
  isComplete = true;
  readonly #limits: ScanLimits;
  readonly #notesAll: boolean;
  readonly #end: number;
  /** Paths of the directories from the top to the one that is being visited, and their identities. */
  readonly #branch = [""];
  readonly #identities: string[];
  readonly #partial = new Set<string>();
  /** Depth of the topmost directory on the branch that no path can name. */
  #lostFrom = Number.POSITIVE_INFINITY;
  #last = "";

  constructor(limits: ScanLimits, { top, notesAll }: { readonly top: string; readonly notesAll: boolean }) {
    [this.#limits, this.#notesAll, this.#identities] = [limits, notesAll, [top]];
    this.#end = performance.now() + limits.ms;
  }

  isWhole(directory: string): boolean {
    if (this.#partial.has(directory)) return false;
    return this.isComplete || directory === "" || this.entries.has(directory);
  }

  visit({ name, type, depth, size = 0, modified = 0, mode, version, unreachable }: WalkEntry): WalkStep {
    this.#arrive(depth);
    if (this.#isFull()) return "stop";
    const isLost = unreachable === true || this.#lostFrom < depth;
    if (version === undefined || (isLost && !this.#notesAll)) return "skip";
    const path = joinPath(this.#branch[depth - 1] ?? "", name);
    // No operation can reach it, so that no entry of the journal can name it.
    if (isLost) this.unreachable.add(identityInVersion(version));
    else
      this.entries.set(path, { kind: KINDS[type], size, modified, version, ...(mode === undefined ? {} : { mode }) });
    this.#last = path;
    if (type !== "directory") return "enter";
    if (isLost) this.#lostFrom = Math.min(this.#lostFrom, depth);
    this.#branch.push(path);
    this.#identities.push(identityInVersion(version));
    return "enter";
  }

  /** Whatever is in a denied directory is neither seen nor moved by a command. */
  visitDenied({ name, depth }: WalkEntry): WalkStep {
    this.#arrive(depth);
    if (this.#isFull()) return "stop";
    this.denied.add(placeKey(this.#identities[depth - 1] ?? "", name));
    return "skip";
  }

  #arrive(depth: number): void {
    this.#branch.length = depth;
    this.#identities.length = depth;
    if (this.#lostFrom >= depth) this.#lostFrom = Number.POSITIVE_INFINITY;
  }

  #isFull(): boolean {
    const count = this.entries.size + this.unreachable.size + this.denied.size;
    if (count < this.#limits.entries && performance.now() <= this.#end) return false;
    this.#endEarly();
    return true;
  }

  /** The directory that was visited last cannot be looked into. */
  unreadable(): void {
    this.#partial.add(this.#last);
  }

  exhausted(): void {
    this.#endEarly();
  }

  #endEarly(): void {
    this.isComplete = false;
    for (const directory of this.#branch) this.#partial.add(directory);
  }
}
