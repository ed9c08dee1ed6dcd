import { execFileSync, spawn, spawnSync } from "node:child_process";
import { createHash } from "node:crypto";
import { once } from "node:events";
import {
  chmodSync,
  existsSync,
  linkSync,
  lstatSync,
  mkdirSync,
  readdirSync,
  readFileSync,
  renameSync,
  rmSync,
  symlinkSync,
  unlinkSync,
  writeFileSync,
} from "node:fs";
import { join } from "node:path";
import { afterEach, describe, expect, jest, test } from "@jest/globals";
import { etagOf } from "../../../src/core/etag.js";
import { isPending, runIo } from "../../../src/core/io.js";
import { type Pinned, ProcHandles, release } from "../../../src/jail/handles.js";
import { LockHolder } from "../../../src/jail/staging/lock-holder.js";
import { type Lock, type LockRequest, Locks } from "../../../src/jail/staging/locks.js";
import { Sys } from "../../../src/jail/sys.js";
import { NO_BOOT_ID, ownIdentity, type ProcessIdentity, printIdentity } from "../../../src/process/identity.js";
import { needs } from "../../needs.js";
import { PATIENCE_MS } from "../../until.js";
import { type Arena, INSIDE, inArena, openDescriptors, staged } from "../arena.js";
import { ENGINES, type Files, type FilesOptions, outcomeOf, ROOT, withFiles } from "../files.js";
import { isRoot, NOBODY, startChild, withChild } from "../start-child.js";

const alone = (...exclusive: string[]): LockRequest => ({ shared: [], exclusive });
const below = (shared: string, ...exclusive: string[]): LockRequest => ({ shared: [shared], exclusive });

/** A lock that was asked for, and whether it has been given by now. */
interface Asked {
  readonly lock: Promise<Lock>;
  given(): Promise<boolean>;
}

function ask(locks: Locks, request: LockRequest): Asked {
  const answer = runIo(locks.hold(request));
  let given = !isPending(answer);
  const lock = Promise.resolve(answer).then((held) => {
    given = true;
    return held;
  });
  return {
    lock,
    async given() {
      await new Promise((resolve) => setImmediate(resolve));
      return given;
    },
  };
}

