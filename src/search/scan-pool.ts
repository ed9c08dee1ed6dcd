import { Worker } from "node:worker_threads";
import type { LineQuery, LineScanner, Scan, ScanJob, Scanners } from "../core/scan.js";
import { aborted, invalidPattern, timedOut } from "../core/texts.js";
import type { PatternFault } from "./scan-expression.js";
import { literalMatcher, scanLines } from "./scan-lines.js";
import type { ScanRequest } from "./scan-worker.js";

/** Threads at once; further scans wait for one. */
const MOST_THREADS = 2;
/** A longer text would take longer to find in the worst case than may be spent without letting others run. */
const MOST_LITERAL_CHARS = 64;
/** Memory of one thread in MB: some tables of automata, and the files of one request as text. */
const MEMORY_MB = 256;

/** Run from the sources, there is no other place where the thread's code is compiled. */
const CODE = new URL(
  import.meta.url.endsWith(".ts") ? "../../dist/search/scan-worker.js" : "./scan-worker.js",
  import.meta.url,
);

/** Scans expressions in threads of their own, which are ended when they take too long; started when they are needed. */
export class ScanPool implements Scanners {
  readonly #idle: Worker[] = [];
  readonly #all = new Set<Worker>();
  readonly #waiting: ((worker: Worker) => void)[] = [];
  #isClosed = false;

  async open(query: LineQuery, withinMs: number): Promise<LineScanner> {
    if (query.literal && !query.ignoreCase && query.pattern.length <= MOST_LITERAL_CHARS) {
      const matcher = literalMatcher(query.pattern);
      return { isHere: true, scan: (jobs) => jobs.map((job) => scanLines(job, matcher)), close: () => {} };
    }
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
      throw error;
    }
  }

  async close(): Promise<void> {
    this.#isClosed = true;
    await Promise.all([...this.#all].map((worker) => worker.terminate()));
  }

  async #take(withinMs: number): Promise<Worker> {
    if (this.#isClosed) throw aborted();
    const idle = this.#idle.pop();
    if (idle !== undefined) return idle;
    if (this.#all.size < MOST_THREADS) return this.#start();
    return new Promise((resolve, reject) => {
      const admit = (worker: Worker) => {
        clearTimeout(timer);
        resolve(worker);
      };
      const timer = setTimeout(() => {
        this.#waiting.splice(this.#waiting.indexOf(admit), 1);
        reject(timedOut(Math.round(withinMs)));
      }, withinMs);
      this.#waiting.push(admit);
    });
  }

  #start(): Worker {
    const worker = new Worker(CODE, { stdin: false, resourceLimits: { maxOldGenerationSizeMb: MEMORY_MB } });
    // It must not keep the process alive.
    worker.unref();
    worker.on("error", () => {});
    worker.on("exit", () => this.#all.delete(worker));
    this.#all.add(worker);
    return worker;
  }

  #give(worker: Worker, isSound: boolean): void {
    if (!isSound) {
      this.#all.delete(worker);
      void worker.terminate();
    }
    if (this.#isClosed) return;
    const next = this.#waiting.shift();
    if (next !== undefined) next(isSound ? worker : this.#start());
    else if (isSound) this.#idle.push(worker);
  }
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

  /** One question at a time. @throws TIMEOUT, and when the thread fails */
  ask(request: ScanRequest, withinMs: number, given: readonly ArrayBuffer[] = []): Promise<unknown> {
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
