import { spawn } from "node:child_process";
import { once } from "node:events";
import { createInterface } from "node:readline";
import { fileURLToPath } from "node:url";

/** A process that exchanges two entries of a directory without pause. */
export interface Racer {
  readonly method: "renameat2" | "rename loop";
  stop(): Promise<void>;
}

/** @returns once the first exchange has been made */
export async function startRacer(directory: string, a: string, b: string): Promise<Racer> {
  const script = fileURLToPath(new URL("./racer.mjs", import.meta.url));
  const child = spawn(process.execPath, [script, directory, a, b], { stdio: ["ignore", "pipe", "inherit"] });
  const exited = once(child, "exit");
  const [line] = (await Promise.race([
    once(createInterface(child.stdout), "line"),
    exited.then(() => Promise.reject(new Error("the racer ended before its first exchange"))),
  ])) as [string];
  return {
    method: line === "renameat2" ? "renameat2" : "rename loop",
    async stop() {
      child.kill("SIGKILL");
      await exited;
    },
  };
}
