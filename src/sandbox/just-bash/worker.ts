// Worker thread of a JavaScript shell.

import { parentPort, workerData } from "node:worker_threads";
import { Bash, InMemoryFs, MountableFs } from "just-bash";
import { type Ask, BridgeFs } from "./fs.js";
import type { FileAnswer, FromThread, ShellTask, ToThread } from "./messages.js";

/** Messages come from the main thread of the same build. */
const parseTask = (data: unknown) => data as ShellTask | undefined;
const parseMessage = (message: unknown) => message as ToThread;

const waiting = new Map<number, (answer: FileAnswer) => void>();
const stopping = new AbortController();
let calls = 0;

const tell = (message: FromThread): void => parentPort?.postMessage(message);

parentPort?.on("message", (message: unknown) => {
  const parsed = parseMessage(message);
  if ("stop" in parsed) {
    stopping.abort();
    return;
  }
  waiting.get(parsed.id)?.(parsed.answer);
  waiting.delete(parsed.id);
});

const askOf =
  (mount: number): Ask =>
  (call) =>
    new Promise((resolve) => {
      const id = ++calls;
      waiting.set(id, resolve);
      tell({ id, call: { ...call, mount } });
    });

async function run({ script, args, cwd, env, mounts }: ShellTask): Promise<void> {
  const base = new InMemoryFs();
  await base.mkdir("/tmp", { recursive: true });
  const fs = new MountableFs({
    base,
    mounts: mounts.map((mountPoint, index) => ({ mountPoint, filesystem: new BridgeFs(mountPoint, askOf(index)) })),
  });
  const bash = new Bash({ fs, cwd, env: { ...env }, executionLimitProfile: "hardened" });
  const options = { rawScript: true, args: [...args], signal: stopping.signal };
  try {
    const { stdout, stderr, exitCode } = await bash.exec(script, options);
    tell({ stdout, stderr, exitCode });
  } catch (error) {
    const text = error instanceof Error ? error.message : "failed";
    tell({ stdout: "", stderr: `bash: ${text}\n`, exitCode: 1 });
  }
}

const task = parseTask(workerData);
tell({ ready: true });
if (task !== undefined) await run(task);
