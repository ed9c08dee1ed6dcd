// Reads directories and stats their entries in a worker thread, so that large listings do not block a busy event loop.
import { performance } from "node:perf_hooks";
import { Worker } from "node:worker_threads";
import { compiledFile } from "../core/package-files.js";
import type { EntryType } from "../core/ports/backend.js";

/** Entry types as numbered in messages. */
export const TYPES: readonly (EntryType | undefined)[] = [undefined, "file", "directory", "symlink", "other"];
/** Stands in place of a type: the entry is gone or cannot be examined. */
export const NOTHING = 255;

/** With `names`: stat these entries. Without: list the directory. */
export interface Request {
  readonly id: number;
  /** Path of a directory that the caller holds open until the answer arrives. */
  readonly path: string;
  readonly names?: readonly (string | Uint8Array)[];
}

export interface Reply {
  readonly id: number;
  readonly found: FoundNames | FoundStats | { readonly code: string };
}

export interface FoundNames {
  /** latin1: one character per byte. */
  readonly names: readonly string[];
  /** Indexes in {@link TYPES}. */
  readonly types: Uint8Array;
}

/** Stats per requested name, in order. */
export interface FoundStats {
  /** Indexes in {@link TYPES}, or {@link NOTHING}. */
  readonly types: Uint8Array;
  /** Bytes. */
  readonly sizes: Float64Array;
  /** Milliseconds since the epoch. */
  readonly times: Float64Array;
}

/** Below this many entries, a round trip to the thread costs more than the work itself. */
const WORTH_A_THREAD = 200;
/** With more pending requests than this, a request would wait longer in the thread than in the event loop. */
const MAX_PENDING = 4;
const IDLE_MS = 10_000;
const MEMORY_MB = 64;
const CODE = compiledFile("jail/directory-worker");

interface Pending {
  resolve(found: Reply["found"] | undefined): void;
}

export interface DirectoryThreadOptions {
  readonly isBusy?: () => boolean;
  /** Milliseconds after which an idle thread ends. */
  readonly idleMs?: number;
}

/**
 * One worker thread, started when the event loop is busy and ended when it has been idle. While it is starting, after
 * it has failed, or when its queue is full, requests return `undefined` and the caller does the work itself.
 */
export class DirectoryThread {
  /** Shared by the whole process, which also has only one event loop. */
  static readonly shared = new DirectoryThread();
  readonly #isBusy: () => boolean;
  readonly #idleMs: number;
  readonly #pending = new Map<number, Pending>();
  #worker: Worker | undefined;
  #isOnline = false;
  #lastId = 0;
  #idle: NodeJS.Timeout | undefined;

  constructor({ isBusy = loopLoad(), idleMs = IDLE_MS }: DirectoryThreadOptions = {}) {
    this.#isBusy = isBusy;
    this.#idleMs = idleMs;
  }

  get isRunning(): boolean {
    return this.#isOnline;
  }

  /** Whether work on this many entries should go to the thread. */
  takes(entries: number): boolean {
    if (entries <= WORTH_A_THREAD || !this.#isBusy()) return false;
    if (this.#worker === undefined) this.#start();
    return this.#isOnline && this.#pending.size < MAX_PENDING;
  }

  /**
   * Lists a directory.
   * @throws an error with the errno as `code`
   */
  async names(path: string): Promise<FoundNames | undefined> {
    const found = await this.#ask({ path });
    return found !== undefined && "names" in found ? found : undefined;
  }

  /** Stats entries of a directory without following links. */
  async stats(path: string, names: readonly (string | Buffer)[]): Promise<FoundStats | undefined> {
    const found = await this.#ask({ path, names });
    return found !== undefined && "sizes" in found ? found : undefined;
  }

  /** Ends the thread; pending requests return `undefined`. */
  async close(): Promise<void> {
    const worker = this.#worker;
    if (worker === undefined) return;
    this.#forget(worker);
    await worker.terminate();
  }

  async #ask(request: Omit<Request, "id">): Promise<Exclude<Reply["found"], { code: string }> | undefined> {
    const worker = this.#worker;
    if (worker === undefined) return undefined;
    const id = ++this.#lastId;
    const answered = new Promise<Reply["found"] | undefined>((resolve) => this.#pending.set(id, { resolve }));
    worker.postMessage({ id, ...request });
    const found = await answered;
    this.#rest();
    if (found === undefined || !("code" in found)) return found;
    throw Object.assign(new Error(`${found.code}: directory`), { code: found.code, syscall: "scandir" });
  }

  #start(): void {
    const worker = new Worker(CODE, { stdin: false, resourceLimits: { maxOldGenerationSizeMb: MEMORY_MB } });
    this.#worker = worker;
    worker.once("online", () => {
      if (this.#worker === worker) this.#isOnline = true;
      this.#rest();
    });
    worker.on("message", ({ id, found }: Reply) => {
      this.#pending.get(id)?.resolve(found);
      this.#pending.delete(id);
    });
    const end = () => this.#forget(worker);
    worker.once("error", end).once("exit", end);
    // After adding listeners, since those ref the worker again. A waiting call is kept alive by its deadline's timer.
    worker.unref();
  }

  #forget(worker: Worker): void {
    if (this.#worker !== worker) return;
    this.#worker = undefined;
    this.#isOnline = false;
    clearTimeout(this.#idle);
    const waiting = [...this.#pending.values()];
    this.#pending.clear();
    for (const { resolve } of waiting) resolve(undefined);
  }

  /** Restarts the idle timer. */
  #rest(): void {
    clearTimeout(this.#idle);
    if (this.#worker === undefined) return;
    this.#idle = setTimeout(() => {
      if (this.#pending.size === 0) void this.close();
      else this.#rest();
    }, this.#idleMs).unref();
  }
}

/** Window (ms) over which the event loop's utilisation is measured, and the utilisation that counts as busy. */
const WINDOW_MS = 20;
const BUSY = 0.8;

/** Active and idle time of an event loop since its start, in ms. */
interface LoopTimes {
  readonly active: number;
  readonly idle: number;
}

/** Creates a test for whether the event loop has been busy in the last window. */
export function loopLoad(times: () => LoopTimes = () => performance.eventLoopUtilization()): () => boolean {
  let since = times();
  let busy = false;
  return () => {
    const now = times();
    const [active, idle] = [now.active - since.active, now.idle - since.idle];
    if (active + idle < WINDOW_MS) return busy;
    busy = active / (active + idle) > BUSY;
    since = now;
    return busy;
  };
}
