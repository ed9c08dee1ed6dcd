// Reads documents in processes of their own: what a file makes its reader do ends with the process.

import type { ChildProcess } from "node:child_process";
import type { Writable } from "node:stream";
import { fileURLToPath } from "node:url";
import type {
  DocumentFault,
  DocumentReader,
  DocumentReading,
  DocumentRequest,
  DocumentSession,
  DocumentText,
  DocumentUnit,
} from "../core/call/documents.js";
import { aborted } from "../core/errors/texts.js";
import { attempt } from "../core/io.js";
import { compiledFile } from "../core/package-files.js";
import { FairQueue } from "../core/turns.js";
import { spawnAlone } from "../process/spawn-alone.js";
import type { End, FileRequest, Message } from "./messages.js";
import { missingPeer } from "./peers.js";

/** Most processes at once; further files wait for one. */
const MAX_PROCESSES = 2;
/** JSON takes up to 6 characters for one of a text; the last page may be long too, but not endlessly. */
const ANSWER_FACTOR = 8;
const ANSWER_CHARS = 1_048_576;

/** No file may compile code, whatever its reader offers. */
const FLAGS = ["--disallow-code-generation-from-strings"];
/** Nothing of the venue's environment; in a program built with Electron, the same binary is Node only with this. */
const ENVIRONMENT = { ELECTRON_RUN_AS_NODE: "1" };

/** Starts one process for each call that reads documents. */
export class DocumentProcesses implements DocumentReader {
  /** Calls whose process reads nothing at the moment. */
  readonly idle = new Set<Session>();
  readonly #program: string;
  readonly #running = new Set<ChildProcess>();
  readonly #waiting = new FairQueue<(isAdmitted: boolean) => void>();
  /** Callers of the calls that have a place, one for each. */
  readonly #holders: DocumentReading["caller"][] = [];
  #isClosed = false;

  /** @param program compiled code of the process */
  constructor(program: URL = compiledFile("documents/documents-process")) {
    this.#program = fileURLToPath(program);
  }

