// A worker thread that reads small files for walks, while the main thread goes on with the walk.

import { availableParallelism } from "node:os";
import { MessageChannel, type MessagePort, receiveMessageOnPort, Worker } from "node:worker_threads";
import { compiledFile } from "../../core/package-files.js";
import { settleWithin } from "../../core/turns.js";
import { ownDescriptors } from "../native/calls.js";
import type { BatchFiles } from "./batch-reader.js";
import { NativeLoading } from "./native-loading.js";
import { Slot } from "./slot.js";

/** What the thread is started with. */
export interface ThreadData {
  readonly port: MessagePort;
  /** Of the slots, in their order. */
  readonly memories: readonly SharedArrayBuffer[];
  /** Of its {@link NativeLoading}. */
  readonly loading: SharedArrayBuffer;
  /** Descriptor of {@link ownDescriptors}. */
  readonly descriptors: number | undefined;
}

/** What the thread is sent; in the end `null`. */
export interface ReadRequest {
  readonly id: number;
  /** Index of the slot. */
  readonly slot: number;
  readonly maxBytes: number;
  /** Descriptor of each directory, and the names of files in it, joined by slashes. */
  readonly folders: readonly (readonly [number, string])[];
}

/** A batch in the thread. */
export interface Reading {
  /** Settles once the thread has answered or ended; it does not use the descriptors any more. */
  readonly settled: Promise<void>;
  readonly isSettled: boolean;
  /** The thread has failed, or was stopped, before the batch was read. */
  readonly isLost: boolean;
}

/** Batches in memory, for all walks together. */
const SLOTS = 6;
/** One that is being read, and two for the time until the main thread looks again: it reads a batch itself meanwhile. */
const MAX_PENDING = 3;
const IDLE_MS = 10_000;
const MEMORY_MB = 64;
/** How long the thread may take for its last batches before it is stopped: a file system may hang. */
const PATIENCE_MS = 5000;
const CODE = compiledFile("jail/reading/read-worker");

/** A request, and how it ends. */
class Pending implements Reading {
  isSettled = false;
  isLost = false;
  settle: () => void = () => {};
  readonly settled = new Promise<void>((resolve) => {
    this.settle = resolve;
  });

  end(isLost: boolean): void {
    this.isSettled = true;
    this.isLost = isLost;
    this.settle();
  }
}

/**
 * One thread, started by the first long walk and ended when it has been idle. While it is starting, where it cannot
 * work, or when all slots are in use, walks read by themselves.
 */
export class ReadThread {
  /** Shared by the whole process. */
  static readonly shared = new ReadThread();
  readonly #idleMs: number;
  readonly #pending = new Map<number, Pending>();
  #worker: Worker | undefined;
  #port: MessagePort | undefined;
  #slots: readonly Slot[] = [];
  #free: Slot[] = [];
  #lastId = 0;
  #loading = new NativeLoading();
  #isReady = false;
  #ending: Promise<void> | undefined;
  #isUsable: boolean;
  #idle: NodeJS.Timeout | undefined;

  /** @param options for tests: how long it may be idle, and how many threads can run at once */
  constructor({ idleMs = IDLE_MS, cores = availableParallelism() }: { idleMs?: number; cores?: number } = {}) {
    this.#idleMs = idleMs;
    this.#isUsable = cores > 1;
  }

  get isRunning(): boolean {
    return this.#isReady;
  }

