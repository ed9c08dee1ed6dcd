// Chooses the entries that `tree` shows: all of them if they fit, else level by level with fair shares.

import { countText } from "../../core/call/progress.js";
import { type Awaitable, type Io, runIo } from "../../core/io.js";
import type { WalkEntry, WalkStep } from "../../core/ports/backend.js";
import type { PathCall } from "../../core/ports/operation.js";
import { HiddenCount, MAX_VISITED } from "../../search/entry-filter.js";
import type { Selection } from "../../search/globs.js";
import type { IgnoreRules } from "../../search/ignore-rules.js";
import { Pace } from "../../search/match-budget.js";
import { fairShares } from "./fair-shares.js";
import { walk } from "./follow-links.js";

export interface SurveyOptions {
  readonly base: PathCall;
  readonly followsLinks: boolean;
  readonly maxDepth: number;
  readonly maxEntries: number;
  readonly sizes: boolean;
  /** Git's view: ignored entries are left out, `.git` is not entered. Absent: nothing is ignored. */
  readonly ignore: { readonly rules: IgnoreRules; readonly unread: number; readonly entersGit: boolean } | undefined;
  readonly selection: Selection;
  /** The line of an entry, all of it that is kept: objects that outlive a walk cost more than the walk. */
  readonly line: (entry: WalkEntry) => string;
}

/** A shown directory that was to be entered. */
export interface Folder {
  /** Empty for the one where the survey starts. */
  readonly line: string;
  /** Shown entries, in order: lines, and folders where they were to be entered. */
  readonly shown: readonly (string | Folder)[];
  /** Direct entries left out for lack of room. */
  readonly left: number;
}

/** A directory under survey. */
class OpenFolder implements Folder {
  readonly line: string;
  shown: (string | OpenFolder)[] = [];
  left = 0;
  /** Entries seen in the current walk. */
  seen = 0;
  /** Most entries to show. */
  share = 0;
  /** Made when needed: most folders have no folders in them. */
  #byName: Map<string, OpenFolder> | undefined;

  constructor(line: string) {
    this.line = line;
  }

  add(name: string, shown: string | OpenFolder): void {
    this.shown.push(shown);
    if (typeof shown === "string") return;
    this.#byName ??= new Map();
    this.#byName.set(name, shown);
  }

  /** The shown directory of that name. */
  named(name: string): OpenFolder | undefined {
    return this.#byName?.get(name);
  }

  clear(): void {
    this.shown = [];
    this.#byName = undefined;
    this.seen = 0;
    this.left = 0;
  }

  /** The shown directories `depth` levels below, in order. */
  *below(depth: number): Generator<OpenFolder> {
    if (depth === 0) yield this;
    else for (const one of this.shown) if (typeof one !== "string") yield* one.below(depth - 1);
  }
}

/** Called for each entry that is not left out. @returns the folder to enter, if any */
type Take = (parent: OpenFolder, entry: WalkEntry) => OpenFolder | "skip" | "stop";

/**
 * Surveys a directory. The first walk is depth first and shows everything. If that does not fit, each level is shown
 * whole before the next; the first one that does not fit is shared out among its directories.
 */
export class TreeSurvey {
  readonly #options: SurveyOptions;
  readonly #pace: Pace;
  readonly #top = new OpenFolder("");
  /** Number of entries shown. */
  entries = 0;
  /** Something was left out for lack of room. */
  isCut = false;
  depthLimited = false;
  /** The visit limit ended the last walk: numbers of what was left out are too low. */
  isTired = false;
  isExhausted = false;
  hasVanished = false;
  hidden = new HiddenCount();
  /** The directories from the start down to the current one. */
  readonly #trail: OpenFolder[] = [];
  readonly #names: string[] = [];
  #visited = 0;
  /** In all walks together. */
  #looked = 0;

  constructor(options: SurveyOptions) {
    this.#options = options;
    this.#pace = new Pace(options.base.access.scope, () => false);
  }

  readonly #progress = (): string => countText(this.#looked, "entry", "entries");

  /** @returns the directory where it starts */
  async run(): Promise<Folder> {
    await this.#walk((parent, entry) => this.#show(parent, entry));
    if (this.isCut || this.isTired) await this.#byLevels();
    return this.#top;
  }

