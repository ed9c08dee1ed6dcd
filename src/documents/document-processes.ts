// Reads documents in processes of their own: what a file makes its reader do ends with the process.

import type { ChildProcess } from "node:child_process";
import type { Writable } from "node:stream";
import { fileURLToPath } from "node:url";
import type {
  DocumentFault,
  DocumentKind,
  DocumentReader,
  DocumentReading,
  DocumentRequest,
  DocumentSession,
  DocumentText,
} from "../core/call/documents.js";
import { aborted } from "../core/errors/texts.js";
import { compiledFile } from "../core/package-files.js";
import { FairQueue } from "../core/turns.js";
import { spawnAlone } from "../process/spawn-alone.js";
import type { FileRequest, ProcessAnswer } from "./messages.js";

/** Most processes at once; further files wait for one. */
const MAX_PROCESSES = 2;
/** Time (ms) that a process gets for its answer beyond its own limit; it is killed then. */
const GRACE_MS = 1_000;
/** The part of a short time that is kept for the answer instead. */
const GRACE_SHARE = 0.25;
/** JSON takes up to 6 bytes for one UTF-16 unit; the last page may be long too, but not endlessly. */
const ANSWER_FACTOR = 8;
const ANSWER_BYTES = 1_048_576;
const LINE_FEED = 0x0a;

/** No file may compile code, whatever its reader offers. */
const FLAGS = ["--disallow-code-generation-from-strings"];
/** Nothing of the venue's environment; in a program built with Electron, the same binary is Node only with this. */
const ENVIRONMENT = { ELECTRON_RUN_AS_NODE: "1" };

/** Starts one process for each call that reads documents. */
export class DocumentProcesses implements DocumentReader {
  readonly #program: string;
  readonly #running = new Set<ChildProcess>();
  readonly #waiting = new FairQueue<(isAdmitted: boolean) => void>();
  /** Calls whose process reads nothing at the moment. */
  readonly #idle = new Set<Session>();
  /** Kinds whose reader is not installed. Installing it later takes a restart. */
  readonly #missing = new Map<DocumentKind, DocumentFault>();
  #places = MAX_PROCESSES;
  #isClosed = false;

  /** @param program compiled code of the process */
  constructor(program: URL = compiledFile("documents/documents-process")) {
    this.#program = fileURLToPath(program);
  }

  open(reading: DocumentReading): DocumentSession {
    return new Session(reading, {
      enter: (withinMs) => this.#enter(reading, withinMs),
      leave: () => this.#leave(),
      isAwaited: () => this.#waiting.size > 0,
      start: () => this.#start(),
      ...{ idle: this.#idle, missing: this.#missing },
      isOver: () => this.#isClosed || reading.signal?.aborted === true,
    });
  }

  async close(): Promise<void> {
    this.#isClosed = true;
    for (let admit = this.#waiting.take(); admit !== undefined; admit = this.#waiting.take()) admit(false);
    await Promise.all(
      [...this.#running].map((child) => {
        const closed = new Promise((resolve) => child.once("close", resolve));
        child.kill("SIGKILL");
        return closed;
      }),
    );
  }

  /** Takes a place. @returns `false`: none was free in time */
  async #enter({ signal, caller }: DocumentReading, withinMs: number): Promise<boolean> {
    const isOver = () => this.#isClosed || signal?.aborted === true;
    if (isOver()) throw aborted();
    if (this.#places === 0) [...this.#idle][0]?.drop();
    if (this.#places > 0) {
      this.#places--;
      return true;
    }
    const isAdmitted = await new Promise<boolean>((resolve) => {
      const settle = (got: boolean) => {
        clearTimeout(timer);
        signal?.removeEventListener("abort", refuse);
        this.#waiting.remove(caller, settle);
        resolve(got);
      };
      const refuse = () => settle(false);
      const timer = setTimeout(refuse, withinMs);
      signal?.addEventListener("abort", refuse, { once: true });
      this.#waiting.push(caller, settle);
    });
    if (isAdmitted && isOver()) this.#leave();
    if (isOver()) throw aborted();
    return isAdmitted;
  }

  /** Gives the place to the next that waits; callers take turns. */
  #leave(): void {
    const admit = this.#waiting.take();
    if (admit === undefined) this.#places++;
    else admit(true);
  }

  /** @returns `undefined`: the system starts no further process */
  #start(): ChildProcess | undefined {
    try {
      const child = spawnAlone(process.execPath, [...FLAGS, this.#program], {
        ...{ env: ENVIRONMENT, cwd: "/", windowsHide: true },
        stdio: ["pipe", "pipe", "ignore"],
      });
      // The process could not be started, or not be killed.
      child.on("error", () => {});
      if (child.pid === undefined) return undefined;
      this.#running.add(child);
      child.stdin?.on("error", () => {});
      child.stdout?.on("error", () => {});
      child.once("close", () => this.#running.delete(child));
      return child;
    } catch {
      // Some failures are thrown, others told by the event.
      return undefined;
    }
  }
}

/** State shared by the sessions of one reader. */
interface Places {
  enter(withinMs: number): Promise<boolean>;
  leave(): void;
  /** Whether other calls wait for a place. */
  isAwaited(): boolean;
  start(): ChildProcess | undefined;
  readonly idle: Set<Session>;
  readonly missing: Map<DocumentKind, DocumentFault>;
  isOver(): boolean;
}