  /** Place for a batch, to be returned by {@link free}. `undefined`: the thread is not ready, or has no place. */
  slot(): Slot | undefined {
    if (this.#worker === undefined && this.#isUsable) this.#start();
    return this.#isReady && this.#ending === undefined ? this.#free.pop() : undefined;
  }

  free(slot: Slot): void {
    // Those of a thread that has ended are gone with it.
    if (this.#slots.includes(slot)) this.#free.push(slot);
  }

  /** Reads files into a slot. `undefined`: the thread has enough to do. */
  read({ folders, maxBytes }: BatchFiles, slot: Slot): Reading | undefined {
    this.look();
    const [port, index] = [this.#port, this.#slots.indexOf(slot)];
    const isFull = this.#ending !== undefined || this.#pending.size >= MAX_PENDING;
    if (port === undefined || index < 0 || isFull) return undefined;
    const id = ++this.#lastId;
    const pending = new Pending();
    this.#pending.set(id, pending);
    const request: ReadRequest = {
      ...{ id, slot: index, maxBytes },
      folders: folders.map(({ fd, names }) => [fd, names.join("/")]),
    };
    port.postMessage(request);
    return pending;
  }

  /** Takes the answers that have arrived, without waiting for the event loop. */
  look(): void {
    const port = this.#port;
    if (port === undefined || this.#pending.size === 0) return;
    for (let next = receiveMessageOnPort(port); next !== undefined; next = receiveMessageOnPort(port)) {
      this.#answered(next.message);
    }
  }

  /** Ends the thread once the batches that it has are read: a thread that is stopped would leave their files open. */
  async close(): Promise<void> {
    if (this.#worker !== undefined) this.#ending ??= this.#end(this.#worker);
    await this.#ending;
  }

  async #end(worker: Worker): Promise<void> {
    const exited = new Promise<void>((resolve) => worker.once("exit", () => resolve()));
    this.#port?.postMessage(null);
    await settleWithin(exited, PATIENCE_MS);
    this.#forbidLoading();
    await worker.terminate();
  }

  readonly #forbidLoading = (): void => this.#loading.forbid();

  #start(): void {
    const { port1: port, port2 } = new MessageChannel();
    const slots = Array.from({ length: SLOTS }, () => new Slot());
    this.#loading = new NativeLoading();
    const workerData: ThreadData = {
      ...{ port: port2, memories: slots.map(({ memory }) => memory) },
      ...{ loading: this.#loading.memory, descriptors: ownDescriptors() },
    };
    const worker = new Worker(CODE, {
      ...{ workerData, transferList: [port2], stdin: false, resourceLimits: { maxOldGenerationSizeMb: MEMORY_MB } },
      // Node would warn about each descriptor that a native call has opened.
      trackUnmanagedFds: false,
    });
    // Threads are ended with the process.
    process.once("exit", this.#forbidLoading);
    this.#worker = worker;
    this.#port = port;
    this.#slots = slots;
    this.#free = [...slots];
    port.on("message", (message: unknown) => this.#answered(message));
    worker.once("error", () => {});
    worker.once("exit", () => this.#forget(worker));
    // After adding listeners, since those ref them again. A waiting call is kept alive by its deadline's timer.
    port.unref();
    worker.unref();
  }

  #answered(message: unknown): void {
    if (message === "ready") this.#isReady = true;
    else if (typeof message === "number") {
      this.#pending.get(message)?.end(false);
      this.#pending.delete(message);
    }
    this.#rest();
  }

  /** Only when the thread has ended: until then it may use the descriptors. */
  #forget(worker: Worker): void {
    if (this.#worker !== worker) return;
    process.off("exit", this.#forbidLoading);
    // It could not work here.
    if (!this.#isReady) this.#isUsable = false;
    this.#isReady = false;
    this.#ending = undefined;
    this.#port?.close();
    this.#worker = undefined;
    this.#port = undefined;
    this.#slots = [];
    this.#free = [];
    clearTimeout(this.#idle);
    const lost = [...this.#pending.values()];
    this.#pending.clear();
    for (const one of lost) one.end(true);
  }

  /** Restarts the idle timer. */
  #rest(): void {
    if (this.#idle !== undefined) {
      this.#idle.refresh();
      return;
    }
    this.#idle = setTimeout(() => {
      this.#idle = undefined;
      if (this.#free.length === this.#slots.length) void this.close();
      else this.#rest();
    }, this.#idleMs).unref();
  }
}
