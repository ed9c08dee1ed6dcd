// The differences between two scans of a tree, in an order in which they may have happened.
//
// Undoing goes backwards, so each step has to be possible after the steps before it: directories are made
// before their entries, an entry is moved away before its directory is deleted, and a name is free before it is used
// again. A tree that was made or deleted as a whole is one step.

import { withoutChangeTime } from "../../../core/identity.js";
import { joinPath, nameOf, parentOf, type SeenEntry, type SeenTree } from "./scan.js";

export interface Difference {
  readonly action: "created" | "modified" | "deleted" | "moved";
  /** Relative to the mount. */
  readonly path: string;
  /** Former path of a moved entry. */
  readonly from?: string;
  /** Its path in the scan before, where it was there. */
  readonly was?: string;
  /** Files in a tree that was made or deleted as a whole. */
  readonly files?: number;
  /** At `path`, like `after`. */
  readonly before: SeenEntry | null;
  readonly after: SeenEntry | null;
}

/** @param isApart whether something at a path is told of by others, so that no tree includes it */
export function differencesOf(
  before: SeenTree,
  after: SeenTree,
  isApart: (path: string) => boolean,
): readonly Difference[] {
  const { replaced, made, deleted } = new Comparison(before, after);
  return [...replaced, ...joinTrees(made, isApart), ...deleted];
}

/** Something that is gone, with all that was below it. */
interface Gone {
  readonly path: string;
  readonly was: string;
  readonly before: SeenEntry;
  files: number;
  readonly isReplaced: boolean;
}

/** Former path of a directory. `new`: there was none; `unknown`: the scan was incomplete. */
type Origin = { readonly was: string } | "new" | "unknown";

class Comparison {
  /** Names that another kind of entry has now, with all that was below them. */
  replaced: readonly Difference[] = [];
  readonly made: Difference[] = [];
  deleted: readonly Difference[] = [];
  readonly #before: SeenTree;
  readonly #after: SeenTree;
  readonly #origins = new Map<string, Origin>([["", { was: "" }]]);
  /** Paths now, by the paths before, of entries that still exist. */
  readonly #now = new Map<string, string>([["", ""]]);
  /** Where entries were whose name another kind of entry has now. */
  readonly #replaced = new Map<string, string>();
  /** Moved directories, by where they were. */
  readonly #moves = new Map<string, string>();
  /** Entries that are no longer where they were, by all of their version but the change time. */
  #missing: Map<string, string> | undefined;

  constructor(before: SeenTree, after: SeenTree) {
    this.#before = before;
    this.#after = after;
    for (const [path, entry] of after.entries) this.#place(path, entry);
    this.#collectGone();
  }

