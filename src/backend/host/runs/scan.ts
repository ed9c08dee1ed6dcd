// Scans a mounted tree before and after a command, to find what the command has changed.

import type { Io } from "../../../core/io.js";
import type { Access } from "../../../core/ports/backend.js";
import type { ChangedKind, EntryState } from "../../../core/ports/changes/change.js";
import type { EntryType, WalkEntry, WalkStep } from "../../../core/ports/walk.js";
import type { Pinned } from "../../../jail/handles.js";
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
  /** Without what is denied or reserved. Directories stand before what is in them. */
  readonly entries: ReadonlyMap<string, SeenEntry>;
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

/** Visits a tree once. @throws an error of the system if its top cannot be read */
export function* scanTree(
  jail: Jail,
  top: Pinned,
  { access, limits }: { readonly access: Pick<Access, "scope" | "policy">; readonly limits: ScanLimits },
): Io<Scan> {
  const seen = new TreeScan(limits);
  yield* walkEntries(jail, top, {
    ...{ access, sizes: true, versions: true },
    visit: (entry) => seen.visit(entry),
    unreadable: () => seen.unreadable(),
    exhausted: () => seen.exhausted(),
  });
  return seen;
}

const KINDS: Readonly<Record<EntryType, ChangedKind>> = {
  ...{ file: "file", directory: "directory", symlink: "link", other: "other" },
};

class TreeScan implements Scan {
  readonly entries = new Map<string, SeenEntry>();
  isComplete = true;
  readonly #limits: ScanLimits;
  readonly #end: number;
  /** Paths of the directories from the top to the one that is being visited. */
  readonly #branch = [""];
  readonly #partial = new Set<string>();
  #last = "";

  constructor(limits: ScanLimits) {
    this.#limits = limits;
    this.#end = performance.now() + limits.ms;
  }

  isWhole(directory: string): boolean {
    if (this.#partial.has(directory)) return false;
    return this.isComplete || directory === "" || this.entries.has(directory);
  }

  visit({ name, type, depth, size = 0, modified = 0, mode, version, unreachable }: WalkEntry): WalkStep {
    this.#branch.length = depth;
    if (this.entries.size >= this.#limits.entries || performance.now() > this.#end) {
      this.#endEarly();
      return "stop";
    }
    // No operation can reach it, so that no entry of the journal can name it.
    if (unreachable === true || version === undefined) return "skip";
    const path = joinPath(this.#branch[depth - 1] ?? "", name);
    this.entries.set(path, { kind: KINDS[type], size, modified, version, ...(mode === undefined ? {} : { mode }) });
    this.#last = path;
    if (type === "directory") this.#branch.push(path);
    return "enter";
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
