// Decisions that all searches share for each entry of a walk: time limit, cursor, ignore rules, deny patterns; and what
// is left out, counted.

import type { HiddenKind, Incomplete } from "../core/call/completeness.js";
import { countText } from "../core/call/progress.js";
import type { CallScope } from "../core/call/scope.js";
import { type Awaitable, type Io, runIo } from "../core/io.js";
import type { WalkEntry, WalkOptions, WalkStep } from "../core/ports/backend.js";
import type { Resume } from "./cursor.js";
import type { IgnoreRules } from "./ignore-rules.js";
import { Pace, TimeIsUp } from "./match-budget.js";

/** Most entries that one walk visits. */
export const MAX_VISITED = 200_000;
/** Reserved of the call's own time for building the answer. */
const RESERVE_MS = 250;

/** The time limit of a search, after which it answers with what it has found. */
export class Patience {
  readonly #scope: CallScope;
  readonly #endsAt: number;

  constructor(scope: CallScope, timeoutMs: number) {
    this.#scope = scope;
    const left = scope.remainingMs();
    this.#endsAt = Math.max(RESERVE_MS, left - timeoutMs);
  }

  get isOver(): boolean {
    return this.#scope.remainingMs() <= this.#endsAt;
  }

  get remainingMs(): number {
    return Math.max(0, this.#scope.remainingMs() - this.#endsAt);
  }
}

/** Counts the entries that an enumeration leaves out, by kind. */
export class HiddenCount {
  readonly #counts = new Map<HiddenKind, number>();
  /** Some of the links are named by the caller's globs. */
  namesLinks = false;

  add(kind: HiddenKind, count = 1): void {
    if (count > 0) this.#counts.set(kind, (this.#counts.get(kind) ?? 0) + count);
  }

  /** The field `hidden` of an answer; empty if nothing is hidden. */
  part(): { hidden?: { [kind in HiddenKind]?: number } } {
    return this.#counts.size === 0 ? {} : { hidden: Object.fromEntries(this.#counts) };
  }
}

/** The decision on an entry. */
export type Sifted =
  | { readonly kind: "stop" }
  | { readonly kind: "out" }
  /** Answered in an earlier page. */
  | { readonly kind: "done"; readonly path: readonly string[] }
  | { readonly kind: "in"; readonly path: readonly string[]; readonly isLast: boolean };

export interface SieveOptions {
  /** Segments of the start directory below the root. */
  readonly base: readonly string[];
  readonly patience: Patience;
  readonly scope: CallScope;
  /** `undefined`: nothing is ignored. */
  readonly ignore: IgnoreRules | undefined;
  readonly entersGit: boolean;
  readonly resume: Resume | undefined;
  /** Text on the results so far, for progress messages: "3 matches". Absent: progress is not told. */
  readonly found: (() => string) | undefined;
  /** Most entries visited, if fewer than usual. */
  readonly maxVisited?: number | undefined;
  /** Whether an ignored or denied entry would have been a result, or may contain one: only such entries are counted. */
  readonly concerns: (path: readonly string[], isDirectory: boolean, pace: Pace) => Io<boolean>;
}

/** Decides on each entry of a walk whether a search takes it, and counts the entries left out. */
export class Sieve {
  readonly hidden = new HiddenCount();
  readonly resume: Resume | undefined;
  /** Shared by all name matching of the search. */
  readonly pace: Pace;
  readonly #options: SieveOptions;
  readonly #names: string[];
  /** Why the walk ended early. */
  stopped: Incomplete | undefined;
  /** Some entries were skipped because file descriptors ran out or the tree was moved: the call should be repeated. */
  isExhausted = false;
  /** The last entry that was visited: the next page goes on after it. */
  reached: readonly string[] = [];
  /** `reached` before the current entry. */
  #reachedBefore: readonly string[] = [];
  #visited = 0;