describe("locks", () => {
  test("are given to one holder at a time, in order of request", async () => {
    const locks = new Locks();
    const asked = ["first", "second", "third"].map(() => ask(locks, alone("a")));
    const order: number[] = [];
    await Promise.all(
      asked.map(async ({ lock }, index) => {
        const held = await lock;
        order.push(index);
        await new Promise((resolve) => setImmediate(resolve));
        expect(order).toEqual([0, 1, 2].slice(0, index + 1));
        held.release();
      }),
    );
    expect(order).toEqual([0, 1, 2]);
  });

  test("of different keys are independent and given immediately", () => {
    const locks = new Locks();
    expect(isPending(runIo(locks.hold(below("dir", "dir/a"))))).toBe(false);
    expect(isPending(runIo(locks.hold(below("dir", "dir/b"))))).toBe(false);
  });

  test("of a directory are not exclusive while a writer below it shares them", async () => {
    const locks = new Locks();
    const writer = await ask(locks, below("dir", "dir/a")).lock;
    const removal = ask(locks, alone("dir"));
    expect(await removal.given()).toBe(false);
    writer.release();
    expect(await removal.given()).toBe(true);
  });

  test("let no later writer overtake a removal that waits", async () => {
    const locks = new Locks();
    const writer = await ask(locks, below("dir", "dir/a")).lock;
    const removal = ask(locks, alone("dir"));
    const late = ask(locks, below("dir", "dir/b"));
    expect(await late.given()).toBe(false);
    writer.release();
    expect(await removal.given()).toBe(true);
    expect(await late.given()).toBe(false);
    (await removal.lock).release();
    expect(await late.given()).toBe(true);
  });

  test("let unrelated requests pass a waiting one", async () => {
    const locks = new Locks();
    await ask(locks, alone("a")).lock;
    const waiting = ask(locks, alone("a", "b"));
    expect(await waiting.given()).toBe(false);
    expect(await ask(locks, alone("c")).given()).toBe(true);
    // The waiting one comes first where it does.
    expect(await ask(locks, alone("b")).given()).toBe(false);
  });

  test("take all keys of a request or none, so that nobody waits while holding", async () => {
    const locks = new Locks();
    const one = await ask(locks, alone("a")).lock;
    const both = ask(locks, alone("a", "b"));
    const other = ask(locks, alone("b"));
    one.release();
    expect(await both.given()).toBe(true);
    expect(await other.given()).toBe(false);
    (await both.lock).release();
    expect(await other.given()).toBe(true);
  });

  test("can be shared by several holders", async () => {
    const locks = new Locks();
    const one = await ask(locks, below("dir", "a")).lock;
    const two = await ask(locks, below("dir", "b")).lock;
    const removal = ask(locks, alone("dir"));
    one.release();
    expect(await removal.given()).toBe(false);
    two.release();
    expect(await removal.given()).toBe(true);
  });

  test("count turns, so that findings from before another change are known to be stale", async () => {
    const locks = new Locks();
    const before = locks.turn;
    const one = await ask(locks, alone("a")).lock;
    expect(locks.turn).toBe(before);
    one.release();
    expect(locks.turn).not.toBe(before);
  });

  test("of a thousand writers in a few directories are all granted eventually", async () => {
    const locks = new Locks();
    let running = 0;
    const holders = Array.from({ length: 1000 }, async (_, n) => {
      const request = n % 10 === 0 ? alone(`d${n % 3}`) : below(`d${n % 3}`, `d${n % 3}/${n % 7}`);
      const held = await ask(locks, request).lock;
      running++;
      await new Promise((resolve) => setImmediate(resolve));
      held.release();
    });
    await Promise.all(holders);
    expect(running).toBe(1000);
    expect(isPending(runIo(locks.hold(alone("d0", "d1", "d2"))))).toBe(false);
  });
});

const asRoot = needs(isRoot, "only root can hand a process other rights");

const etag = (text: string): string => etagOf(createHash("sha256").update(text).digest("hex"));
const textOf = (change: Partial<ProcessIdentity> = {}): string =>
  printIdentity({ ...ownIdentity(), ...change }, "0".repeat(16));
const deadPid = (): number => spawnSync("true").pid;
const turn = (): Promise<void> => new Promise((resolve) => setImmediate(resolve));

const lockIn = (root: string): string => join(root, ".venue-files/lock");

/** Read at once: the lock may go at any time. */
function textOfLock(root: string): string | undefined {
  try {
    return readFileSync(lockIn(root), "latin1");
  } catch {
    return undefined;
  }
}

function plant(root: string, text: string): void {
  mkdirSync(join(root, ".venue-files"), { mode: 0o700, recursive: true });
  writeFileSync(lockIn(root), text);
}

const conditional = (files: Files) =>
  outcomeOf(files.invoke("write", { path: "file.txt", content: "new", ifMatch: etag(INSIDE) }));

interface Case {
  readonly title: string;
  readonly plant: (arena: Arena) => void;
}

