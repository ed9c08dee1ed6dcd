import { readFileSync } from "node:fs";
import { release } from "node:os";
import { setTimeout as sleep } from "node:timers/promises";
import { describe, expect } from "@jest/globals";
import { DEFAULT_SHELL } from "../../src/core/ports/sandbox.js";
import { createSandbox } from "../../src/sandbox/create.js";
import { needs } from "../needs.js";
import { bwrapHere, processesWith, useShell } from "./ground.js";

const { possible, reason } = await bwrapHere();
const test = needs(possible, reason);
const ground = useShell({ shell: { limits: { ...DEFAULT_SHELL.limits, nproc: 64 } } });

/** Waits for what the system does in a moment; the time of the test bounds it. */
async function gone(text: string): Promise<string[]> {
  while (processesWith(text).length > 0) await sleep(20);
  return [];
}

function countsByRun(): boolean {
  const [major = 0, minor = 0] = release().split(".").map(Number);
  return major > 5 || (major === 5 && minor >= 14);
}

const mounts = (): string => readFileSync("/proc/self/mountinfo", "utf8");

describe("when a command ends", () => {
  test("what it left in the background ends too, in another session also", async () => {
    const before = mounts();
    const command = "(sleep 71.25 &) ; setsid sleep 71.25 & setsid -f sleep 71.25; echo done";
    expect(await ground.sh(command)).toMatchObject({ stdout: "done\n", exitCode: 0, timedOut: false });
    expect(processesWith("71.25")).toEqual([]);
    expect(mounts()).toBe(before);
  });

  test("by running out of time, all of it does, and what it wrote is kept", async () => {
    const command = "echo early; setsid -f sh -c 'trap \"\" TERM HUP; sleep 72.25'; sleep 72.25";
    expect(await ground.overtime(command)).toEqual({
      ...{ stdout: "early\n", stderr: "", exitCode: null, signal: "SIGKILL", timedOut: true, truncated: false },
    });
    expect(await gone("72.25")).toEqual([]);
  });

  test("by being killed, all of it does, and its changes have been made", async () => {
    const process = await ground.adapter.exec(ground.request("echo a > made; echo ready; sleep 73.25"));
    while (process.output().stdout.length === 0) await sleep(5);
    await process.kill();
    expect(await process.exited).toMatchObject({ exitCode: null, signal: "SIGKILL", timedOut: false });
    await process.kill();
    expect(await gone("73.25")).toEqual([]);
    expect(await ground.adapter.invoke("file:read", { root: "r", path: "made" })).toMatchObject({ content: "a\n" });
  });

  test("a fork bomb is over, and was no larger than it may be", async () => {
    const bomb = "bomb_74_25() { bomb_74_25 | bomb_74_25 & }; bomb_74_25; sleep 5";
    const ended = ground.sh(bomb, { timeoutMs: 700 });
    let most = 0;
    for (let look = 0; look < 10; look++) {
      await sleep(40);
      most = Math.max(most, processesWith("bomb_74_25").length);
    }
    expect(await ended).toMatchObject({ timedOut: true });
    expect(most).toBeLessThanOrEqual(80);
    expect(await gone("bomb_74_25")).toEqual([]);
    expect((await ground.sh("echo fine")).stdout).toBe("fine\n");
  });

  needs(possible && countsByRun(), "before Linux 5.14 processes are counted by user, not by run")(
    "in the middle of a fork bomb, others can still start theirs",
    async () => {
      const forks = "$| = 1; while (defined($pid = fork)) { if (!$pid) { sleep 60; exit } $n++ } print $n; sleep 60";
      const bomb = await ground.adapter.exec(ground.request("", { argv: ["/usr/bin/perl", "-e", forks] }));
      while (bomb.output().stdout.length === 0) await sleep(5);
      const children = Number(Buffer.from(bomb.output().stdout));
      const others = await Promise.all([1, 2, 3].map(() => ground.sh("echo a | cat | cat")));
      await bomb.kill();
      expect(children).toBeGreaterThan(32);
      expect(children).toBeLessThan(64);
      expect(others.map(({ stdout, stderr }) => [stdout, stderr])).toEqual(Array(3).fill(["a\n", ""]));
    },
  );

  test("by a signal of its caller, and does not begin after one", async () => {
    const running = new AbortController();
    const process = await ground.adapter.exec(ground.request("sleep 75.25"), { signal: running.signal });
    running.abort();
    expect(await process.exited).toMatchObject({ signal: "SIGKILL", timedOut: false });
    expect(await gone("75.25")).toEqual([]);
    await expect(ground.sh("touch made", { signal: AbortSignal.abort() })).rejects.toMatchObject({ code: "ABORTED" });
    await expect(ground.sh("touch made", { context: { signal: AbortSignal.abort() } })).rejects.toMatchObject({
      code: "ABORTED",
    });
    await expect(ground.adapter.invoke("file:stat", { root: "r", path: "made" })).resolves.toMatchObject({
      exists: false,
    });
  });

  test("by the clock that it is given", async () => {
    let now = 0;
    const clock = { nowMs: () => now, monotonicMs: () => now };
    const sandbox = await createSandbox({ ...DEFAULT_SHELL, driver: "bwrap" }, { clock });
    const process = await ground.adapter.exec(
      ground.request("echo on; sleep 76.25", { sandbox, timeoutMs: 3_600_000 }),
    );
    now = 3_600_001;
    expect(await process.exited).toMatchObject({ timedOut: true });
    expect(await gone("76.25")).toEqual([]);
  });
});

describe("its output", () => {
  test("is cut at its limit and read on, so that it ends as it would have", async () => {
    const ran = await ground.sh("yes é | head -c 3000000; echo late >&2; exit 5", { outputBytes: 1000 });
    expect(ran).toMatchObject({ exitCode: 5, truncated: true, stderr: "" });
    expect(ran.stdout).toBe(`${"é\n".repeat(333)}`);
    const tail = await ground.sh("yes é | head -c 3000000; echo end; exit 6", { outputBytes: 1000, keep: "tail" });
    expect(tail).toMatchObject({ exitCode: 6, truncated: true });
    expect(tail.stdout).toBe(`${"é\n".repeat(332)}end\n`);
  });

  test("is whole, however large, below its limit", async () => {
    const ran = await ground.sh("head -c 2000000 /dev/zero | tr '\\0' x; head -c 1000000 /dev/zero | tr '\\0' y >&2", {
      outputBytes: 3_000_000,
    });
    expect([ran.stdout.length, ran.stderr.length, ran.truncated]).toEqual([2_000_000, 1_000_000, false]);
  });
});
