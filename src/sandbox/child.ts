// Runs one child process: start, output, deadline, end.

import type { ChildProcess } from "node:child_process";
import { constants } from "node:os";
import type { Readable, Writable } from "node:stream";
import { setTimeout as sleep } from "node:timers/promises";
import type { Clock } from "../core/clock.js";
import type { FileAdapterError } from "../core/errors/errors.js";
import { noSandbox } from "../core/errors/sandbox-texts.js";
import { aborted } from "../core/errors/texts.js";
import { attempt } from "../core/io.js";
import type { RunOptions, SandboxExit, SandboxProcess } from "../core/ports/sandbox.js";
import { isOver } from "../process/identity.js";
import { type SpawnAloneOptions, spawnAlone } from "../process/spawn-alone.js";
import type { RunGroup } from "./bwrap/run-groups.js";
import type { NetworkHelper } from "./bwrap/user-network.js";
import { untilDeadline } from "./deadline.js";
import { createOutput, type OutputBuffer, type StreamName } from "./output.js";

/** Maximum time (ms) to set up a sandbox, on a busy machine. */
const START_MS = 30_000;
/** Maximum time (ms) after its end that a run waits because some process still holds its output open. */
const DRAIN_MS = 1_000;
/** Maximum time (ms) to wait for the killed remains of a run. */
const LEFT_MS = 1_000;
/** Maximum bytes kept of the error output of a sandbox that could not be set up. */
const COMPLAINT_BYTES = 2_000;

/** A process to be started. */
export interface ChildPlan {
  readonly file: string;
  readonly args: readonly string[];
  readonly options: SpawnAloneOptions;
  /** Its standard output and error, if its `stdio` has descriptors for them. */
  readonly output?: Readonly<Record<StreamName, Readable>>;
  /** Contents to write to pipes, by number. */
  readonly feeds: ReadonlyMap<number, Uint8Array>;
  /** Pipe on which it reports that the command runs. Absent: it runs once the process exists. */
  readonly readyAt?: number;
  /** Pipe on which it reports, as `"child-pid"`, the process whose end ends all others. */
  readonly leaderAt?: number;
  /**
   * If present, it waits for a network: reports a process id on one pipe and starts when it reads a line from the
   * other.
   */
  readonly network?: {
    readonly waiting: number;
    readonly go: number;
    /** @throws Error with the reason of a failure */
    connect(pid: number): Promise<NetworkHelper>;
  };
  /** If present, it starts when it reads a line from standard input, after being moved into this group. */
  readonly group?: RunGroup;
  /** The error for failures the caller is responsible for, by the standard error output. */
  readonly refusal?: (said: string) => FileAdapterError | undefined;
  /** Its process group must be killed at the end, since nothing else ends it. */
  readonly endsGroup?: true;
  /** Exit codes above 128 stand for signals that ended the command. */
  readonly signalCodes: boolean;
}

export interface ChildHost {
  readonly clock: Clock;
  /** Receives why a sandbox could not be set up; may contain host paths. */
  readonly onFailure: (reason: string) => void;
}

const SIGNALS: ReadonlyMap<number, string> = new Map(
  Object.entries(constants.signals).map(([name, number]) => [number, name]),
);

/**
 * Starts a process in its own group and supervises it until its end.
 * @throws NOT_SUPPORTED
 */
export function startChild(plan: ChildPlan, run: RunOptions, host: ChildHost): SandboxProcess {
  try {
    return new Child(plan, run, host);
  } catch (error) {
    throw unavailable(host, error instanceof Error ? error.message : "it cannot be started");
  }
}

/** The caller's error if there is no sandbox; the whole reason is for the operator only. */
export function unavailable({ onFailure }: Pick<ChildHost, "onFailure">, reason: string): FileAdapterError {
  onFailure(reason);
  return noSandbox(reason);
}

class Child implements SandboxProcess {
  readonly started: Promise<void>;
  readonly exited: Promise<SandboxExit>;
  readonly #child: ChildProcess;
  readonly #output: OutputBuffer;
  #failure = "";
  #leader = "";
  #isOver = false;
  #timedOut = false;
  #isAborted = false;
  #wasKilled = false;

  constructor(plan: ChildPlan, run: RunOptions, host: ChildHost) {
    this.#output = createOutput(run.keep, run.outputBytes);
    this.#child = spawnAlone(plan.file, plan.args, { ...plan.options, detached: true });
    this.#listen("stdout", plan.output?.stdout ?? this.#child.stdout);
    this.#listen("stderr", plan.output?.stderr ?? this.#child.stderr);
    for (const [number, bytes] of plan.feeds) feed(this.#child.stdio[number], bytes);
    if (plan.leaderAt !== undefined) {
      const onData = (chunk: Buffer) => {
        this.#leader += chunk.toString("latin1");
      };
      this.#child.stdio[plan.leaderAt]?.on("data", onData).on("error", () => {});
    }
    const code = this.#code(plan);
    if (plan.group !== undefined) this.#admit(plan.group);
    const network = this.#connect(plan.network, code);
    this.started = this.#start(plan, code, host);
    // Reported by `exited` to callers that ignore it.
    this.started.catch(() => {});
    const gone = code.then(async (end) => {
      await (await network)?.end();
      return end;
    });
    this.exited = this.#exit(plan, run, { code: gone, clock: host.clock });
  }

  output() {
    return this.#output.output(this.#isOver);
  }

  async kill(): Promise<void> {
    this.#kill();
    await this.exited;
  }

  #kill(): void {
    const { pid } = this.#child;
    if (this.#isOver || pid === undefined || this.#child.exitCode !== null || this.#child.signalCode !== null) return;
    this.#wasKilled = true;
    killGroup(pid);
  }

  #listen(name: StreamName, stream: Readable | null): void {
    stream?.on("data", (chunk: Buffer) => this.#output.add(name, chunk));
    stream?.on("error", () => {});
  }

  /** Resolves when all holders of its output have ended, or soon after the process itself. */
  #code({ endsGroup, output }: ChildPlan): Promise<{ code: number | null; signal: string | null }> {
    const outputs = output === undefined ? [] : [output.stdout, output.stderr];
    return new Promise((resolve) => {
      let timer: NodeJS.Timeout | undefined;
      let open = outputs.length + 1;
      const end = () => {
        clearTimeout(timer);
        for (const stream of [...this.#child.stdio, ...outputs]) stream?.destroy();
        const { pid, exitCode, signalCode } = this.#child;
        resolve({ code: pid === undefined ? null : exitCode, signal: signalCode });
      };
      const closed = () => {
        if (--open === 0) end();
      };
      this.#child.once("error", (error) => {
        this.#failure = error.message;
        if (this.#child.pid === undefined) end();
      });
      this.#child.once("exit", () => {
        if (endsGroup === true) killGroup(this.#child.pid);
        timer = setTimeout(end, DRAIN_MS);
      });
      this.#child.once("close", closed);
      for (const stream of outputs) stream.once("close", closed);
    });
  }