  #place(path: string, entry: SeenEntry): void {
    const parent = parentOf(path);
    const origin = this.#origins.get(parent) ?? "unknown";
    if (origin === "unknown") return;
    const isThere = origin !== "new" && origin.was === parent;
    const was = isThere ? path : origin === "new" ? undefined : joinPath(origin.was, nameOf(path));
    const old = was === undefined ? undefined : this.#before.entries.get(was);
    if (was !== undefined && old?.kind === entry.kind) {
      if (entry.kind === "directory") this.#origins.set(path, { was });
      this.#now.set(was, path);
      if (isChanged(old, entry)) this.made.push({ action: "modified", path, was, before: old, after: entry });
      return;
    }
    if (old === undefined && origin !== "new" && !this.#before.isWhole(origin.was)) return;
    if (was !== undefined && old !== undefined) this.#replaced.set(was, path);
    else if (this.#addMove(path, entry)) return;
    this.#origins.set(path, "new");
    this.made.push({ action: "created", path, before: null, after: entry });
  }

  /** A rename keeps everything of an entry but the time of its last change. */
  #addMove(path: string, after: SeenEntry): boolean {
    this.#missing ??= this.#collectMissing();
    const from = this.#missing.get(withoutChangeTime(after.version));
    const before = from === undefined ? undefined : this.#before.entries.get(from);
    if (from === undefined || before?.kind !== after.kind || this.#now.has(from)) return false;
    this.made.push({ action: "moved", path, was: from, from: this.#placeOf(from), before: null, after });
    this.#origins.set(path, { was: from });
    this.#now.set(from, path);
    if (after.kind === "directory") this.#moves.set(from, path);
    return true;
  }

  #collectMissing(): Map<string, string> {
    const missing = new Map<string, string>();
    for (const [path, { version }] of this.#before.entries) {
      if (this.#after.entries.has(path) || !this.#after.isWhole(parentOf(path)) || this.#isBelowOther(path)) continue;
      missing.set(withoutChangeTime(version), path);
    }
    return missing;
  }

  /** Whether a directory above has become another kind of entry; the entries in it were removed before that. */
  #isBelowOther(path: string): boolean {
    for (let above = parentOf(path); above !== ""; above = parentOf(above)) {
      const now = this.#after.entries.get(above);
      if (now !== undefined) return now.kind !== "directory";
    }
    return false;
  }

  #collectGone(): void {
    /** The tree that each entry that is gone was part of. */
    const tops = new Map<string, Gone>();
    for (const [path, before] of this.#before.entries) {
      if (this.#now.has(path)) continue;
      const parent = parentOf(path);
      const top = tops.get(parent);
      const place = this.#replaced.get(path);
      const now = this.#now.get(parent);
      if (place !== undefined) {
        tops.set(path, { path: place, was: path, before, files: 0, isReplaced: true });
      } else if (top !== undefined) {
        tops.set(path, top);
        if (before.kind === "file") top.files += 1;
      } else if (now !== undefined && this.#after.isWhole(now)) {
        tops.set(path, { path: joinPath(now, nameOf(path)), was: path, before, files: 0, isReplaced: false });
      }
    }
    const all = [...new Set(tops.values())].map(({ path, was, before, files, isReplaced }) => {
      const tree = before.kind === "directory" ? { files } : {};
      return { isReplaced, gone: { action: "deleted", path, was, before, after: null, ...tree } as const };
    });
    this.replaced = all.filter(({ isReplaced }) => isReplaced).map(({ gone }) => gone);
    this.deleted = all.filter(({ isReplaced }) => !isReplaced).map(({ gone }) => gone);
  }

  /** The path of an entry of before, once the moves so far were made. */
  #placeOf(was: string): string {
    for (let above = was; above !== ""; above = parentOf(above)) {
      const moved = this.#moves.get(above);
      if (moved !== undefined) return moved + was.slice(above.length);
    }
    return was;
  }
}

/** Joins new entries with the new directory above them, unless one of them is reported by itself. */
function joinTrees(made: readonly Difference[], isApart: (path: string) => boolean): readonly Difference[] {
  const mixed = new Set<string>();
  for (const { action, path } of made) {
    if (action === "created" && !isApart(path)) continue;
    for (let above = parentOf(path); above !== "" && !mixed.has(above); above = parentOf(above)) mixed.add(above);
  }
  const trees: { readonly top: Difference; size: number; files: number; readonly isWhole: boolean }[] = [];
  for (const one of made) {
    const last = trees.at(-1);
    if (last?.isWhole === true && one.path.startsWith(`${last.top.path}/`)) {
      last.size += 1;
      if (one.after?.kind === "file") last.files += 1;
    } else {
      const isOwn = one.action === "created" && !mixed.has(one.path) && !isApart(one.path);
      const isWhole = isOwn && one.after?.kind === "directory";
      trees.push({ top: one, size: 0, files: 0, isWhole });
    }
  }
  return trees.map(({ top, size, files }) => (size === 0 ? top : { ...top, files }));
}

/** Changes inside a directory alter its times; only a new mode is a change of the directory itself. */
function isChanged(one: SeenEntry, other: SeenEntry): boolean {
  return one.kind === "directory" ? one.mode !== other.mode : one.version !== other.version;
}