  constructor(options: SieveOptions) {
    this.#options = options;
    this.resume = options.resume;
    this.#names = [...options.base];
    // Each call must advance by at least one entry.
    this.pace = new Pace(options.scope, () => this.#visited > 1 && options.patience.isOver);
  }

  /** The walk options that the sieve needs. */
  rules(): Pick<WalkOptions, "rules" | "unreadable" | "exhausted" | "visitDenied"> {
    const { ignore, base } = this.#options;
    const pathAt = (depth: number) => this.#names.slice(0, base.length + depth);
    return {
      unreadable: () => this.hidden.add("unreadable"),
      visitDenied: (entry: WalkEntry) => this.decide(this.#deny(entry)),
      exhausted: () => {
        this.isExhausted = true;
      },
      ...ignore?.readBy(pathAt, this.hidden),
    };
  }

  /** Runs the decision on an entry. If time is up in the middle of it, the entry counts as not visited. */
  decide(deciding: Io<WalkStep>): Awaitable<WalkStep> {
    return runIo(this.#inTime(deciding));
  }

  *#inTime(deciding: Io<WalkStep>): Io<WalkStep> {
    try {
      return yield* deciding;
    } catch (error) {
      if (!(error instanceof TimeIsUp)) throw error;
      this.reached = this.#reachedBefore;
      this.stop("timeout");
      return "stop";
    }
  }

  /** Must be called for each entry, in the order of the walk. */
  *look(entry: WalkEntry): Io<Sifted> {
    const { patience, resume } = this.#options;
    this.#reachedBefore = this.reached;
    this.#trail(entry);
    // Each call must advance by at least one entry.
    if (this.#visited > 0 && patience.isOver) return this.stop("timeout");
    const path = [...this.#names];
    const standing = resume?.standing(path) ?? "after";
    if (standing === "before") return OUT;
    if (standing === "after") {
      if (this.#visited >= (this.#options.maxVisited ?? MAX_VISITED)) return this.stop("visited");
      this.#visited++;
      this.reached = path;
      if (this.#options.found !== undefined) this.#options.scope.report?.(this.#visited, undefined, this.#progress);
    }
    if (yield* this.#isOut(entry, path, standing === "after")) return OUT;
    return standing === "above" ? { kind: "done", path } : { kind: "in", path, isLast: standing === "last" };
  }

  /** Called for each entry that the policy denies; a denied directory is not entered. */
  *#deny(entry: WalkEntry): Io<"skip" | "stop"> {
    const { patience, resume, concerns } = this.#options;
    this.#trail(entry);
    if (this.#visited > 0 && patience.isOver) {
      this.stop("timeout");
      return "stop";
    }
    const path = [...this.#names];
    this.#reachedBefore = this.reached;
    const isNew = (resume?.standing(path) ?? "after") === "after";
    if (isNew && (yield* concerns(path, entry.type === "directory", this.pace))) this.hidden.add("policy");
    return "skip";
  }

  readonly #progress = (): string => `${countText(this.#visited, "entry", "entries")}, ${this.#options.found?.()}`;

  stop(reason: Incomplete): Sifted {
    this.stopped ??= reason;
    return STOP;
  }

  #trail({ depth, name }: WalkEntry): void {
    const length = this.#options.base.length + depth;
    // Shortening an array costs more than the rest of this, so only where a directory was left.
    if (this.#names.length > length) this.#names.length = length;
    this.#names[length - 1] = name;
  }

  *#isOut(entry: WalkEntry, path: readonly string[], counts: boolean): Io<boolean> {
    const { ignore, entersGit, concerns } = this.#options;
    if (entry.name === ".git" && !entersGit) return true;
    const isDirectory = entry.type === "directory";
    const isIgnored = ignore !== undefined && (yield* ignore.ignores(path, isDirectory, this.pace));
    const kind = isIgnored ? "gitignored" : entry.unreachable === true ? "unreadable" : undefined;
    if (kind === undefined) return false;
    if (counts && (yield* concerns(path, isDirectory, this.pace))) this.hidden.add(kind);
    return true;
  }
}

const OUT: Sifted = { kind: "out" };
const STOP: Sifted = { kind: "stop" };