  open(reading: DocumentReading): DocumentSession {
    return new Session(reading, this);
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

  /** Whether other calls wait for a place. */
  get isAwaited(): boolean {
    return this.#waiting.size > 0;
  }

  /** @throws ABORTED */
  requireGoing({ signal }: DocumentReading): void {
    if (this.#isClosed || signal?.aborted === true) throw aborted();
  }

  /** Takes a place. @returns `false`: none was free in time @throws ABORTED */
  async enter(reading: DocumentReading, withinMs: number): Promise<boolean> {
    const { signal, caller } = reading;
    this.requireGoing(reading);
    if (this.#holders.length === MAX_PROCESSES) [...this.idle][0]?.drop();
    if (this.#holders.length < MAX_PROCESSES) {
      this.#holders.push(caller);
      return true;
    }
    return new Promise<boolean>((resolve) => {
      const settle = (isAdmitted: boolean) => {
        clearTimeout(timer);
        signal?.removeEventListener("abort", refuse);
        this.#waiting.remove(caller, settle);
        if (isAdmitted) this.#holders.push(caller);
        resolve(isAdmitted);
      };
      const refuse = () => settle(false);
      const timer = setTimeout(refuse, withinMs);
      signal?.addEventListener("abort", refuse, { once: true });
      this.#waiting.push(caller, settle);
    });
  }

  /** Gives the place to the next that waits: callers take turns, and who has the other place as well comes last. */
  leave({ caller }: DocumentReading): void {
    this.#holders.splice(this.#holders.indexOf(caller), 1);
    const admit = this.#waiting.take((other) => !this.#holders.includes(other)) ?? this.#waiting.take();
    admit?.(true);
  }

  /** @returns `undefined`: the system starts no further process */
  start(): ChildProcess | undefined {
    // Some failures are thrown, others told by the event.
    const child = attempt(() =>
      spawnAlone(process.execPath, [...FLAGS, this.#program], {
        ...{ env: ENVIRONMENT, cwd: "/", windowsHide: true },
        stdio: ["pipe", "pipe", "ignore"],
      }),
    );
    // The process could not be started, or not be killed.
    child?.on("error", () => {});
    if (child?.pid === undefined) return undefined;
    this.#running.add(child);
    child.stdin?.on("error", () => {});
    child.stdout?.on("error", () => {}).setEncoding("utf8");
    child.once("close", () => this.#running.delete(child));
    return child;
  }
}

class Session implements DocumentSession {
  readonly #reading: DocumentReading;
  readonly #processes: DocumentProcesses;
  #child: ChildProcess | undefined;
  readonly #abort = (): void => this.drop();

  constructor(reading: DocumentReading, processes: DocumentProcesses) {
    this.#reading = reading;
    this.#processes = processes;
    reading.signal?.addEventListener("abort", this.#abort, { once: true });
  }

  async read(request: DocumentRequest): Promise<DocumentText | DocumentFault> {
    const { kind, withinMs } = request;
    const peer = kind && missingPeer(kind);
    if (peer !== undefined) return { fault: "missing", peer };
    const deadline = performance.now() + withinMs;
    this.#processes.idle.delete(this);
    const child = this.#child ?? (await this.#begin(withinMs));
    if (child === undefined) return { fault: "busy" };
    const leftMs = Math.max(1, Math.round(deadline - performance.now()));
    const { end, ...text } = await this.#ask(child, request, leftMs);
    this.#processes.requireGoing(this.#reading);
    if (end === undefined || end.isLast === true || this.#processes.isAwaited) this.drop();
    else this.#processes.idle.add(this);
    if (end?.is === "fault") return { fault: end.fault, peer: end.peer };
    if (end !== undefined && end.ends !== "spent") return { ...text, ends: end.ends };
    // Time or memory is over.
    if (text.parts.some((part) => part.text !== "")) return { ...text, ends: "spent" };
    // A file that had to wait for most of its time may be one that is quickly read.
    return { fault: leftMs < withinMs / 2 ? "busy" : "spent" };
  }

  close(): void {
    this.#reading.signal?.removeEventListener("abort", this.#abort);
    this.drop();
  }

  /** Ends the process, and gives its place to another call; the next file gets one anew. */
  drop(): void {
    const child = this.#child;
    if (child === undefined) return;
    this.#child = undefined;
    this.#processes.idle.delete(this);
    child.kill("SIGKILL");
    this.#processes.leave(this.#reading);
  }

  /** @returns `undefined`: there is no process in time @throws ABORTED */
  async #begin(withinMs: number): Promise<ChildProcess | undefined> {
    const isAdmitted = await this.#processes.enter(this.#reading, withinMs);
    try {
      this.#processes.requireGoing(this.#reading);
      if (isAdmitted) this.#child = this.#processes.start();
    } finally {
      if (isAdmitted && this.#child === undefined) this.#processes.leave(this.#reading);
    }
    const child = this.#child;
    child?.once("close", () => this.#child === child && this.drop());
    return child;
  }

  /** @throws what the source throws */
  async #ask(child: ChildProcess, { source, withinMs: _, ...file }: DocumentRequest, leftMs: number): Promise<Told> {
    const timer = setTimeout(() => this.drop(), leftMs);
    try {
      const told = hear(child, file.maxChars * ANSWER_FACTOR + ANSWER_CHARS);
      await feed(child, file, source);
      return await told;
    } catch (error) {
      this.drop();
      throw error;
    } finally {
      clearTimeout(timer);
    }
  }
}

/** Text of a file, as far as a process has told it. `end` is absent if the process has ended before. */
type Told = Omit<DocumentText, "ends"> & { readonly end?: End };

/** Hears of a file until its end, or that of the process. */
function hear(child: ChildProcess, mostChars: number): Promise<Told> {
  const parts: { unit?: DocumentUnit; text: string }[] = [];
  let told: Told = { kind: "pdf", meta: {}, parts };
  const note = (message: Message): void => {
    if (message.is === "facts") told = { ...told, ...message.facts };
    else if (message.is === "unit") parts.push({ unit: message.unit, text: "" });
    else if (message.is !== "text") told = { ...told, end: message };
    else {
      const part = parts.at(-1);
      if (part === undefined) parts.push({ text: message.text });
      else part.text += message.text;
    }
  };
  let line: string[] = [];
  let chars = 0;
  return new Promise((resolve) => {
    const settle = () => {
      child.stdout?.off("data", take);
      child.off("close", settle);
      resolve(told);
    };
    const take = (chunk: string) => {
      chars += chunk.length;
      line.push(chunk);
      if (chars > mostChars) child.kill("SIGKILL");
      if (!chunk.includes("\n")) return;
      const lines = line.join("").split("\n");
      line = [lines.pop() ?? ""];
      try {
        for (const one of lines) note(JSON.parse(one));
      } catch {
        child.kill("SIGKILL");
      }
      if (told.end !== undefined) settle();
    };
    child.stdout?.on("data", take);
    child.once("close", settle);
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
  // A file that has become shorter: the process would wait for the rest.
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