  /** Waits for its remains, which end after the process that was started. */
  async #waitForRemains(): Promise<void> {
    const [, pid] = /"child-pid": *(\d+)/.exec(this.#leader) ?? [];
    const end = performance.now() + LEFT_MS;
    while (pid !== undefined && !isOver(Number(pid)) && performance.now() < end) await sleep(1);
  }

  /**
   * Connects its network.
   * @returns what must be ended with it
   */
  async #connect(network: ChildPlan["network"], ended: Promise<unknown>): Promise<NetworkHelper | undefined> {
    if (network === undefined) return undefined;
    const message = new Promise<string>((resolve) => {
      this.#child.stdio[network.waiting]?.once("data", (chunk: Buffer) => resolve(chunk.toString("latin1")));
    });
    const pid = await Promise.race([message, ended.then(() => undefined)]);
    if (pid === undefined) return undefined;
    try {
      const helper = await network.connect(Number(pid));
      feed(this.#child.stdio[network.go], Buffer.from("\n"));
      return helper;
    } catch (error) {
      this.#failure = error instanceof Error ? error.message : "it has no network";
      this.#kill();
      return undefined;
    }
  }

  /** Synchronously, so that everything it starts is in the group. */
  #admit(group: RunGroup): void {
    const { pid, stdin } = this.#child;
    if (pid === undefined) return;
    try {
      group.add(pid);
      feed(stdin, Buffer.from("\n"));
    } catch (error) {
      this.#failure = error instanceof Error ? error.message : "it has no control group";
      this.#kill();
    }
  }

  async #start(plan: ChildPlan, ended: Promise<unknown>, host: ChildHost): Promise<void> {
    const { readyAt } = plan;
    let isReady = false;
    const ready = new Promise<void>((resolve) => {
      const become = () => {
        isReady = true;
        resolve();
      };
      if (readyAt === undefined) this.#child.once("spawn", become);
      else this.#child.stdio[readyAt]?.once("data", become).on("error", () => {});
    });
    const timer = setTimeout(() => this.#kill(), START_MS);
    await Promise.race([ready, ended]);
    clearTimeout(timer);
    if (this.#isAborted) throw aborted();
    if (isReady) return;
    const said = Buffer.from(this.#output.output(true).stderr.subarray(0, COMPLAINT_BYTES)).toString("utf8").trim();
    const refused = plan.refusal?.(said);
    if (refused !== undefined) throw refused;
    throw unavailable(host, this.#failure || said || "it ended before the command ran");
  }

  async #exit(
    { signalCodes, group }: ChildPlan,
    { timeoutMs, signal }: RunOptions,
    { code, clock }: { code: Promise<{ code: number | null; signal: string | null }>; clock: Clock },
  ): Promise<SandboxExit> {
    const onAbort = () => {
      this.#isAborted = true;
      this.#kill();
    };
    // Setting up the sandbox has its own limit and does not count as the command's time.
    let stopTimer = () => {};
    const startTimer = () => {
      stopTimer = untilDeadline(clock, timeoutMs, () => {
        this.#timedOut = true;
        this.#kill();
      });
    };
    this.started.then(startTimer, () => {});
    signal?.addEventListener("abort", onAbort, { once: true });
    if (signal?.aborted === true) onAbort();
    const end = await code;
    await this.#waitForRemains();
    await group?.end();
    this.#isOver = true;
    stopTimer();
    signal?.removeEventListener("abort", onAbort);
    const inner = !this.#wasKilled && signalCodes && end.code !== null ? SIGNALS.get(end.code - 128) : undefined;
    const name = end.signal ?? inner ?? null;
    return {
      exitCode: name === null ? end.code : null,
      signal: name,
      timedOut: this.#timedOut && this.#wasKilled,
      truncated: this.#output.output(true).truncated,
    };
  }
}

function killGroup(pid: number | undefined): void {
  // The child may just have ended.
  if (pid !== undefined) attempt(() => process.kill(-pid, "SIGKILL"));
}

function feed(stream: Readable | Writable | null | undefined, bytes: Uint8Array): void {
  if (stream === null || stream === undefined || !("end" in stream)) return;
  // The child may end before it has read everything.
  stream.on("error", () => {});
  stream.end(bytes);
}
