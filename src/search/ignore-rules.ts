// The ignore rules in force during a walk, from `.gitignore` and like files. Bounded in number and size.

import { isUtf8 } from "node:buffer";
import { isBelow } from "../core/call/path.js";
import { type Awaitable, type Io, wait } from "../core/io.js";
import type { WalkContent, WalkOptions } from "../core/ports/backend.js";
import { foldForGit, type IgnoreRule, readIgnoreLine } from "./ignore-line.js";
import type { Pace } from "./match-budget.js";
import { readIndex, type TrackedFiles } from "./tracked-files.js";

/** In order of precedence: a rule of a later kind overrides one of an earlier kind, whatever their directories. */
const KINDS = [".git/info/exclude", ".gitignore", ".ignore", ".agentignore"] as const;
/** Number of leading kinds whose rules do not ignore files that Git tracks. */
const KINDS_OF_GIT = 2;
/** Says that a directory is a repository. */
export const REPOSITORY = ".git/HEAD";
/** Names that {@link IgnoreRules.enter} looks for in a directory. */
export const RULE_FILES = [...KINDS, REPOSITORY] as const;
/** Larger rule files are not read. */
export const MAX_RULE_BYTES = 262_144;

/** Anyone who may write a file can write ignore files, so the rules in force at one place are bounded. */
const MAX_RULES = 10_000;
const MAX_RULE_CHARS = 524_288;
const MAX_LINE_CHARS = 1000;

/** The rules of one file. The last one that matches decides. */
interface Rules {
  /** Segments of its directory below the root. */
  readonly directory: readonly string[];
  readonly count: number;
  readonly chars: number;
  /** Rules for exactly one name, by that name. */
  readonly names: ReadonlyMap<string, readonly Placed[]>;
  /** All other rules, the last first. */
  readonly others: readonly Placed[];
}

/** Reads the index of a repository, as far as the caller may. */
export type ReadIndex = (repository: readonly string[]) => Awaitable<Buffer | undefined>;

/** A rule and its index in the file. */
type Placed = IgnoreRule & { readonly at: number };

/** Decides which entries of a tree are ignored; updated while a walk goes through it. */
export class IgnoreRules {
  /** One stack for each of {@link KINDS}, outermost directory first. */
  readonly #stacks: readonly Rules[][] = KINDS.map(() => []);
  /** Directories that are repositories, outermost first. */
  readonly #repositories: (readonly string[])[] = [];
  /** By directory; they are read when a rule first ignores something. */
  readonly #indexes = new Map<string, TrackedFiles | undefined>();
  /** Ignored directories that are entered for what Git tracks in them, outermost first. */
  readonly #opened: (readonly string[])[] = [];
  readonly #readIndex: ReadIndex;
  readonly #folds: boolean;

  /** @param folds names that differ in case alone are one */
  constructor(readIndex: ReadIndex = () => undefined, folds = false) {
    this.#readIndex = readIndex;
    this.#folds = folds;
  }

