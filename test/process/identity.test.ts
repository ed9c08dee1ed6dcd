import { spawn } from "node:child_process";
import { once } from "node:events";
import { readFileSync } from "node:fs";
import { uptime } from "node:os";
import { afterEach, describe, expect, jest, test } from "@jest/globals";
import { simulateSystem } from "../../src/core/system.js";
import {
  bootId,
  isDead,
  isEarlierRun,
  isRunning,
  mayRun,
  NO_BOOT_ID,
  ownToken,
  type ProcessIdentity,
  readProc,
  systemStart,
} from "../../src/process/identity.js";
import { needs } from "../needs.js";

const onLinux = needs(process.platform === "linux", "needs procfs");
let restore = () => {};
afterEach(() => restore());

const DAY = 86_400;

describe.each(["win32", "darwin"] as const)("on %s, which has no id of a run of the system,", (system) => {
  const own: ProcessIdentity = { boot: NO_BOOT_ID, namespace: 0, pid: process.pid, start: systemStart() };

  test.each([
    ["a process that runs", own.start, false],
    ["one of this run of the system, whose clock was set right since", own.start - 14 * 3600, false],
    ["one of an earlier run, though its number is in use again", own.start - 2 * DAY, true],
    ["one that noted nothing", 0, false],
  ])("the leftovers of %s", (_, start, isOld) => {
    restore = simulateSystem(system);
    expect(isDead({ ...own, start }, own)).toBe(isOld);
    expect(mayRun(`- - ${process.pid} ${start || ""}`)).toBe(!isOld);
    expect(mayRun(`- - 4999999 ${start}`)).toBe(false);
  });

  test("nothing is looked up below /proc, where somebody else may have made it", () => {
    restore = simulateSystem(system);
    expect([bootId(), readProc("/proc/self/stat")]).toEqual([undefined, undefined]);
  });
});

test("a process of another user runs, what is no number does not", () => {
  const kill = jest.spyOn(process, "kill").mockImplementation(() => {
    throw Object.assign(new Error("refused"), { code: "EPERM" });
  });
  restore = simulateSystem("win32");
  expect([isRunning(4), mayRun(`- - 4 ${systemStart()}`)]).toEqual([true, true]);
  kill.mockRestore();
  expect([isRunning(process.pid), isRunning(Number.NaN), isRunning(4_999_999)]).toEqual([true, false, false]);
});

test("elsewhere an id decides, whatever the clock says", () => {
  const other: ProcessIdentity = { boot: "0badc0de", namespace: 1, pid: process.pid, start: 7 };
  expect(isDead({ ...other, namespace: 2 }, other)).toBe(false);
  expect(isDead({ ...other, boot: "12345678" }, other)).toBe(true);
});

test("the start of the system is now without the time since", () => {
  expect(Math.abs(systemStart() + uptime() - Date.now() / 1000)).toBeLessThan(60);
  expect(isEarlierRun(systemStart() - 2 * DAY)).toBe(true);
});

onLinux("a process that has ended runs no more, though its parent has not looked at it", async () => {
  const parent = spawn("sh", ["-c", "sleep 0.2 & echo $!; exec sleep 60"], { stdio: ["ignore", "pipe", "ignore"] });
  try {
    const [line] = (await once(parent.stdout, "data")) as [Buffer];
    const pid = line.toString().trim();
    const fields = () => readFileSync(`/proc/${pid}/stat`, "latin1").split(" ");
    const token = ownToken().replace(/\d+ \d+$/, `${pid} ${fields()[21]}`);
    expect(mayRun(token)).toBe(true);
    while (fields()[2] !== "Z") await new Promise((resolve) => setTimeout(resolve, 20));
    expect(mayRun(token)).toBe(false);
  } finally {
    parent.kill("SIGKILL");
  }
});