/** What stands where the lock file would, and is nobody's who lives. */
const STALE: readonly Case[] = [
  { title: "a lock of an earlier boot", plant: ({ root }) => plant(root, textOf({ boot: "01234567" })) },
  { title: "a lock of a process that is dead", plant: ({ root }) => plant(root, textOf({ pid: deadPid() })) },
  {
    title: "a lock of a process whose number another has by now",
    plant: ({ root }) => plant(root, textOf({ start: 1 })),
  },
  {
    title: "a link to a file outside",
    plant({ root, outside }) {
      mkdirSync(join(root, ".venue-files"), { mode: 0o700 });
      symlinkSync(join(outside, "canary.txt"), lockIn(root));
    },
  },
  {
    title: "a link to nothing",
    plant({ root }) {
      mkdirSync(join(root, ".venue-files"), { mode: 0o700 });
      symlinkSync("none", lockIn(root));
    },
  },
  {
    title: "a directory with something in it",
    plant: ({ root }) => mkdirSync(join(lockIn(root), "deep/er"), { recursive: true, mode: 0o700 }),
  },
  {
    title: "a directory that may not be written",
    plant({ root }) {
      mkdirSync(join(lockIn(root), "inner"), { recursive: true, mode: 0o700 });
      chmodSync(lockIn(root), 0o500);
    },
  },
  {
    title: "a FIFO",
    plant({ root }) {
      mkdirSync(join(root, ".venue-files"), { mode: 0o700 });
      execFileSync("mkfifo", [lockIn(root)]);
    },
  },
];

/** What holds up everybody who has a condition. */
const HELD: readonly Case[] = [
  { title: "a lock of a process that lives", plant: ({ root }) => plant(root, textOf()) },
  { title: "a new lock from another pid namespace", plant: ({ root }) => plant(root, textOf({ namespace: 1 })) },
  { title: "a lock that is just being made", plant: ({ root }) => plant(root, "") },
];

async function withArena(
  options: FilesOptions & { engine: (typeof ENGINES)[number] },
  work: (files: Files, arena: Arena) => Promise<void>,
  before: (arena: Arena) => void = () => {},
): Promise<void> {
  await inArena(async (arena) => {
    before(arena);
    await withFiles(arena.root, (files) => work(files, arena), options);
  });
}

