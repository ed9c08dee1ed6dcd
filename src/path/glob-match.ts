// Matching of globs in bounded time.

/**
 * One part of a glob. Matching simulates an NFA: each part maps the set of positions where it may start to the set
 * where it may end, and visits no position twice. So a match costs at most parts of the glob times length of the text.
 */
export type GlobNode =
  | { readonly kind: "text"; readonly text: string }
  /** One character except `/`. */
  | { readonly kind: "one"; readonly has: (char: string) => boolean }
  /** A whole number, written without leading zeros. */
  | { readonly kind: "number"; readonly low: number; readonly high: number }
  | { readonly kind: Spread }
  | { readonly kind: "group"; readonly choices: readonly Glob[]; readonly repeat: Repeat };

/**
 * Parts of variable length. `star`: any characters except `/`. `any`: any characters. `folders`, `below`: zero or more
 * whole directories, as `a/b/` and as `/a/b`. `tail`: nothing, or `/` and anything.
 */
type Spread = "star" | "any" | "folders" | "below" | "tail";
/** As in extended globs (extglob); `!`: anything within a segment that no choice matches. */
export type Repeat = "@" | "?" | "*" | "+" | "!";
export type Glob = readonly GlobNode[];
type Group = Extract<GlobNode, { kind: "group" }>;
type Positions = readonly number[];

/** A glob, ready to be matched. */
export interface GlobMatcher {
  /** Upper bound of the matching steps per character of the text. */
  readonly weight: number;
  /** Whether it matches the whole text, a path or a name. */
  matches(text: string): boolean;
  /** Whether it matches a path or one of its ancestors. */
  covers(path: string): boolean;
}

export function compileGlob(glob: Glob): GlobMatcher {
  const texts = glob.flatMap((node) => (node.kind === "text" ? [node.text] : []));
  const needed = texts.reduce((longest, text) => (text.length > longest.length ? text : longest), "");
  const run = (text: string): Positions =>
    text.includes(needed) ? new GlobRun(text, undefined).run(glob, [0]) : NOWHERE;
  return {
    weight: nodesOf(glob),
    matches: quickMatch(glob) ?? ((text) => run(text).includes(text.length)),
    covers: (path) => run(path).some((end) => end === path.length || path[end] === "/"),
  };
}

const NOWHERE: Positions = [];

/** A fast path for the most common globs: a name, a prefix, a suffix. */
function quickMatch([first, second, ...more]: Glob): GlobMatcher["matches"] | undefined {
  if (first === undefined || more.length > 0) return undefined;
  if (first.kind === "text" && second === undefined) return (text) => text === first.text;
  if (first.kind === "star" && second?.kind === "text") {
    const end = second.text;
    return (text) => text.endsWith(end) && text.lastIndexOf("/", text.length - end.length - 1) < 0;
  }
  if (first.kind === "text" && second?.kind === "star") {
    return (text) => text.startsWith(first.text) && !text.includes("/", first.text.length);
  }
  return undefined;
}

/** Number of parts of a glob, including those in its groups. */
export function nodesOf(glob: Glob): number {
  let count = 0;
  for (const node of glob) {
    count++;
    if (node.kind === "group") for (const choice of node.choices) count += nodesOf(choice);
  }
  return count;
}

/** The set of positions where a node has ended: 1 at each of them. */
type Ends = Uint8Array;

class GlobRun {
  readonly #text: string;
  /** Inside a repeated group: ends found in earlier rounds, so that no round finds them again. */
  readonly #rounds: Map<GlobNode, Ends> | undefined;

  constructor(text: string, rounds: Map<GlobNode, Ends> | undefined) {
    this.#text = text;
    this.#rounds = rounds;
  }

  /** @param starts without duplicates, also across the rounds of a group @returns likewise */
  run(glob: Glob, starts: Positions): Positions {
    let at = starts;
    for (const node of glob) {
      if (at.length === 0) return at;
      at = this.#step(node, at);
    }
    return at;
  }