class Session implements DocumentSession {
  readonly #signal: AbortSignal | undefined;
  readonly #places: Places;
  #child: ChildProcess | undefined;
  readonly #abort = (): void => this.drop();

  constructor({ signal }: DocumentReading, places: Places) {
    this.#signal = signal;
    this.#places = places;
    signal?.addEventListener("abort", this.#abort, { once: true });
  }

  async read(request: DocumentRequest): Promise<DocumentText | DocumentFault> {
    const { kind, withinMs } = request;
    const { idle, missing, isOver } = this.#places;
    const known = kind === undefined ? undefined : missing.get(kind);
    if (known !== undefined) return known;
    const deadline = performance.now() + withinMs;
    idle.delete(this);
    if (!(await this.#begin(withinMs))) return { fault: "busy" };
    const leftMs = Math.max(1, Math.round(deadline - performance.now()));
    // A file that had to wait for most of its time may be one that is quickly read.
    const spent: DocumentFault = leftMs < withinMs / 2 ? { fault: "busy" } : { fault: "spent" };
    const answer = await this.#ask(request, leftMs);
    if (isOver()) throw aborted();
    if (answer === undefined) return spent;
    const { isLast, ...found } = answer;
    if (isLast === true || this.#places.isAwaited()) this.drop();
    else if (this.#child !== undefined) idle.add(this);
    if (!("fault" in found)) return found;
    if (found.fault === "missing" && kind !== undefined) missing.set(kind, found);
    return found.fault === "spent" ? spent : found;
  }

  close(): void {
    this.#signal?.removeEventListener("abort", this.#abort);
    this.drop();
  }

  /** Ends the process, and gives its place to another call; the next file gets one anew. */
  drop(): void {
    const child = this.#child;
    if (child === undefined) return;
    this.#child = undefined;
    this.#places.idle.delete(this);
    child.kill("SIGKILL");
    this.#places.leave();
  }

  /** @returns `false`: there is no process in time */
  async #begin(withinMs: number): Promise<boolean> {
    if (this.#places.isOver()) throw aborted();
    if (this.#child !== undefined) return true;
    if (!(await this.#places.enter(withinMs))) return false;
    const child = this.#places.isOver() ? undefined : this.#places.start();
    if (child === undefined) {
      this.#places.leave();
      if (this.#places.isOver()) throw aborted();
      return false;
    }
    this.#child = child;
    child.once("close", () => this.#child === child && this.drop());
    return true;
  }

  /** @returns `undefined`: the process answered nothing @throws what the source throws */
  async #ask({ source, withinMs: _, ...rest }: DocumentRequest, withinMs: number): Promise<ProcessAnswer | undefined> {
    const child = this.#child;
    if (child === undefined) return undefined;
    const timer = setTimeout(() => this.drop(), withinMs);
    try {
      const said = lineOf(child, rest.maxChars * ANSWER_FACTOR + ANSWER_BYTES);
      const bounds: FileRequest = { ...rest, withinMs: withinMs - Math.min(GRACE_MS, withinMs * GRACE_SHARE) };
      await feed(child, bounds, source);
      return parsed(await said);
    } catch (error) {
      this.drop();
      throw error;
    } finally {
      clearTimeout(timer);
    }
  }
}

/** The line that a process writes next; `""`: it has ended before. */
function lineOf(child: ChildProcess, mostBytes: number): Promise<string> {
  const chunks: Buffer[] = [];
  let length = 0;
  return new Promise((resolve) => {
    const settle = (text: string) => {
      child.stdout?.off("data", take);
      child.off("close", end);
      resolve(text);
    };
    const end = () => settle("");
    const take = (chunk: Buffer) => {
      chunks.push(chunk);
      length += chunk.length;
      if (length > mostBytes) child.kill("SIGKILL");
      else if (chunk.at(-1) === LINE_FEED) settle(Buffer.concat(chunks).toString("utf8"));
    };
    child.stdout?.on("data", take);
    child.once("close", end);
  });
}

/**
 * Writes a file, with the line before it. A process that ends before it has read all of it is no failure. Nothing of the
 * source is in use any more when this ends, so its file may be closed.
 */
async function feed({ stdin }: ChildProcess, request: FileRequest, source: DocumentRequest["source"]): Promise<void> {
  if (stdin === null) return;
  stdin.write(`${JSON.stringify(request)}\n`);
  let left = request.size;
  for await (const chunk of source) {
    if (!stdin.writable) return;
    left -= chunk.length;
    if (!stdin.write(chunk)) await waitForDrain(stdin);
  }
  // The process waits for no more of a file that has become shorter.
  if (left > 0) stdin.end();
}

/** Waits until a stream takes more, or has ended. */
function waitForDrain(stream: Writable): Promise<void> {
  if (!stream.writable || !stream.writableNeedDrain) return Promise.resolve();
  return new Promise((resolve) => {
    const settle = () => {
      stream.off("drain", settle).off("close", settle);
      resolve();
    };
    stream.on("drain", settle).on("close", settle);
  });
}

function parsed(text: string): ProcessAnswer | undefined {
  try {
    return JSON.parse(text) as ProcessAnswer;
  } catch {
    return undefined;
  }
}
