import { readdirSync, readlinkSync } from "node:fs";
import { devNull } from "node:os";
import { expect } from "@jest/globals";
import { type Io, runIo } from "../../src/core/io.js";
import { finishWithReserve, joinReserve, leaveReserve, releaseReserved } from "../../src/jail/reserve.js";
import { needs } from "../needs.js";

const onLinux = needs(process.platform === "linux", "needs procfs to look at descriptors");

/** Descriptors of the null device: the test runner may have some of its own. */
const held = (): number =>
  readdirSync("/proc/self/fd").filter((fd) => {
    try {
      return readlinkSync(`/proc/self/fd/${fd}`) === devNull;
    } catch {
      return false;
    }
  }).length;

const inReserve = async (work: () => Promise<void>): Promise<void> => {
  const before = held();
  joinReserve();
  joinReserve();
  try {
    expect(held() - before).toBe(8);
    await work();
    expect(held() - before).toBe(8);
  } finally {
    leaveReserve();
    leaveReserve();
  }
  expect(held()).toBe(before);
};

onLinux("only work that has begun gets at the reserve, and only while it runs", () =>
  inReserve(async () => {
    const all = held();
    let resume: () => void = () => {};
    const pause = new Promise<void>((resolve) => {
      resume = resolve;
    });
    function* work(): Io<number> {
      expect(releaseReserved()).toBe(true);
      yield pause;
      expect(releaseReserved()).toBe(true);
      return all - held();
    }
    expect(releaseReserved()).toBe(false);
    const done = runIo(finishWithReserve(work()));
    expect(all - held()).toBe(1);
    expect(releaseReserved()).toBe(false);
    resume();
    expect(await done).toBe(2);
  }),
);

onLinux("work that fails gives back what it took, and ends at the end of the reserve", () =>
  inReserve(async () => {
    function* greedy(): Io<number> {
      let taken = 0;
      while (releaseReserved()) taken++;
      yield Promise.reject(new Error(`${taken} taken`));
      return taken;
    }
    await expect(runIo(finishWithReserve(greedy()))).rejects.toThrow("8 taken");
  }),
);