  /** Shows an entry while there is room. */
  #show(parent: OpenFolder, entry: WalkEntry): OpenFolder | "skip" | "stop" {
    if (this.entries === this.#options.maxEntries) {
      this.isCut = true;
      return "stop";
    }
    return this.#add(parent, entry);
  }

  #add(parent: OpenFolder, entry: WalkEntry): OpenFolder | "skip" {
    this.entries++;
    const isOpen = entry.type === "directory" && !this.#isShut(entry);
    const line = this.#options.line(entry);
    const folder = isOpen && entry.depth < this.#options.maxDepth ? new OpenFolder(line) : undefined;
    if (isOpen && folder === undefined) this.depthLimited = true;
    parent.add(entry.name, folder ?? line);
    return folder ?? "skip";
  }

  async #byLevels(): Promise<void> {
    this.#top.clear();
    this.isCut = false;
    this.entries = 0;
    this.depthLimited = false;
    const { maxDepth, maxEntries } = this.#options;
    for (let depth = 1; depth <= maxDepth; depth++) {
      const folders = [...this.#top.below(depth - 1)];
      if (folders.length === 0) return;
      await this.#count(depth);
      const room = maxEntries - this.entries;
      const shares = fairShares(
        folders.map(({ seen }) => seen),
        room,
      );
      const isWhole = !this.isTired && folders.every(({ seen }, index) => shares[index] === seen);
      folders.forEach((folder, index) => {
        // In a level that fits, what appears between two walks is shown if there is room.
        folder.share = isWhole ? Number.POSITIVE_INFINITY : (shares[index] ?? 0);
      });
      await this.#fill(depth);
      if (this.isCut || this.isTired) return;
    }
  }

  /** Counts the entries of a level, those of each folder in `seen`. */
  async #count(depth: number): Promise<void> {
    await this.#walk((parent, entry) => {
      if (entry.depth < depth) return parent.named(entry.name) ?? "skip";
      parent.seen++;
      return "skip";
    });
  }

  /** Shows the entries of a level up to the share of each folder, and counts what is left out in it and just below. */
  async #fill(depth: number): Promise<void> {
    const folders = [...this.#top.below(depth - 1)];
    const isLast = folders.some(({ seen, share }) => share < seen);
    for (const folder of folders) folder.clear();
    await this.#walk((parent, entry) => {
      if (entry.depth < depth) return parent.named(entry.name) ?? "skip";
      parent.seen++;
      const isShown =
        entry.depth === depth && parent.shown.length < parent.share && this.entries < this.#options.maxEntries;
      if (isShown) {
        const folder = this.#add(parent, entry);
        return isLast ? folder : "skip";
      }
      parent.left++;
      this.isCut = true;
      return "skip";
    });
  }

  async #walk(take: Take): Promise<void> {
    const { base, ignore, selection, sizes, followsLinks } = this.#options;
    const hidden = new HiddenCount();
    this.hidden = hidden;
    this.#visited = 0;
    this.isTired = false;
    this.#trail.length = 0;
    this.#trail.push(this.#top);
    hidden.add("unreadable", ignore?.unread ?? 0);
    const unreadable = () => hidden.add("unreadable");
    const visitDenied = () => {
      hidden.add("policy");
      return "skip" as const;
    };
    const exhausted = () => {
      this.isExhausted = true;
    };
    const vanished = () => {
      this.hasVanished = true;
    };
    const visit = (entry: WalkEntry) => this.#visit(entry, take);
    const pathAt = (depth: number) => [...base.path.segments, ...this.#names.slice(0, depth)];
    const rules = ignore?.rules.readBy(pathAt, hidden);
    const options = { visit, visitDenied, unreadable, vanished, exhausted, sizes, ...rules };
    await walk(base, options, followsLinks ? selection : undefined);
  }

  #visit(entry: WalkEntry, take: Take): Awaitable<WalkStep> {
    this.#options.base.access.scope.report?.(++this.#looked, undefined, this.#progress);
    if (this.#visited++ === MAX_VISITED) {
      this.isTired = true;
      return "stop";
    }
    // Shortening an array costs more than the rest of this, so only where a directory was left.
    if (this.#names.length > entry.depth) this.#names.length = entry.depth;
    this.#names[entry.depth - 1] = entry.name;
    const { ignore, selection } = this.#options;
    if (!selection.isAll || ignore?.rules.isEmpty === false) return runIo(this.#sift(entry, take));
    // Most often nothing is to be matched, and a generator for each entry takes longer than the rest.
    return this.#step(entry, take);
  }

  *#sift(entry: WalkEntry, take: Take): Io<WalkStep> {
    const { ignore, selection, base } = this.#options;
    const isDirectory = entry.type === "directory";
    if (yield* selection.excludes(this.#names, isDirectory, this.#pace)) return "skip";
    const isIgnored =
      ignore !== undefined &&
      !this.#isShut(entry) &&
      (yield* ignore.rules.ignores([...base.path.segments, ...this.#names], isDirectory, this.#pace));
    if (isIgnored) this.hidden.add("gitignored");
    return isIgnored ? "skip" : this.#step(entry, take);
  }

  #step(entry: WalkEntry, take: Take): WalkStep {
    const parent = this.#trail[entry.depth - 1];
    if (parent === undefined) return "skip";
    const next = take(parent, entry);
    if (typeof next === "string") return next;
    this.#trail.length = entry.depth;
    this.#trail.push(next);
    return "enter";
  }

  /** Git's own directory is one line. */
  #isShut({ name, type }: WalkEntry): boolean {
    const { ignore } = this.#options;
    return ignore !== undefined && !ignore.entersGit && name === ".git" && type === "directory";
  }
}
