// Reads directories and looks at their entries in a thread, so that a busy event loop keeps to what only it can do.
import { performance } from "node:perf_hooks";
import { Worker } from "node:worker_threads";
import { compiledFile } from "../core/package-files.js";
import type { EntryType } from "../core/ports/backend.js";

/** Types as they stand in messages, by index. */
export const TYPES: readonly (EntryType | undefined)[] = [undefined, "file", "directory", "symlink", "other"];
/** In place of a type: nothing has the name any more, or it cannot be examined. */
export const NOTHING = 255;

/** With `names`: what stands under them. Without: which names there are. */
export interface Request {
  readonly id: number;
  /** Of a directory that is held open until the answer is there. */
  readonly path: string;
  readonly names?: readonly (string | Uint8Array)[];
}

export interface Reply {
  readonly id: number;
  readonly found: FoundNames | FoundStats | { readonly code: string };
}

export interface FoundNames {
  /** A character for each byte. */
  readonly names: readonly string[];
  /** Indexes in {@link TYPES}. */
  readonly types: Uint8Array;
}

/** Of each name, in order. */
export interface FoundStats {
  /** Indexes in {@link TYPES}, or {@link NOTHING}. */
  readonly types: Uint8Array;
  /** Bytes. */
  readonly sizes: Float64Array;
  /** Milliseconds since the epoch. */
  readonly times: Float64Array;
}

/** Work of fewer entries costs less than asking for it. */
export const WORTH_A_THREAD = 200;
/** More requests than this would wait longer in the thread than in the event loop. */
const MOST_PENDING = 4;
const IDLE_MS = 10_000;
const MEMORY_MB = 64;
const CODE = compiledFile("jail/directory-worker");

interface Pending {
  resolve(found: Reply["found"] | undefined): void;
}

export interface DirectoryThreadOptions {
  readonly isBusy?: () => boolean;
  /** After which an unused thread ends. */
  readonly idleMs?: number;
}

/**
 * One thread, started when the event loop is busy and ended when it has been idle. What it is asked while it starts, fails
 * or has enough to do, is answered `undefined`: then the caller does the work itself.
 */
export class DirectoryThread {
  /** Of the process: the event loop is one, too. */
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

  /** Whether work on so many entries is better done in the thread. */
  takes(entries: number): boolean {
    if (entries <= WORTH_A_THREAD || !this.#isBusy()) return false;
    if (this.#worker === undefined) this.#start();
    return this.#isOnline && this.#pending.size < MOST_PENDING;
  }

  /** The names in a directory. @throws an error with the code of the system */
  async names(path: string): Promise<FoundNames | undefined> {
    const found = await this.#ask({ path });
    return found !== undefined && "names" in found ? found : undefined;
  }

  /** Looks at entries of a directory without following links. */
  async stats(path: string, names: readonly (string | Buffer)[]): Promise<FoundStats | undefined> {
    const found = await this.#ask({ path, names });
    return found !== undefined && "sizes" in found ? found : undefined;
  }

  /** Ends the thread; work asked of it is answered `undefined`. */
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
    // After the listeners, which hold the process again. A call that waits for an answer holds it by the timer of its deadline.
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

  /** Begins to count the time without work anew. */
  #rest(): void {
    clearTimeout(this.#idle);
    if (this.#worker === undefined) return;
    this.#idle = setTimeout(() => {
      if (this.#pending.size === 0) void this.close();
      else this.#rest();
    }, this.#idleMs).unref();
  }
}

/** Time over which the event loop is judged, in ms, and the share of it that must be work. */
const WINDOW_MS = 20;
const BUSY = 0.8;

/** Time that an event loop has worked and rested since its start, in ms. */
interface LoopTimes {
  readonly active: number;
  readonly idle: number;
}

/** Tells whether an event loop has had hardly any rest lately. */
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
