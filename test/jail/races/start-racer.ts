import { type ChildProcessByStdio, spawn } from "node:child_process";
import { once } from "node:events";
import { mkdtempSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { createInterface } from "node:readline";
import type { Readable, Writable } from "node:stream";
import { fileURLToPath } from "node:url";
import { afterAll } from "@jest/globals";

/** A process that exchanges two entries of a directory without pause. */
export interface Racer {
  readonly method: "renameat2" | "rename loop";
  stop(): Promise<void>;
}

interface Runner {
  readonly child: ChildProcessByStdio<Writable, Readable, null>;
  /** Ends the race when it is made. */
  readonly flag: string;
  line(): Promise<string>;
}

const SCRIPT = fileURLToPath(new URL("./racer.mjs", import.meta.url));
/** Processes that wait for their next race: one is used again and again. */
const idle: Runner[] = [];
let folder: string | undefined;
let made = 0;

afterAll(async () => {
  for (const { child } of idle.splice(0)) {
    child.stdin.end();
    await once(child, "exit");
  }
  if (folder !== undefined) rmSync(folder, { recursive: true });
  folder = undefined;
});

function newRunner(): Runner {
  folder ??= mkdtempSync(join(tmpdir(), "venue-files-racers-"));
  const flag = join(folder, `${++made}`);
  const child = spawn(process.execPath, [SCRIPT, flag], { stdio: ["pipe", "pipe", "inherit"] });
  const lines = createInterface(child.stdout)[Symbol.asyncIterator]();
  return {
    child,
    flag,
    async line() {
      const { value, done } = await lines.next();
      if (done === true) throw new Error("the racer has ended");
      return value;
    },
  };
}

/** @returns once the first exchange has been made */
export async function startRacer(directory: string, a: string, b: string): Promise<Racer> {
  const runner = idle.pop() ?? newRunner();
  runner.child.stdin.write(`${JSON.stringify([directory, a, b])}\n`);
  const method = (await runner.line()) === "renameat2" ? "renameat2" : "rename loop";
  return {
    method,
    async stop() {
      writeFileSync(runner.flag, "");
      await runner.line();
      idle.push(runner);
    },
  };
}