  /** No rule is in force: nothing is ignored. */
  get isEmpty(): boolean {
    for (const stack of this.#stacks) if (stack.length > 0) return false;
    return true;
  }

  /**
   * Adds the rules of a directory, and drops those of directories that are not its ancestors.
   * @returns number of its rule files that were not read, or not completely
   */
  enter(directory: readonly string[], contents: readonly (WalkContent | undefined)[]): number {
    const depth = directory.length;
    for (const stack of this.#stacks) while ((stack.at(-1)?.directory.length ?? -1) >= depth) stack.pop();
    while ((this.#repositories.at(-1)?.length ?? -1) >= depth) this.#repositories.pop();
    if (contents[KINDS.length] !== undefined) this.#repositories.push([...directory]);
    let unread = 0;
    this.#stacks.forEach((stack, kind) => {
      const content = contents[kind];
      if (content === undefined) return;
      if (typeof content === "string" || content.length > MAX_RULE_BYTES || !isUtf8(content)) {
        unread++;
        return;
      }
      const text = content.toString("utf8");
      const { rules, isWhole } = readRules(directory, this.#folds ? foldForGit(text) : text, this.#room());
      if (!isWhole) unread++;
      if (rules.count > 0) stack.push(rules);
    });
    return unread;
  }

  /** What a walk reads. @param pathAt the directory at a depth of the walk @param hidden counts rule files that are not read */
  readBy(
    pathAt: (depth: number) => readonly string[],
    hidden: { add(kind: "unreadable", count: number): void },
  ): Required<Pick<WalkOptions, "rules">> {
    const found: NonNullable<WalkOptions["rules"]>["found"] = (depth, contents) =>
      hidden.add("unreadable", this.enter(pathAt(depth), contents));
    return { rules: { names: RULE_FILES, maxBytes: MAX_RULE_BYTES, found } };
  }

  /** How many more rules and characters may be in force. */
  #room(): Room {
    const all = this.#stacks.flat();
    return {
      rules: MAX_RULES - all.reduce((sum, { count }) => sum + count, 0),
      chars: MAX_RULE_CHARS - all.reduce((sum, { chars }) => sum + chars, 0),
    };
  }

  /** Drops the rule files that ignore a directory: a caller that names it as the base wants to see its content. */
  *admit(directory: readonly string[], pace: Pace): Io<void> {
    for (const stack of this.#stacks) {
      for (let at = stack.length - 1; at >= 0; at--) {
        const known = stack[at];
        if (known === undefined) continue;
        for (let end = known.directory.length + 1; end <= directory.length; end++) {
          if (
            (yield* verdict(known, this.#compared(directory.slice(0, end)), { isDirectory: true, pace })) !== "ignored"
          )
            continue;
          stack.splice(at, 1);
          break;
        }
      }
    }
  }

  /** Whether an entry is ignored; yields to other calls when it takes long. @throws TimeIsUp */
  *ignores(segments: readonly string[], isDirectory: boolean, pace: Pace): Io<boolean> {
    while (this.#opened.length > 0 && !isBelow(segments, this.#opened.at(-1) ?? [])) this.#opened.pop();
    const found = yield* this.#ruling(this.#compared(segments), isDirectory, pace);
    // Within an ignored directory Git knows no exceptions.
    const isOfGit = found === undefined || found.kind < KINDS_OF_GIT;
    const isIgnored = found?.says === "ignored" || (isOfGit && this.#opened.length > 0);
    if (!isIgnored || !isOfGit || !(yield* this.#isTracked(segments, isDirectory))) return isIgnored;
    if (isDirectory) this.#opened.push([...segments]);
    return false;
  }

  #compared(segments: readonly string[]): readonly string[] {
    return this.#folds ? segments.map(foldForGit) : segments;
  }

  *#isTracked(segments: readonly string[], isDirectory: boolean): Io<boolean> {
    const repository = this.#repositories.findLast(({ length }) => length < segments.length);
    if (repository === undefined) return false;
    const key = repository.join("/");
    if (!this.#indexes.has(key)) {
      const bytes = yield* wait(this.#readIndex(repository));
      this.#indexes.set(key, bytes && readIndex(bytes));
    }
    return this.#indexes.get(key)?.has(segments.slice(repository.length).join("/"), isDirectory) === true;
  }

  /** The rule that decides on an entry. */
  *#ruling(segments: readonly string[], isDirectory: boolean, pace: Pace): Io<Ruling | undefined> {
    // Within a kind, the innermost directory with a matching rule.
    for (let kind = this.#stacks.length - 1; kind >= 0; kind--) {
      const stack = this.#stacks[kind] ?? [];
      for (let at = stack.length - 1; at >= 0; at--) {
        const known = stack[at];
        // Rules of a directory that the walk has left stay on the stack until it enters another.
        if (known === undefined || known.directory.length >= segments.length) continue;
        const says = yield* verdict(known, segments, { isDirectory, pace });
        if (says !== undefined) return { says, kind };
      }
    }
    return undefined;
  }
}

interface Ruling {
  readonly says: "ignored" | "kept";
  /** Index in {@link KINDS}. */
  readonly kind: number;
}

interface Asked {
  readonly isDirectory: boolean;
  readonly pace: Pace;
}

function* verdict(
  { directory, names, others }: Rules,
  segments: readonly string[],
  { isDirectory, pace }: Asked,
): Io<"ignored" | "kept" | undefined> {
  const name = segments.at(-1) ?? "";
  const path = segments.slice(directory.length).join("/");
  const matches = (rule: Placed): boolean =>
    (isDirectory || !rule.onlyDirectories) && rule.matches(rule.isName ? name : path);
  let found = names.get(name)?.findLast(matches);
  for (const rule of others) {
    if (rule.at < (found?.at ?? -1)) break;
    if (pace.takes(1 + rule.weight * (rule.isName ? name : path).length)) yield* pace.rest();
    if (!matches(rule)) continue;
    found = rule;
    break;
  }
  if (found === undefined) return undefined;
  return found.isException ? "kept" : "ignored";
}

interface Room {
  readonly rules: number;
  readonly chars: number;
}

/** @param room how many rules and characters may be added; the rest of the file is not read */
function readRules(directory: readonly string[], text: string, room: Room): { rules: Rules; isWhole: boolean } {
  const names = new Map<string, Placed[]>();
  const others: Placed[] = [];
  let isWhole = true;
  let count = 0;
  let chars = 0;
  for (const line of text.replace(/^\ufeff/, "").split(/\r?\n/)) {
    if (line.trim() === "" || line.startsWith("#")) continue;
    if (count >= room.rules || chars + line.length > room.chars) {
      isWhole = false;
      break;
    }
    if (line.length > MAX_LINE_CHARS) {
      isWhole = false;
      continue;
    }
    const rule = readIgnoreLine(line);
    if (rule === undefined) continue;
    const placed = { ...rule, at: count++ };
    chars += line.length;
    if (rule.name === undefined) others.push(placed);
    else {
      const same = names.get(rule.name);
      if (same === undefined) names.set(rule.name, [placed]);
      else same.push(placed);
    }
  }
  return { rules: { directory, count, chars, names, others: others.reverse() }, isWhole };
}
