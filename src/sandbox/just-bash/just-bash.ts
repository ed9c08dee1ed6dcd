// The JavaScript shell driver.

import { Worker } from "node:worker_threads";
import { aborted } from "../../core/errors/texts.js";
import { compiledFile } from "../../core/package-files.js";
import type { Sandbox, SandboxExit, SandboxJob, SandboxProbe, SandboxProcess } from "../../core/ports/sandbox.js";
import { type ChildHost, unavailable } from "../child.js";
import { untilDeadline } from "../deadline.js";
import { createOutput, type OutputBuffer } from "../output.js";
import { answerCall } from "./files.js";
import type { FromThread, ShellTask, ToThread } from "./messages.js";

/** Memory limit of one shell in MB, excluding buffers passed to it. */
const MEMORY_MB = 256;
/** Maximum time (ms) to start a shell, on a busy machine. */
const START_MS = 10_000;
/** Time (ms) a stopped shell has to deliver its output. */
const LAST_WORDS_MS = 100;

const CODE = compiledFile("sandbox/just-bash/worker");

/**
 * A shell in JavaScript, with a worker thread per command. It has no access to programs of the host, and to files only
 * through operations of the caller.
 */
export class JustBashSandbox implements Sandbox {
  readonly name = "just-bash";
  readonly shows = "files";
  readonly #host: ChildHost;
  #probe: Promise<SandboxProbe> | undefined;

  constructor(host: ChildHost) {
    this.#host = host;
  }

  probe(): Promise<SandboxProbe> {
    this.#probe ??= look();
    return this.#probe;
  }

  run(job: SandboxJob): SandboxProcess {
    return new ShellThread(job, this.#host);
  }
}

async function look(): Promise<SandboxProbe> {
  const found = { network: false, realBinaries: false };
  const worker = start(undefined);
  let timer: NodeJS.Timeout | undefined;
  const reason = await new Promise<string | undefined>((resolve) => {
    timer = setTimeout(() => resolve("just-bash does not load in time"), START_MS);
    worker.once("message", () => resolve(undefined));
    worker.once("error", () => resolve("the package just-bash is not installed, or does not load"));
  });
  clearTimeout(timer);
  await worker.terminate();
  return { ...found, available: reason === undefined, ...(reason === undefined ? {} : { reason }) };
}

function start(task: ShellTask | undefined): Worker {
  const worker = new Worker(CODE, {
    ...{ workerData: task, env: {}, stdin: false, stdout: true, stderr: true, execArgv: [] },
    resourceLimits: { maxOldGenerationSizeMb: MEMORY_MB },
  });
  worker.stdout.resume();
  worker.stderr.resume();
  return worker;
}

class ShellThread implements SandboxProcess {
  readonly started: Promise<void>;
  readonly exited: Promise<SandboxExit>;
  readonly #job: SandboxJob;
  readonly #worker: Worker;
  readonly #output: OutputBuffer;
  readonly #calls = new Set<Promise<void>>();
  #exitCode: number | undefined;
  #isReady = false;
  #isStopped = false;
  #isOver = false;
  #timedOut = false;
  #lastWords: NodeJS.Timeout | undefined;

  constructor(job: SandboxJob, host: ChildHost) {
    this.#job = job;
    this.#output = createOutput(job.keep, job.outputBytes);
    this.#worker = start(taskOf(job));
    const ended = new Promise<void>((resolve) => {
      this.#worker.once("exit", () => resolve());
    });
    this.#worker.on("error", () => {});
    this.started = this.#start(ended, host);
    this.started.catch(() => {});
    this.exited = this.#exit(ended, host);
  }

  output() {
    return this.#output.output(this.#isOver);
  }

  async kill(): Promise<void> {
    this.#stop();
    await this.exited;
  }

  /** An endless loop does not see the request to stop; the thread is terminated a moment later. */
  #stop(): void {
    if (this.#isStopped || this.#exitCode !== undefined) return;
    this.#isStopped = true;
    this.#tell({ stop: true });
    this.#lastWords = setTimeout(() => void this.#worker.terminate(), LAST_WORDS_MS);
  }

  #tell(message: ToThread): void {
    this.#worker.postMessage(message);
  }

  #start(ended: Promise<void>, host: ChildHost): Promise<void> {
    return new Promise((resolve, reject) => {
      this.#worker.on("message", (message: FromThread) => {
        if (!("ready" in message)) this.#hear(message);
        else if (!this.#isStopped) {
          this.#isReady = true;
          resolve();
        }
      });
      void ended.then(() => {
        if (this.#isReady) return;
        reject(this.#isStopped ? aborted() : unavailable(host, "just-bash does not load"));
      });
    });
  }

  #hear(message: Exclude<FromThread, { ready: true }>): void {
    if ("id" in message) {
      this.#serve(message);
      return;
    }
    this.#output.add("stdout", Buffer.from(message.stdout));
    this.#output.add("stderr", Buffer.from(message.stderr));
    this.#exitCode = message.exitCode;
    void this.#worker.terminate();
  }

  #serve({ id, call }: Extract<FromThread, { id: number }>): void {
    const files = this.#job.mounts[call.mount]?.files;
    if (files === undefined || this.#isStopped) return;
    const work = answerCall(files, call).then((answer) => {
      this.#calls.delete(work);
      this.#tell({ id, answer });
    });
    this.#calls.add(work);
  }

  async #exit(ended: Promise<void>, { clock }: ChildHost): Promise<SandboxExit> {
    const { signal, timeoutMs } = this.#job;
    const onAbort = () => this.#stop();
    signal?.addEventListener("abort", onAbort, { once: true });
    if (signal?.aborted === true) onAbort();
    let stopTimer = untilDeadline(clock, START_MS, () => this.#stop());
    const startTimer = () => {
      stopTimer();
      stopTimer = untilDeadline(clock, timeoutMs, () => {
        this.#timedOut = this.#exitCode === undefined;
        this.#stop();
      });
    };
    this.started.then(startTimer, () => {});
    await ended;
    stopTimer();
    clearTimeout(this.#lastWords);
    signal?.removeEventListener("abort", onAbort);
    // Its pending operations finish, or fail, before the run ends.
    await Promise.all(this.#calls);
    this.#isOver = true;
    const isKilled = this.#isStopped || this.#exitCode === undefined;
    return {
      ...{ exitCode: isKilled ? null : (this.#exitCode ?? null), signal: isKilled ? "SIGKILL" : null },
      ...{ timedOut: this.#timedOut, truncated: this.#output.output(true).truncated },
    };
  }
}

/** `bash` or `sh` by name is this shell; anything else is a command for it. */
function taskOf({ argv, cwd, env, mounts }: SandboxJob): ShellTask {
  const common = { cwd, env, mounts: mounts.map(({ at }) => at) };
  const [program = "", flag, script, ...rest] = argv;
  if (/^(?:\/(?:usr\/)?bin\/)?(?:ba)?sh$/.test(program) && flag === "-c" && script !== undefined && rest.length === 0) {
    // Grouped, so that a refused redirection ends the script without losing the output written before.
    return { ...common, script: `{ :\n${script}\n}`, args: [] };
  }
  return { ...common, script: `'${program.replaceAll("'", "'\\''")}'`, args: argv.slice(1) };
}
