import { spawnSync } from "node:child_process";
import { lstatSync, mkdirSync, readdirSync, readFileSync, renameSync, unlinkSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { afterEach, expect, jest, test } from "@jest/globals";
import { runIo } from "../../../src/core/io.js";
import { type Pinned, ProcHandles, release } from "../../../src/jail/handles.js";
import { LockHolder } from "../../../src/jail/staging/lock-holder.js";
import { Sys } from "../../../src/jail/sys.js";
import { ownIdentity, printIdentity } from "../../../src/process/identity.js";
import { inArena, openDescriptors, staged } from "../arena.js";
import { withFiles } from "../files.js";

const SECOND_MS = 1000;
let serial = 0;
const newText = (): string => printIdentity(ownIdentity(), String(serial++).padStart(16, "0"));

/** A holder in a directory of its own. */
interface Ground {
  readonly sys: Sys;
  readonly stage: string;
  readonly holder: LockHolder;
  /** Makes the lock file. @returns removes it */
  take(): Promise<() => Promise<void>>;
  /** Makes and removes the lock file. @returns its inode */
  takeOnce(): Promise<number>;
}

async function withHolder(work: (ground: Ground) => Promise<void>): Promise<void> {
  await inArena(async ({ root }) => {
    const stage = join(root, "stage");
    mkdirSync(stage);
    const sys = new Sys(false);
    const handles = new ProcHandles(sys);
    const before = openDescriptors().length;
    const enter = (): Pinned => handles.openRoot(stage);
    const holder = new LockHolder(sys, {
      *enter() {
        return enter();
      },
      inBackground: () => {},
    });
    const path = join(stage, "lock");
    const take = async () => {
      const directory = enter();
      try {
        const inode = await runIo(holder.lock({ directory, prefix: "" }, path, newText()));
        const { dev, ino } = lstatSync(path);
        expect(inode.identity).toBe(`${dev}:${ino}`);
        return async () => {
          unlinkSync(path);
          await runIo(inode.close());
        };
      } finally {
        release(directory);
      }
    };
    const takeOnce = async () => {
      const free = await take();
      const { ino } = lstatSync(path);
      await free();
      return ino;
    };
    await work({ sys, stage, holder, take, takeOnce });
    await runIo(holder.drop());
    expect(readdirSync(stage)).toEqual([]);
    expect(openDescriptors()).toHaveLength(before);
  });
}

afterEach(() => {
  jest.useRealTimers();
  jest.restoreAllMocks();
});

const fakeTime = () => jest.useFakeTimers({ doNotFake: ["setImmediate", "nextTick", "queueMicrotask"] });

test("locks that follow each other are names of one file, which says whose they are", () =>
  withHolder(async ({ stage, take, takeOnce }) => {
    await takeOnce();
    expect(readdirSync(stage)).toEqual([]);
    const second = await takeOnce();
    const [name = "", ...others] = readdirSync(stage);
    expect(others).toEqual([]);
    expect(name).toBe(`holder-${readFileSync(join(stage, name), "latin1")}`);
    expect(await takeOnce()).toBe(second);
    const free = await take();
    await expect(take()).rejects.toMatchObject({ code: "EEXIST" });
    await free();
    expect(await takeOnce()).toBe(second);
  }));

test("the file is removed once no lock has been needed for a while", () =>
  withHolder(async ({ stage, take, takeOnce }) => {
    fakeTime();
    await takeOnce();
    const free = await take();
    jest.advanceTimersByTime(10 * SECOND_MS);
    expect(readdirSync(stage)).toHaveLength(2);
    await free();
    jest.advanceTimersByTime(3 * SECOND_MS);
    expect(readdirSync(stage)).toEqual([]);
    await takeOnce();
    expect(readdirSync(stage)).toEqual([]);
  }));

test("no lock has the inode of one that others may hold for stale by its age", () =>
  withHolder(async ({ stage, take, takeOnce }) => {
    // By its name, which is its own: some file systems give the number of a file that is gone to the next one.
    const file = async () => {
      await takeOnce();
      return readdirSync(stage);
    };
    fakeTime();
    await takeOnce();
    const free = await take();
    jest.advanceTimersByTime(60 * SECOND_MS);
    await free();
    const first = await file();
    expect(first).toHaveLength(1);
    jest.advanceTimersByTime(SECOND_MS / 2);
    expect(await file()).toEqual(first);
    for (let half = 0; half < 60; half++) {
      jest.advanceTimersByTime(SECOND_MS / 2);
      await takeOnce();
    }
    const last = await file();
    expect(last).toHaveLength(1);
    expect(last).not.toEqual(first);
  }));

test("where no file can have two names, each lock is one", () =>
  withHolder(async ({ sys, stage, takeOnce }) => {
    const link = jest.spyOn(sys, "link").mockImplementation(() => {
      throw Object.assign(new Error("EPERM"), { code: "EPERM", syscall: "link" });
    });
    for (let count = 0; count < 4; count++) {
      await takeOnce();
      expect(readdirSync(stage)).toEqual([]);
    }
    expect(link).toHaveBeenCalledTimes(1);
  }));

test("another staging directory in the place of the first gets a file of its own", () =>
  withHolder(async ({ stage, takeOnce }) => {
    await takeOnce();
    const first = await takeOnce();
    renameSync(stage, `${stage}.away`);
    mkdirSync(stage);
    expect(await takeOnce()).not.toBe(first);
    expect(readdirSync(stage)).toHaveLength(1);
  }));

test("the file of a dead process is swept at the start, and one of a living process stays", () =>
  inArena(async ({ root }) => {
    const place = join(root, ".venue-files");
    mkdirSync(place, { mode: 0o700 });
    const dead = `holder-${printIdentity({ ...ownIdentity(), pid: spawnSync("true").pid }, "0".repeat(16))}`;
    const living = `holder-${newText()}`;
    for (const name of [dead, living]) writeFileSync(join(place, name), name);
    // What is swept is removed beside the calls; closing waits for it.
    await withFiles(root, async () => {});
    expect(staged(root)).toEqual([living]);
  }));
