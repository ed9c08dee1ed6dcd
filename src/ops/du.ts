import type { Incomplete } from "../core/call/completeness.js";
import { countText } from "../core/call/progress.js";
import { escapeText, notFound } from "../core/errors/texts.js";
import { counted } from "../core/errors/wording.js";
import type { Rendering } from "../core/ports/adapter.js";
import type { Visit, WalkEntry } from "../core/ports/backend.js";
import { type Operation, type PathCall, READS } from "../core/ports/operation.js";
import { compareVisits } from "../path/order.js";
import type { DuInput, DuOutput } from "../schema/types.js";
import { HiddenCount, MAX_VISITED, Patience } from "../search/entry-filter.js";
import { humanSize } from "./content/human-size.js";
import { EXHAUSTED, hintOf, patienceMs } from "./searching/search.js";

const PATIENCE_MS = 10_000;
const USUAL_LIMIT = 100;

/** `du`: the bytes and number of files below a path. A file with several hard links counts once. */
export const du: Operation<DuInput, DuOutput> = {
  name: "du",
  on: "path",
  ...READS,
  patienceMs: (input, limits) => patienceMs(input.timeoutMs, PATIENCE_MS, limits),
  async run(input, call) {
    const { root, path, access } = call;
    const found = await root.backend.stat(path, access);
    if (found === undefined) throw notFound(access.place);
    const sum = new SizeSum(input, call);
    if (found.type !== "directory") return sum.ofFile(found.type === "file" ? found.size : 0);
    const { visit, visitDenied, unreadable, exhausted } = sum;
    await root.backend.walk(path, { visit, visitDenied, unreadable, exhausted, sizes: true }, access);
    return sum.answer();
  },
  render,
};

/** A reported entry with the sums of everything below it. */
interface Sum {
  readonly path: readonly string[];
  readonly isDirectory: boolean;
  bytes: number;
  files: number;
}

class SizeSum {
  readonly #call: PathCall;
  readonly #depth: number;
  readonly #limit: number;
  readonly #patience: Patience;
  readonly #hidden = new HiddenCount();
  readonly #seen = new Set<string>();
  readonly #names: string[] = [];
  /** Sums of the current directory and its ancestors, down to the reported depth. */
  readonly #open: Sum[] = [];
  readonly #children: Sum[] = [];
  #bytes = 0;
  #files = 0;
  #directories = 0;
  #visited = 0;
  #isExhausted = false;
  #stopped: Incomplete | undefined;

  constructor(input: DuInput, call: PathCall) {
    this.#call = call;
    this.#depth = input.depth ?? 1;
    this.#limit = input.limit ?? USUAL_LIMIT;
    const { scope } = call.access;
    this.#patience = new Patience(scope, patienceMs(input.timeoutMs, PATIENCE_MS, call.limits));
  }

  readonly visit: Visit = (entry) => this.#take(entry, true);
  /** Denied entries count in the sums, but are not named. */
  readonly visitDenied: Visit = (entry) => {
    const step = this.#take(entry, false);
    if (step !== "stop" && !this.#isBelowDenied(entry)) this.#hidden.add("policy");
    return step;
  };
  readonly unreadable = (): void => this.#hidden.add("unreadable");
  readonly exhausted = (): void => {
    this.#isExhausted = true;
  };

  ofFile(bytes: number): DuOutput {
    this.#bytes = bytes;
    this.#files = 1;
    return this.answer();
  }

  answer(): DuOutput {
    this.#children.sort((a, b) => b.bytes - a.bytes || compareVisits(a.path, b.path));
    const shown = this.#children.slice(0, this.#limit);
    const error = this.#isExhausted ? "error" : undefined;
    const reason = error ?? this.#stopped ?? (shown.length < this.#children.length ? "limit" : undefined);
    const { segments, text } = this.#call.path;
    const completeness = { ...(reason === undefined ? {} : { reason }), ...this.#hidden.part() };
    return {
      path: text,
      ...{ bytes: this.#bytes, files: this.#files, directories: this.#directories },
      children: shown.map(({ path, isDirectory, bytes, files }) => ({
        path: `${[...segments, ...path].join("/")}${isDirectory ? "/" : ""}`,
        ...{ bytes, files },
      })),
      timedOut: this.#stopped === "timeout",
      complete: reason === undefined,
      ...completeness,
      ...hintOf(completeness, this.#limit < MAX_LIMIT ? ADVICE : { ...ADVICE, limit: "Others are smaller" }),
    };
  }

  #deniedDepth = Number.POSITIVE_INFINITY;

  /** Entries below a denied directory are not counted as hidden again. */
  #isBelowDenied({ depth, type }: WalkEntry): boolean {
    if (depth > this.#deniedDepth) return true;
    this.#deniedDepth = type === "directory" ? depth : Number.POSITIVE_INFINITY;
    return false;
  }

  #take(entry: WalkEntry, isNamed: boolean): "enter" | "skip" | "stop" {
    if (isNamed) this.#deniedDepth = Number.POSITIVE_INFINITY;
    if (this.#visited > 0 && this.#patience.isOver) return this.#stop("timeout");
    if (this.#visited >= MAX_VISITED) return this.#stop("visited");
    this.#visited++;
    this.#call.access.scope.report?.(this.#visited, undefined, this.#progress);
    const { name, type, depth } = entry;
    // Shortening an array costs more than the rest of this, so only where a directory was left.
    if (this.#names.length > depth) this.#names.length = depth;
    this.#names[depth - 1] = name;
    if (this.#open.length >= depth) this.#open.length = depth - 1;
    const isDirectory = type === "directory";
    const own = isNamed && depth <= this.#depth && type !== "symlink" ? this.#name(isDirectory) : undefined;
    if (type === "file") this.#count(entry, own);
    else if (isDirectory) this.#directories++;
    else if (type === "symlink") this.#hidden.add("symlinks");
    if (isDirectory && own !== undefined) this.#open.push(own);
    return isDirectory ? "enter" : "skip";
  }

  readonly #progress = (): string => `${countText(this.#visited, "entry", "entries")}, ${humanSize(this.#bytes)}`;

  #name(isDirectory: boolean): Sum {
    const sum = { path: [...this.#names], isDirectory, bytes: 0, files: 0 };
    this.#children.push(sum);
    return sum;
  }

  #count({ size = 0, identity }: WalkEntry, own: Sum | undefined): void {
    if (identity !== undefined) {
      if (this.#seen.has(identity)) return;
      this.#seen.add(identity);
    }
    this.#bytes += size;
    this.#files++;
    for (const sum of own === undefined ? this.#open : [...this.#open, own]) {
      sum.bytes += size;
      sum.files++;
    }
  }

  #stop(reason: Incomplete): "stop" {
    this.#stopped = reason;
    return "stop";
  }
}

/** The largest that can be passed. */
const MAX_LIMIT = 10_000;

const ADVICE = {
  limit: "Pass a larger limit",
  timeout: "Sums are too low: pass a larger timeoutMs, or a deeper path",
  visited: "Sums are too low: pass a deeper path",
  error: `Sums are too low. ${EXHAUSTED}`,
};

function render({ children, ...rest }: DuOutput): Rendering {
  const lines = children.map(({ path, bytes }) => `${bytes}\t${escapeText(path)}\n`);
  const { path, bytes, files, directories, hint } = rest;
  const total = `${bytes}\t${escapeText(path === "" ? "/" : path)} (${counted(files, "file")}, ${counted(directories, "directory", "directories")})\n`;
  return { kind: "text", text: total + lines.join(""), rest, ...(hint === undefined ? {} : { note: hint }) };
}
