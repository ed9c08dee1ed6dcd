import { isUtf8 } from "node:buffer";
import type { Ignore } from "ignore";

/** In each directory, the later one is stronger, wherever both stand. */
export const RULE_FILES = [".gitignore", ".ignore"] as const;
/** Larger ones are not applied. */
export const MAX_RULE_BYTES = 262_144;

/** Matching takes at most so many nested repetitions; a line with more is not applied. */
const MOST_WILDCARDS = 3;
const MOST_LINE_CHARS = 1000;
/** Lines that every program reads alike. */
const PLAIN = /^(?:#.*|!?\/?(?:\*\*\/)*[\w.\-+~@%=,*]+(?:\/(?:\*\*|[\w.\-+~@%=,*]+))*\/?|\s*)$/;

type MakeIgnore = (options: { ignorecase: boolean }) => Ignore;

/** The rules of one directory. */
interface Rules {
  /** Segments of the directory below the root. */
  readonly directory: readonly string[];
  readonly quick: QuickRules;
  /** What the quick ones cannot say. */
  readonly rest: Ignore | undefined;
}

const NAME = /^(\/?)([\w.\-+~@%=,]+)(\/?)$/;
const ENDING = /^\*([\w.\-+~@%=,]+)$/;

const isQuick = (line: string): boolean => NAME.test(line) || ENDING.test(line);

/** The rules that most files consist of: names, and endings of names. A regular expression for each would take longer. */
class QuickRules {
  /** By name: of files and directories, of directories only; anywhere, or beside the rules only. */
  readonly #names = new Map<string, { onlyDirectories: boolean; onlyHere: boolean }[]>();
  readonly #endings: string[] = [];

  constructor(lines: readonly string[]) {
    for (const line of lines) {
      const [, slash, name, end] = NAME.exec(line) ?? [];
      const ending = ENDING.exec(line)?.[1];
      if (ending !== undefined) this.#endings.push(ending);
      if (name === undefined) continue;
      const rule = { onlyDirectories: end === "/", onlyHere: slash === "/" };
      this.#names.set(name, [...(this.#names.get(name) ?? []), rule]);
    }
  }

  ignore(segments: readonly string[], { depth, isDirectory }: { depth: number; isDirectory: boolean }): boolean {
    const name = segments.at(-1) ?? "";
    const isHere = segments.length === depth + 1;
    return (
      this.#endings.some((ending) => name.endsWith(ending)) ||
      this.#names.get(name)?.some((rule) => (isDirectory || !rule.onlyDirectories) && (isHere || !rule.onlyHere)) ===
        true
    );
  }
}

/** What the rule files of a tree leave out, kept up while a walk goes through it. */
export class IgnoreRules {
  readonly #make: MakeIgnore;
  /** One stack for each of {@link RULE_FILES}, outermost directory first. */
  readonly #stacks: readonly Rules[][] = RULE_FILES.map(() => []);
  /** Depths of directories whose rules others may read in another way. */
  readonly #odd: number[] = [];

  constructor(make: MakeIgnore) {
    this.#make = make;
  }

  /** Whether another program that knows `.gitignore` only may leave out an entry that is not ignored here. */
  isOdd(segments: readonly string[]): boolean {
    return this.#odd.some((depth) => depth < segments.length);
  }

  /** Takes in the rules of a directory, and forgets those of directories that it does not stand in. */
  enter(directory: readonly string[], contents: readonly (Buffer | undefined)[]): void {
    const depth = directory.length;
    while ((this.#odd.at(-1) ?? -1) >= depth) this.#odd.pop();
    let isOdd = false;
    this.#stacks.forEach((stack, kind) => {
      while ((stack.at(-1)?.directory.length ?? -1) >= depth) stack.pop();
      const lines = linesOf(contents[kind]);
      if (lines.length === 0) return;
      const applied = lines.filter(isBounded);
      // Whoever does not know this kind of file, or reads a line in another way, may not see what is kept in here.
      isOdd ||= kind === 0 ? !lines.every((line) => PLAIN.test(line)) : lines.some((line) => line.startsWith("!"));
      stack.push({ directory, ...this.#compile(applied) });
    });
    if (isOdd) this.#odd.push(depth);
  }

  #compile(lines: readonly string[]): Pick<Rules, "quick" | "rest"> {
    // Without an exception among them, the order of rules means nothing.
    const isPlain = !lines.some((line) => line.startsWith("!"));
    const quick = new QuickRules(isPlain ? lines : []);
    const rest = isPlain ? lines.filter((line) => !isQuick(line)) : lines;
    return { quick, rest: rest.length === 0 ? undefined : this.#make({ ignorecase: false }).add(rest) };
  }

  /** Lets go of the rules that ignore a directory: whoever names it wants to see what is in it. */
  admit(directory: readonly string[]): void {
    for (const stack of this.#stacks) {
      for (let at = stack.length - 1; at >= 0; at--) {
        const known = stack[at];
        if (known === undefined || directory.length <= known.directory.length) continue;
        if (verdict(known, directory, true) === "ignored") stack.splice(at, 1);
      }
    }
  }

  ignores(segments: readonly string[], isDirectory: boolean): boolean {
    // `.ignore` decides before `.gitignore`, and in each kind the innermost directory that says anything.
    for (let kind = this.#stacks.length - 1; kind >= 0; kind--) {
      const stack = this.#stacks[kind] ?? [];
      for (let at = stack.length - 1; at >= 0; at--) {
        const known = stack[at];
        // The walk may have left a directory, and not have entered another since.
        if (known === undefined || known.directory.length >= segments.length) continue;
        const says = verdict(known, segments, isDirectory);
        if (says !== undefined) return says === "ignored";
      }
    }
    return false;
  }
}

export async function createIgnoreRules(): Promise<IgnoreRules> {
  const { default: make } = await import("ignore");
  return new IgnoreRules(make as unknown as MakeIgnore);
}

function verdict(
  { directory, quick, rest }: Rules,
  segments: readonly string[],
  isDirectory: boolean,
): "ignored" | "kept" | undefined {
  if (quick.ignore(segments, { depth: directory.length, isDirectory })) return "ignored";
  if (rest === undefined) return undefined;
  const path = segments.slice(directory.length).join("/");
  const { ignored, unignored } = rest.test(isDirectory ? `${path}/` : path);
  return ignored ? "ignored" : unignored ? "kept" : undefined;
}

function linesOf(content: Buffer | undefined): string[] {
  if (content === undefined || !isUtf8(content)) return [];
  const lines = content
    .toString("utf8")
    .replace(/^\ufeff/, "")
    .split(/\r?\n/);
  return lines.filter((line) => line.trim() !== "" && !line.startsWith("#"));
}

/** Rules are written by whoever may write a file: none may make a walk slow. */
function isBounded(line: string): boolean {
  const core = line.replace(/^!?(?:\*\*\/)?/, "").replace(/\/\*\*$/, "");
  return line.length <= MOST_LINE_CHARS && (core.match(/\*+/g)?.length ?? 0) <= MOST_WILDCARDS;
}