  #step(node: GlobNode, starts: Positions): Positions {
    const ends: number[] = [];
    switch (node.kind) {
      case "text":
        for (const at of starts) if (this.#text.startsWith(node.text, at)) ends.push(at + node.text.length);
        return ends;
      case "one":
        for (const at of starts) this.#character(node.has, at, ends);
        return ends;
      case "number":
        for (const at of starts) this.#numbers(node, at, ends);
        return takeUnknown(this.#known(node), ends);
      case "group":
        return this.#group(node, starts);
      default:
        return this.#spread(node.kind, starts, this.#known(node));
    }
  }

  #known(node: GlobNode): Ends {
    const known = this.#rounds?.get(node) ?? new Uint8Array(this.#text.length + 1);
    this.#rounds?.set(node, known);
    return known;
  }

  #character(has: (char: string) => boolean, at: number, ends: number[]): void {
    const code = this.#text.codePointAt(at);
    if (code === undefined) return;
    const char = String.fromCodePoint(code);
    if (char !== "/" && has(char)) ends.push(at + char.length);
  }

  #numbers({ low, high }: { low: number; high: number }, at: number, ends: number[]): void {
    const longest = Math.max(String(low).length, String(high).length);
    for (let end = at + 1; end <= Math.min(at + longest, this.#text.length); end++) {
      const digits = this.#text.slice(at, end);
      const value = Number(digits);
      if (low <= value && value <= high && String(value) === digits) ends.push(end);
    }
  }

  /** Each start advances until it meets an end that another start has reached: from there on both are the same. */
  #spread(kind: Spread, starts: Positions, known: Ends): Positions {
    const ends: number[] = [];
    const take = (end: number): boolean => {
      const isNew = known[end] === 0;
      if (isNew) ends.push(end);
      known[end] = 1;
      return isNew;
    };
    for (const at of starts) {
      if (kind !== "star" && kind !== "any") take(at);
      for (let end = this.#next(kind, at, true); end !== undefined && take(end); ) end = this.#next(kind, end, false);
    }
    return ends;
  }

  /** The next end of a part of variable length, after a start or after an end. */
  #next(kind: Spread, at: number, isStart: boolean): number | undefined {
    const text = this.#text;
    switch (kind) {
      case "star":
      case "any":
        if (isStart) return at;
        return at >= text.length || (kind === "star" && text[at] === "/") ? undefined : at + 1;
      case "tail":
        return at >= text.length || (isStart && text[at] !== "/") ? undefined : at + 1;
      case "folders": {
        const slash = text.indexOf("/", at);
        return slash <= at ? undefined : slash + 1;
      }
      default: {
        if (text[at] !== "/" || at + 1 >= text.length) return undefined;
        const slash = text.indexOf("/", at + 1);
        return slash < 0 ? text.length : slash;
      }
    }
  }

  #group(node: Group, starts: Positions): Positions {
    const { choices, repeat } = node;
    const known = this.#known(node);
    if (repeat === "!")
      return takeUnknown(
        known,
        starts.flatMap((at) => this.#unlike(choices, at)),
      );
    const ends = repeat === "?" || repeat === "*" ? [...takeUnknown(known, starts)] : [];
    if (repeat === "@" || repeat === "?") {
      for (const end of takeUnknown(known, this.#any(choices, starts))) ends.push(end);
      return ends;
    }
    const inside = this.#rounds === undefined ? new GlobRun(this.#text, new Map()) : this;
    for (let from: Positions = repeat === "*" ? [...ends] : starts; from.length > 0; ) {
      from = takeUnknown(known, inside.#any(choices, from));
      for (const end of from) ends.push(end);
    }
    return ends;
  }

  #any(choices: readonly Glob[], starts: Positions): number[] {
    const ends: number[] = [];
    for (const choice of choices) for (const end of this.run(choice, starts)) ends.push(end);
    return ends;
  }

  #unlike(choices: readonly Glob[], at: number): Positions {
    const alike = new Set(new GlobRun(this.#text, undefined).#any(choices, [at]));
    return this.#spread("star", [at], new Uint8Array(this.#text.length + 1)).filter((end) => !alike.has(end));
  }
}

/** The ends that were not known yet; marks them as known. */
function takeUnknown(known: Ends, ends: Positions): Positions {
  return ends.filter((end) => {
    const isNew = known[end] === 0;
    known[end] = 1;
    return isNew;
  });
}
