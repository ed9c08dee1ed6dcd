import { Worker } from "node:worker_threads";
import type { LineQuery, LineScanner, Scan, ScanJob, Scanners } from "../core/call/scan.js";
import { FileAdapterError } from "../core/errors/errors.js";
import { aborted, invalidPattern, timedOut } from "../core/errors/texts.js";
import { compiledFile } from "../core/package-files.js";
import type { PatternFault } from "./scan-expression.js";
import { scanHere } from "./scan-here.js";
import type { ScanRequest } from "./scan-worker.js";

/** Threads at once; further scans wait for one. */
const MOST_THREADS = 2;
/** A longer text would take longer to find in the worst case than may be spent without letting others run. */
const MOST_LITERAL_CHARS = 64;
/** Memory of one thread in MB: some tables of automata, and the files of one request as text. */
const MEMORY_MB = 256;
/** An expression that is nothing but a text. Punctuation behind a backslash is itself. */
const PLAIN_TEXT = /^(?:[^\\^$.|?*+()[\]{}]|\\[!-/:-@[-^`{-~])+$/;

const CODE = compiledFile("search/scan-worker");

interface Waiting {
  admit(worker: Worker): void;
  refuse(error: Error): void;
}

/** Scans expressions in threads of their own, which are ended when they take too long; started when they are needed. */
export class ScanPool implements Scanners {
  readonly #idle: Worker[] = [];
  readonly #all = new Set<Worker>();
  readonly #waiting: Waiting[] = [];
  #isClosed = false;

  async open(query: LineQuery, withinMs: number): Promise<LineScanner> {
    if (this.#isClosed) throw aborted();
    const literal = literalOf(query);
    if (literal !== undefined && literal.length <= MOST_LITERAL_CHARS) return scanHere(literal);
    const started = performance.now();
    const worker = await this.#take(withinMs);
    const thread = new Thread(worker, (isSound) => this.#give(worker, isSound));
    try {
      const left = Math.max(1, withinMs - (performance.now() - started));
      const fault = (await thread.ask({ query }, left)) as Partial<PatternFault>;
      if (fault.reason !== undefined) throw invalidPattern(query.pattern, fault.reason, fault.position);
      return thread;
    } catch (error) {
      thread.close();
      // It ended by itself: there was not enough memory.
      const isSpent = error instanceof FileAdapterError && error.code === "ABORTED" && !this.#isClosed;
      throw isSpent ? invalidPattern(query.pattern, "it is too large") : error;
    }
  }

  async close(): Promise<void> {
    this.#isClosed = true;
    for (const { refuse } of this.#waiting.splice(0)) refuse(aborted());
    await Promise.all([...this.#all].map((worker) => worker.terminate()));
  }

  async #take(withinMs: number): Promise<Worker> {
    const idle = this.#idle.pop();
    if (idle !== undefined) return idle;
    if (this.#all.size < MOST_THREADS) return this.#start();
    return new Promise((resolve, reject) => {
      const settled = <T>(then: (value: T) => void) => {
        return (value: T) => {
          clearTimeout(timer);
          then(value);
        };
      };
      const waiting = { admit: settled(resolve), refuse: settled(reject) };
      const timer = setTimeout(() => {
        this.#waiting.splice(this.#waiting.indexOf(waiting), 1);
        reject(timedOut(Math.round(withinMs)));
      }, withinMs);
      this.#waiting.push(waiting);
    });
  }

  #start(): Worker {
    const worker = new Worker(CODE, { stdin: false, resourceLimits: { maxOldGenerationSizeMb: MEMORY_MB } });
    // It must not keep the process alive.
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
    const next = this.#waiting.shift();
    if (next !== undefined) next.admit(isAlive ? worker : this.#start());
    else if (isAlive) this.#idle.push(worker);
  }
}

/** The text that a query is for. `undefined`: more than one is found by it. */
function literalOf({ pattern, literal, ignoreCase }: LineQuery): string | undefined {
  if (ignoreCase) return undefined;
  if (literal) return pattern;
  return PLAIN_TEXT.test(pattern) ? pattern.replace(/\\(.)/g, "$1") : undefined;
}

/** One search in a thread. */
class Thread implements LineScanner {
  readonly isHere = false;
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

  /** One question at a time. @throws TIMEOUT, ABORTED when the thread ends or is somebody else's by now */
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

  /** A thread that is still at work is ended: nobody knows for how long it would go on. */
  close(): void {
    if (this.#isOver) return;
    this.#isOver = true;
    this.#release(!this.#isBusy);
  }
}
