// Reads PDF files in processes of their own: what a file makes its reader do ends with the process.

import type { ChildProcess } from "node:child_process";
import type { Writable } from "node:stream";
import { fileURLToPath } from "node:url";
import type { PdfReader, PdfRequest, PdfText } from "../core/call/pdf.js";
import { aborted } from "../core/errors/texts.js";
import { compiledFile } from "../core/package-files.js";
import { FairQueue } from "../core/turns.js";
import { spawnAlone } from "../process/spawn-alone.js";
import type { PdfBounds, ProcessAnswer } from "./messages.js";

/** Most processes at once; further files wait for one. */
const MAX_PROCESSES = 2;
/** Time (ms) that a process gets for its answer beyond its own limit; it is killed then. */
const GRACE_MS = 1_000;
/** The part of a short time that is kept for the answer instead. */
const GRACE_SHARE = 0.25;
/** JSON takes up to 6 bytes for one byte of text; the last page may be long too, but not endlessly. */
const ANSWER_FACTOR = 8;
const ANSWER_BYTES = 1_048_576;

/** No file may compile code, whatever its reader offers. */
const FLAGS = ["--disallow-code-generation-from-strings"];
/** Nothing of the venue's environment; in a program built with Electron, the same binary is Node only with this. */
const ENVIRONMENT = { ELECTRON_RUN_AS_NODE: "1" };

/** Starts one process for each file. */
export class PdfProcesses implements PdfReader {
  readonly #program: string;
  readonly #running = new Set<ChildProcess>();
  readonly #waiting = new FairQueue<(isAdmitted: boolean) => void>();
  #places = MAX_PROCESSES;
  #isMissing = false;
  #isClosed = false;

  /** @param program compiled code of the process */
  constructor(program: URL = compiledFile("pdf/pdf-process")) {
    this.#program = fileURLToPath(program);
  }

  async read(request: PdfRequest): Promise<PdfText | undefined> {
    if (this.#isMissing) return undefined;
    const deadline = performance.now() + request.withinMs;
    if (!(await this.#enter(request))) return undefined;
    try {
      const answer = await this.#ask(request, Math.max(1, Math.round(deadline - performance.now())));
      // Installing it later takes a restart.
      if (answer?.isMissing === true) this.#isMissing = true;
      return answer === undefined || answer.pages.length === 0 ? undefined : answer;
    } finally {
      this.#leave();
    }
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
  async #enter({ withinMs, signal, caller }: PdfRequest): Promise<boolean> {
    const isOver = () => this.#isClosed || signal?.aborted === true;
    if (isOver()) throw aborted();
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

  /** @returns `undefined`: the process answered nothing @throws what the source throws */
  async #ask({ source, size, maxBytes, signal }: PdfRequest, withinMs: number): Promise<ProcessAnswer | undefined> {
    const graceMs = Math.min(GRACE_MS, withinMs * GRACE_SHARE);
    const bounds: PdfBounds = { size, maxBytes, withinMs: withinMs - graceMs };
    const child = startOf(this.#program, bounds);
    if (child === undefined) return undefined;
    this.#running.add(child);
    const kill = () => void child.kill("SIGKILL");
    const timer = setTimeout(kill, withinMs);
    signal?.addEventListener("abort", kill, { once: true });
    if (signal?.aborted === true) kill();
    try {
      const said = answerOf(child, maxBytes * ANSWER_FACTOR + ANSWER_BYTES);
      await feed(child, source);
      const text = await said;
      if (this.#isClosed || signal?.aborted === true) throw aborted();
      return parsed(text);
    } finally {
      kill();
      clearTimeout(timer);
      signal?.removeEventListener("abort", kill);
      this.#running.delete(child);
    }
  }
}

/** @returns `undefined`: the system starts no further process */
function startOf(program: string, bounds: PdfBounds): ChildProcess | undefined {
  try {
    const child = spawnAlone(process.execPath, [...FLAGS, program, JSON.stringify(bounds)], {
      ...{ env: ENVIRONMENT, cwd: "/", windowsHide: true },
      stdio: ["pipe", "pipe", "ignore"],
    });
    if (child.pid !== undefined) return child;
    child.once("error", () => {});
  } catch {
    // Some failures are thrown, others told by the event.
  }
  return undefined;
}

/** Everything it writes, once it has ended. */
function answerOf(child: ChildProcess, mostBytes: number): Promise<string> {
  const chunks: Buffer[] = [];
  let length = 0;
  child.stdout?.on("error", () => {});
  child.stdout?.on("data", (chunk: Buffer) => {
    chunks.push(chunk);
    length += chunk.length;
    if (length > mostBytes) child.kill("SIGKILL");
  });
  return new Promise((resolve) => {
    const end = () => resolve(Buffer.concat(chunks).toString("utf8"));
    child.once("close", end);
    // The process could not be killed.
    child.on("error", () => {});
  });
}

/**
 * Writes the file. A process that ends before it has read all of it is no failure. Nothing of the source is in use any
 * more when this ends, so its file may be closed.
 */
async function feed({ stdin }: ChildProcess, source: AsyncIterable<Uint8Array>): Promise<void> {
  if (stdin === null) return;
  stdin.on("error", () => {});
  for await (const chunk of source) {
    if (!stdin.writable) return;
    if (!stdin.write(chunk)) await waitForDrain(stdin);
  }
  stdin.end();
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