describe.each(ENGINES)("the lock file, by %s", (engine) => {
  test("exists only during a conditional change, and names its holder", async () => {
    await withArena({ engine }, async (files, { root }) => {
      const seen: string[] = [];
      // Every call of the thread pool lets the event loop turn; on a local disk nobody gets a turn in between.
      let isDone = false;
      const write = conditional(files).finally(() => {
        isDone = true;
      });
      while (!isDone) {
        const text = textOfLock(root);
        if (text !== undefined) seen.push(text);
        await turn();
      }
      expect((await write).code).toBe("ok");
      expect(staged(root)).toEqual([]);
      const { boot, namespace, pid, start } = ownIdentity();
      for (const text of new Set(seen.filter((some) => some !== ""))) {
        expect(text).toMatch(new RegExp(`^${boot}-${namespace}-${pid}-${start}-[0-9a-f]{16}$`));
      }
      if (engine === "handle walk in the thread pool") expect(seen.length).toBeGreaterThan(0);
    });
  });

  test.each(STALE)("is taken over from $title, and nothing outside is touched", async ({ plant: put }) => {
    await inArena(async (arena) => {
      // Only what comes after the start, which sweeps too.
      await withFiles(
        arena.root,
        async (files) => {
          put(arena);
          const before = arena.outsideNow();
          expect((await conditional(files)).code).toBe("ok");
          expect(readFileSync(join(arena.root, "file.txt"), "utf8")).toBe("new");
          expect(arena.outsideNow()).toEqual(before);
          expect(staged(arena.root)).toEqual([]);
        },
        { engine },
      );
      expect(staged(arena.root)).toBeUndefined();
    });
  });

  test.each(STALE)("that is left as $title is swept at the start", async ({ plant: put }) => {
    await inArena(async (arena) => {
      put(arena);
      const before = arena.outsideNow();
      await withFiles(arena.root, async () => {}, { engine });
      expect(staged(arena.root)).toBeUndefined();
      expect(arena.outsideNow()).toEqual(before);
    });
  });

  test.each(HELD)("is waited for until TIMEOUT: $title", async ({ plant: put }) => {
    await withArena({ engine, limits: { timeoutMs: 200 } }, async (files, arena) => {
      put(arena);
      const text = readFileSync(lockIn(arena.root), "latin1");
      const outcome = await conditional(files);
      expect(outcome).toMatchObject({ code: "TIMEOUT", message: "Operation timed out after 200 ms" });
      expect(readFileSync(join(arena.root, "file.txt"), "utf8")).toBe(INSIDE);
      expect(readFileSync(lockIn(arena.root), "latin1")).toBe(text);
      rmSync(lockIn(arena.root));
    });
  });

  test("does not delay unconditional changes, or mkdir", async () => {
    await withArena({ engine }, async (files, { root }) => {
      plant(root, textOf());
      await files.invoke("write", { path: "file.txt", content: "new" });
      await files.invoke("append", { path: "file.txt", content: "+" });
      await files.invoke("mkdir", { path: "made", ifNoneMatch: "*" });
      await files.invoke("delete", { path: "dir", recursive: true });
      expect(readFileSync(join(root, "file.txt"), "utf8")).toBe("new+");
      expect(lstatSync(lockIn(root)).isFile()).toBe(true);
      rmSync(lockIn(root));
    });
  });

  test("is acquired once its holder has released it", async () => {
    await withArena({ engine }, async (files, { root }) => {
      plant(root, textOf());
      const write = conditional(files);
      await turn();
      expect(readFileSync(join(root, "file.txt"), "utf8")).toBe(INSIDE);
      rmSync(lockIn(root));
      expect((await write).code).toBe("ok");
    });
  });

  test.each([
    ["that names no holder", 2_000, "what is this"],
    [
      "of a system without an id of its run",
      10_000,
      textOf({ boot: NO_BOOT_ID, namespace: 0, pid: 1, start: 2 ** 40 }),
    ],
  ])("%s becomes stale after %d ms", async (_name, ms, text) => {
    await withArena({ engine, limits: { timeoutMs: 20_000 } }, async (files, { root, outside }) => {
      plant(root, "");
      rmSync(lockIn(root));
      writeFileSync(join(outside, "planted"), text);
      linkSync(join(outside, "planted"), lockIn(root));
      const { ctimeMs, ino } = lstatSync(lockIn(root));
      const now = jest.spyOn(Date, "now").mockImplementation(() => ctimeMs + ms - 10);
      try {
        const write = conditional(files);
        while (now.mock.calls.length < 20) await turn();
        expect(lstatSync(lockIn(root)).ino).toBe(ino);
        now.mockImplementation(() => ctimeMs + ms + 10);
        expect((await write).code).toBe("ok");
      } finally {
        now.mockRestore();
      }
      expect(existsSync(join(outside, "planted"))).toBe(true);
    });
  });

  test("is neither listed nor reachable, wherever it is", async () => {
    await withArena({ engine }, async (files, { root }) => {
      plant(root, textOf());
      writeFileSync(join(root, "dir/.venue-files-lock"), textOf());
      expect(await files.invoke("list", { path: "dir" })).toMatchObject({ total: 2 });
      for (const path of [".venue-files/lock", "dir/.venue-files-lock"]) {
        for (const operation of ["read", "stat", "delete"]) {
          expect((await outcomeOf(files.invoke(operation, { path }))).code).toBe("INVALID_PATH");
        }
      }
      rmSync(lockIn(root));
      rmSync(join(root, "dir/.venue-files-lock"));
    });
  });
});

describe("a holder whose lock is taken away", () => {
  test.each(["write", "append", "delete"])("changes nothing and fails with TIMEOUT: %s", async (operation) => {
    await withArena({ engine: "handle walk in the thread pool" }, async (files, { root }) => {
      const content = operation === "delete" ? {} : { content: "new" };
      const call = outcomeOf(files.invoke(operation, { path: "file.txt", ...content, ifMatch: etag(INSIDE) }));
      while (!existsSync(lockIn(root))) await turn();
      rmSync(lockIn(root));
      expect((await call).code).toBe("TIMEOUT");
      expect(readFileSync(join(root, "file.txt"), "utf8")).toBe(INSIDE);
      expect(staged(root)).toEqual([]);
    });
  });

  test("leaves the lock of its new holder alone", async () => {
    await withArena({ engine: "handle walk in the thread pool" }, async (files, { root }) => {
      const call = conditional(files);
      while (!existsSync(lockIn(root))) await turn();
      rmSync(lockIn(root));
      plant(root, textOf());
      expect((await call).code).toBe("TIMEOUT");
      expect(readFileSync(lockIn(root), "latin1")).toBe(textOf());
      rmSync(lockIn(root));
    });
  });
});

