// Scans files for expressions in worker threads, which can be terminated when they take too long.

import { Worker } from "node:worker_threads";
import type { LineQuery, LineScanner, Scan, ScanJob, Scanners } from "../core/call/scan.js";
import { FileAdapterError } from "../core/errors/errors.js";
import { aborted, invalidPattern, timedOut } from "../core/errors/texts.js";
import { type Awaitable, isPending, yieldToLoop } from "../core/io.js";
import { compiledFile } from "../core/package-files.js";
import { FairQueue } from "../core/turns.js";
import type { PatternFault } from "./scan-expression.js";
import { type LineMatcher, literalMatcher, scanLines } from "./scan-lines.js";
import type { ScanRequest } from "./scan-worker.js";

/** Most threads at once; further scans wait for one. */
const MAX_THREADS = 2;
/** A longer literal could block the event loop for too long in the worst case. */
const MAX_LITERAL_CHARS = 64;
/** Heap limit of one thread in MB: for automata, and the files of one request as text. */
const MEMORY_MB = 256;
/** An expression that is a plain literal, with escaped punctuation. */
const PLAIN_TEXT = /^(?:[^\\^$.|?*+()[\]{}]|\\[!-/:-@[-^`{-~])+$/;

const CODE = compiledFile("search/scan-worker");

interface Waiting {
  admit(worker: Worker): void;
  refuse(error: Error): void;
}

/** A pool of worker threads, started on demand. Short literals are scanned on the calling thread instead. */
export class ScanPool implements Scanners {
  readonly #idle: Worker[] = [];
  readonly #all = new Set<Worker>();
  readonly #waiting = new FairQueue<Waiting>();
  #isClosed = false;

  async open(query: LineQuery, withinMs: number, caller?: string): Promise<LineScanner> {
    if (this.#isClosed) throw aborted();
    const literal = literalOf(query);
    if (literal !== undefined && literal.length <= MAX_LITERAL_CHARS) return scanInline(literal);
    const started = performance.now();
    const worker = await this.#take(withinMs, caller);
    const thread = new Thread(worker, (isSound) => this.#give(worker, isSound));
    try {
      const left = Math.max(1, withinMs - (performance.now() - started));
      const fault = (await thread.ask({ query }, left)) as Partial<PatternFault>;
      if (fault.reason !== undefined) throw invalidPattern(query.pattern, fault.reason, fault.position);
      return thread;
    } catch (error) {
      thread.close();
      // The thread ended by itself: it ran out of memory.
      const isSpent = error instanceof FileAdapterError && error.code === "ABORTED" && !this.#isClosed;
      throw isSpent ? invalidPattern(query.pattern, "it is too large") : error;
    }
  }

  async close(): Promise<void> {
    this.#isClosed = true;
    for (let one = this.#waiting.take(); one !== undefined; one = this.#waiting.take()) one.refuse(aborted());
    await Promise.all([...this.#all].map((worker) => worker.terminate()));
  }

  async #take(withinMs: number, caller: string | undefined): Promise<Worker> {
    const idle = this.#idle.pop();
    if (idle !== undefined) return idle;
    if (this.#all.size < MAX_THREADS) return this.#start();
    return new Promise((resolve, reject) => {
      const settled = <T>(then: (value: T) => void) => {
        return (value: T) => {
          clearTimeout(timer);
          then(value);
        };
      };
      const waiting = { admit: settled(resolve), refuse: settled(reject) };
      const timer = setTimeout(() => {
        this.#waiting.remove(caller, waiting);
        reject(timedOut(Math.round(withinMs)));
      }, withinMs);
      this.#waiting.push(caller, waiting);
    });
  }

  #start(): Worker {
    const worker = new Worker(CODE, { stdin: false, resourceLimits: { maxOldGenerationSizeMb: MEMORY_MB } });
    worker.unref();
    worker.on("error", () => {});
    worker.on("exit", () => this.#forget(worker));
    this.#all.add(worker);
    return worker;
  }

  #forget(worker: Worker): void {
    this.#all.delete(worker);
    const at = this.#idle.indexOf(worker);
    if (at >= 0) this.#idle.splice(at, 1);
  }

  #give(worker: Worker, isSound: boolean): void {
    const isAlive = isSound && this.#all.has(worker);
    if (!isAlive) {
      this.#forget(worker);
      void worker.terminate();
    }
    if (this.#isClosed) return;
    const next = this.#waiting.take();
    if (next !== undefined) next.admit(isAlive ? worker : this.#start());
    else if (isAlive) this.#idle.push(worker);
  }
}

/** The literal that a query searches for. `undefined`: it can match several texts. */
function literalOf({ pattern, literal, ignoreCase, multiline = false }: LineQuery): string | undefined {
  if (ignoreCase || multiline) return undefined;
  if (literal) return pattern;
  return PLAIN_TEXT.test(pattern) ? pattern.replace(/\\(.)/g, "$1") : undefined;
}

/** A scanner in a thread, for one search. */
class Thread implements LineScanner {
  readonly isInline = false;
  readonly #worker: Worker;
  readonly #release: (isSound: boolean) => void;
  #isBusy = false;
  #isOver = false;

  constructor(worker: Worker, release: (isSound: boolean) => void) {
    this.#worker = worker;
    this.#release = release;
  }

  async scan(jobs: readonly ScanJob[], withinMs: number): Promise<readonly Scan[]> {
    const given = jobs.map(({ bytes }) => bytes.buffer as ArrayBuffer);
    return (await this.ask({ jobs }, withinMs, given)) as readonly Scan[];
  }

  /** One request at a time. @throws TIMEOUT; ABORTED if the thread ends or has been released */
  async ask(request: ScanRequest, withinMs: number, given: readonly ArrayBuffer[] = []): Promise<unknown> {
    if (this.#isOver) throw aborted();
    this.#isBusy = true;
    return new Promise((resolve, reject) => {
      const settle = (done: () => void) => {
        clearTimeout(timer);
        this.#worker.off("message", onMessage).off("error", onEnd).off("exit", onEnd);
        done();
      };
      const onMessage = (answer: unknown) =>
        settle(() => {
          this.#isBusy = false;
          resolve(answer);
        });
      const onEnd = () => settle(() => reject(aborted()));
      const timer = setTimeout(() => settle(() => reject(timedOut(Math.round(withinMs)))), Math.max(1, withinMs));
      this.#worker.on("message", onMessage).on("error", onEnd).on("exit", onEnd);
      this.#worker.postMessage(request, [...given]);
    });
  }

  /** Releases the thread; a busy one is terminated, since it might run for an unknown time. */
  close(): void {
    if (this.#isOver) return;
    this.#isOver = true;
    this.#release(!this.#isBusy);
  }
}

// Scans for short literals on the calling thread, without blocking the event loop for long.

/** How long a scan may occupy the event loop before it yields. */
const BREATH_MS = 10;

/** Scans for a literal on the calling thread, which is faster than passing the files to a worker. */
function scanInline(literal: string): LineScanner {
  const matcher = literalMatcher(literal);
  return {
    isInline: true,
    scan(jobs, withinMs) {
      const [first] = jobs;
      if (first === undefined) return [];
      const one = scanOne(first, matcher, withinMs);
      if (jobs.length === 1 && !isPending(one)) return [one];
      return scanAll(one, jobs.slice(1), { matcher, withinMs });
    },
    close: () => {},
  };
}

async function scanAll(
  first: Awaitable<Scan>,
  others: readonly ScanJob[],
  { matcher, withinMs }: { matcher: LineMatcher; withinMs: number },
): Promise<readonly Scan[]> {
  const scans = [await first];
  for (const job of others) scans.push(await scanOne(job, matcher, withinMs));
  return scans;
}

function scanOne(job: ScanJob, matcher: LineMatcher, withinMs: number): Awaitable<Scan> {
  const scan = scanLines(job, matcher);
  if (scan === "binary" || "count" in scan) return scan;
  const endsAt = performance.now() + withinMs;
  return scanSlice(scan) ?? scanWithPauses(scan, endsAt, withinMs);
}

/** Scans for at most {@link BREATH_MS}. @returns `undefined` if there is more to do */
function scanSlice(scan: Generator<undefined, Scan>): Scan | undefined {
  const until = performance.now() + BREATH_MS;
  do {
    const step = scan.next();
    if (step.done === true) return step.value;
  } while (performance.now() < until);
  return undefined;
}

async function scanWithPauses(scan: Generator<undefined, Scan>, endsAt: number, withinMs: number): Promise<Scan> {
  for (;;) {
    await yieldToLoop();
    if (performance.now() > endsAt) throw timedOut(Math.round(withinMs));
    const done = scanSlice(scan);
    if (done !== undefined) return done;
  }
}
