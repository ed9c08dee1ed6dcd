import { spawn, spawnSync } from "node:child_process";
import { once } from "node:events";
import { mkdirSync, mkdtempSync, readdirSync, readFileSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { describe, expect, test } from "@jest/globals";
import { openFiles, ROOT } from "../jail/files.js";
import { type Child, startChild } from "../jail/start-child.js";

/** System calls that only the adapter makes once it runs, and how many of them one operation makes at the most. */
const CALLS = { openat: 12, rename: 2, mkdir: 2, unlink: 2, rmdir: 2, fsync: 3, fchmod: 1, ftruncate: 1 } as const;
const ERRORS = ["EIO", "ENOSPC", "EACCES"] as const;
/** Codes that a failed system call may lead to, with those that mean that it did not matter. */
const EXPECTED = ["ok", "IO_ERROR", "NO_SPACE", "PERMISSION_DENIED", "NOT_FOUND"];

const OPERATIONS: Readonly<Record<string, Record<string, unknown>>> = {
  write: { path: "a/old.txt", content: "new" },
  append: { path: "a/old.txt", content: "+" },
  mkdir: { path: "a/made", parents: true },
  delete: { path: "a/tree", recursive: true },
  read: { path: "a/old.txt" },
};

const traced = spawnSync("strace", ["-o", "/dev/null", "true"]);
const maybe = traced.status === 0 ? describe : describe.skip;
const reason = traced.status === 0 ? "" : " (no strace here)";

maybe(`every system call in turn fails once${reason}`, () => {
  test.each(Object.keys(CALLS) as (keyof typeof CALLS)[])("%s", async (call) => {
    for (const error of ERRORS) {
      for (let when = 1; when <= CALLS[call]; when++) {
        for (const operation of Object.keys(OPERATIONS))
          await expectSound(operation, `${call}:error=${error}:when=${when}`);
      }
    }
  });
});

/** One operation with one injected fault: an honest answer, whole files, and nothing left over. */
async function expectSound(operation: string, injection: string): Promise<void> {
  const root = mkdtempSync(join(tmpdir(), "venue-fault-"));
  mkdirSync(join(root, "a/tree/deep"), { recursive: true });
  writeFileSync(join(root, "a/old.txt"), "old");
  writeFileSync(join(root, "a/tree/deep/f"), "f");
  const child = await startChild({ config: { roots: { [ROOT]: { path: root, durability: "flush" } } } });
  try {
    const { tracer, ended } = await attach(child, injection);
    const { code } = await child.invoke(operation, OPERATIONS[operation]);
    tracer.kill("SIGINT");
    await ended;
    expect([injection, operation, EXPECTED.includes(code) ? code : `unexpected ${code}`]).toEqual([
      injection,
      operation,
      code,
    ]);
    const content = readFileSync(join(root, "a/old.txt"), "utf8");
    const after = { write: "new", append: "old+" }[operation] ?? "old";
    // After a failed answer either content may be there, but always a whole one.
    expect(code === "ok" ? [after] : ["old", after]).toContain(content);
  } finally {
    await child.close();
  }
  // What could not be removed then is removed at the next start.
  await (await openFiles(root)).close();
  expect([injection, operation, ...readdirSync(root)]).toEqual([injection, operation, "a"]);
  rmSync(root, { recursive: true, force: true });
}

/** Attaches to a running process, so that only what it does from now on is counted. */
async function attach(child: Child, injection: string) {
  await child.invoke("stat", { path: "" });
  const tracer = spawn("strace", ["-f", "-p", String(child.pid), "-o", "/dev/null", "-e", `inject=${injection}`], {
    stdio: ["ignore", "ignore", "pipe"],
  });
  const ended = once(tracer, "exit");
  // Says «attached» once it is.
  await once(tracer.stderr, "data");
  return { tracer, ended };
}