test("the lock of a zombie process is taken over", async () => {
  // What has become a sleeper asks after none of its children.
  const parent = spawn("sh", ["-c", "sleep 61 & echo $!; exec sleep 60"], { stdio: ["ignore", "pipe", "ignore"] });
  try {
    const [line] = (await once(parent.stdout, "data")) as [Buffer];
    const pid = Number(line.toString());
    while (!readFileSync(`/proc/${parent.pid}/cmdline`, "latin1").startsWith("sleep\0")) await turn();
    process.kill(pid, "SIGKILL");
    while (!/\) Z /.test(readFileSync(`/proc/${pid}/stat`, "latin1"))) await turn();
    await withArena({ engine: "handle walk" }, async (files, { root }) => {
      plant(root, textOf({ pid, start: 0 }));
      expect((await conditional(files)).code).toBe("ok");
    });
  } finally {
    parent.kill();
  }
});

describe("where the staging directory cannot be used", () => {
  asRoot("the lock stands beside the target", async () => {
    await inArena(async ({ root }) => {
      chmodSync(root, 0o755);
      const sub = join(root, "dir");
      execFileSync("chown", ["-R", `${NOBODY.uid}:${NOBODY.gid}`, sub]);
      chmodSync(join(root, ".."), 0o755);
      const lock = join(sub, ".venue-files-lock");
      const config = { roots: { [ROOT]: { path: root, durability: "none" as const } } };
      const write = { path: "dir/file.txt", content: INSIDE, ifMatch: etag(INSIDE) };
      await withChild({ config, ...NOBODY }, async (child) => {
        writeFileSync(lock, textOf({ boot: "01234567" }));
        expect((await child.invoke("write", write)).code).toBe("ok");
        expect(readdirSync(sub).sort()).toEqual(["file.txt", "inner"]);
      });
      await withChild({ config: { ...config, limits: { timeoutMs: 200 } }, ...NOBODY }, async (child) => {
        writeFileSync(lock, textOf());
        expect((await child.invoke("write", write)).code).toBe("TIMEOUT");
        rmSync(lock);
      });
      expect(readdirSync(root).sort()).toEqual(["dir", "file.txt"]);
    });
  });
});

test("the lock of a killed process delays nobody", async () => {
  await inArena(async ({ root }) => {
    const config = { roots: { [ROOT]: { path: root, durability: "none" as const, io: "pool" as const } } };
    // It takes a while to see that this is what is expected, and the lock is held meanwhile.
    const content = "x".repeat(8_000_000);
    const file = join(root, "file.txt");
    let left = 0;
    for (const end = performance.now() + 2 * PATIENCE_MS; left < 2 && performance.now() < end; ) {
      writeFileSync(file, content);
      const child = await startChild({ config });
      let isOver = false;
      void child.invoke("write", { path: "file.txt", content: "killed", ifMatch: etag(content) }).then(() => {
        isOver = true;
      });
      while (!existsSync(lockIn(root)) && !isOver) await turn();
      await child.kill();
      if (!existsSync(lockIn(root))) continue;
      left++;
      const now = readFileSync(file, "utf8");
      expect(now === content || now === "killed").toBe(true);
      await withFiles(root, (files) =>
        files.invoke("write", { path: "file.txt", content: "after", ifMatch: etag(now) }),
      );
      expect(readFileSync(file, "utf8")).toBe("after");
    }
    expect(left).toBe(2);
  });
});

describe("the holder of a lock", () => {
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
      fakeTime();
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
      fakeTime();
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
      fakeTime();
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
});
