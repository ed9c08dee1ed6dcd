import { execFileSync } from "node:child_process";
import { mkdirSync, mkdtempSync, rmSync, symlinkSync, unlinkSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { setImmediate } from "node:timers/promises";
import { afterAll, afterEach, beforeAll, describe, expect, test } from "@jest/globals";
import { HostBackend } from "../../src/backend/host/host.js";
import { filesOf } from "../../src/backend-suite/files.js";
import { DirectoryThread, loopLoad } from "../../src/jail/directory-thread.js";
import type { EngineName } from "../../src/jail/handles.js";
import { Jail } from "../../src/jail/jail.js";
import { Locks } from "../../src/jail/staging/locks.js";

const ENTRIES = 1000;
const linux = process.platform === "linux";

let path = "";
beforeAll(() => {
  path = mkdtempSync(join(tmpdir(), "venue-files-thread-"));
  for (const [name, count] of [
    ["large", ENTRIES],
    ["small", 50],
  ] as const) {
    mkdirSync(join(path, name));
    for (let index = 0; index < count; index++) writeFileSync(join(path, name, `file ${index}.txt`), "x".repeat(index));
  }
  const large = join(path, "large");
  mkdirSync(join(large, "directory"));
  symlinkSync("directory", join(large, "link"));
  symlinkSync("nowhere", join(large, "dangling"));
  writeFileSync(join(large, "é😀"), "");
  if (linux) {
    writeFileSync(Buffer.concat([Buffer.from(`${large}/bytes`), Buffer.from([0xff, 0xe9])]), "12");
    execFileSync("mkfifo", [join(large, "pipe")]);
  }
});
afterAll(() => rmSync(path, { recursive: true, force: true }));

/** A thread that counts what it is asked. */
class CountingThread extends DirectoryThread {
  readonly asked: string[] = [];
  /** What it was asked before it ran. */
  readonly early: string[] = [];

  override names(directory: string) {
    this.#note("names");
    return super.names(directory);
  }

  override stats(directory: string, names: readonly (string | Buffer)[]) {
    this.#note(`${names.length} stats`);
    return super.stats(directory, names);
  }

  #note(work: string): void {
    this.asked.push(work);
    if (!this.isRunning) this.early.push(work);
  }
}

const opened: { close(): Promise<void> }[] = [];
afterEach(async () => {
  await Promise.all(opened.splice(0).map((one) => one.close()));
});

function threadOf(isBusy: () => boolean, idleMs = 60_000): CountingThread {
  const thread = new CountingThread({ isBusy, idleMs });
  opened.push(thread);
  return thread;
}

async function started(idleMs?: number): Promise<CountingThread> {
  const thread = threadOf(() => true, idleMs);
  thread.takes(ENTRIES);
  while (!thread.isRunning) await setImmediate();
  return thread;
}

/** @param engine `openat2`: with native calls on directories */
function filesBy(thread: DirectoryThread, engine: EngineName = linux ? "handle walk" : "real-path check") {
  const options = { path, readOnly: true, crossDevice: false, io: "sync", thread, engine } as const;
  const backend = new HostBackend(new Jail(options, new Locks()), {
    durable: false,
    hardLinks: false,
    maxCopyBytes: 8_388_608,
  });
  opened.push(backend);
  return filesOf(backend);
}

describe("a large directory", () => {
  test("is listed identically with and without the thread", async () => {
    const thread = await started();
    const [busy, idle] = [filesBy(thread), filesBy(threadOf(() => false))];
    const page = { offset: 0, limit: 10_000 };
    const listing = await busy.list("large", page);
    expect(thread.asked).toEqual(["names", `${listing.total} stats`]);
    expect(listing.total).toBe(ENTRIES + (linux ? 6 : 4));
    expect(listing).toEqual(await idle.list("large", page));
  });

  test("is listed without the thread while the event loop is idle, and while the thread starts", async () => {
    const [rested, starting] = [threadOf(() => false), threadOf(() => true)];
    for (const thread of [rested, starting]) {
      expect((await filesBy(thread).list("large", { offset: 0, limit: ENTRIES })).entries).toHaveLength(ENTRIES);
    }
    expect(rested.asked).toEqual([]);
    // Names come first, and start it. On a busy machine it may run by the time that they are known.
    expect(starting.asked).not.toContain("names");
    expect(starting.early).toEqual([]);
  });

  test.each(linux ? ["openat2" as const] : [])(
    "is listed identically without the thread by native calls",
    async (engine) => {
      const thread = await started();
      const page = { offset: 0, limit: 10_000 };
      const listing = await filesBy(thread, engine).list("large", page);
      expect(thread.asked).toEqual([]);
      expect(listing).toEqual(await filesBy(threadOf(() => false)).list("large", page));
    },
  );

  test("is listed completely if the thread ends meanwhile", async () => {
    const thread = await started();
    const listing = filesBy(thread).list("large", { offset: 0, limit: ENTRIES });
    await thread.close();
    expect((await listing).entries).toHaveLength(ENTRIES);
    expect(thread.asked[0]).toBe("names");
  });

  test("that is removed meanwhile fails as without the thread", async () => {
    const thread = await started();
    await expect(thread.names(join(path, "nothing"))).rejects.toMatchObject({ code: "ENOENT", syscall: "scandir" });
    const file = join(path, "large", "file 0.txt");
    const found = thread.stats(join(path, "large"), ["file 1.txt", "file 2.txt", "never"]);
    const { types = new Uint8Array(), sizes } = (await found) ?? {};
    expect([[...types], [...(sizes ?? [])]]).toEqual([
      [1, 1, 255],
      [1, 2, 0],
    ]);
    unlinkSync(file);
    const { total } = await filesBy(thread).list("large", { offset: 0, limit: 1 });
    writeFileSync(file, "");
    expect((await filesBy(thread).list("large", { offset: 0, limit: 1 })).total).toBe(total + 1);
  });
});

test("a small directory, and a small page of a large one, do not use the thread", async () => {
  const thread = await started();
  await filesBy(thread).list("small", { offset: 0, limit: 1000 });
  expect(thread.asked).toEqual([]);
  await filesBy(thread).list("large", { offset: 0, limit: 200 });
  expect(thread.asked).toEqual(["names"]);
});

describe("the thread", () => {
  test("refuses work beyond its queue limit", async () => {
    const thread = await started();
    const asked = Array.from({ length: 4 }, () => thread.names(join(path, "large")));
    expect(thread.takes(ENTRIES)).toBe(false);
    await Promise.all(asked);
    expect(thread.takes(ENTRIES)).toBe(true);
  });

  test("ends when idle, and starts again", async () => {
    const thread = await started(1);
    while (thread.isRunning) await setImmediate();
    expect(thread.takes(ENTRIES)).toBe(false);
    while (!thread.isRunning) await setImmediate();
  });
});

test("the loop is busy while it has hardly rested over the last 20 ms", () => {
  let now = { active: 0, idle: 0 };
  const isBusy = loopLoad(() => now);
  const after = (active: number, idle: number) => {
    now = { active: now.active + active, idle: now.idle + idle };
    return isBusy();
  };
  expect(after(0, 0)).toBe(false);
  expect(after(19, 0)).toBe(false);
  expect(after(1, 0)).toBe(true);
  expect(after(0, 19)).toBe(true);
  expect(after(0, 1)).toBe(false);
  expect(after(15, 5)).toBe(false);
  expect(after(17, 3)).toBe(true);
  expect(loopLoad()()).toBe(false);
});
