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
  rmSync,
  symlinkSync,
  writeFileSync,
} from "node:fs";
import { join } from "node:path";
import { describe, expect, jest, test } from "@jest/globals";
import { etagOf } from "../../../src/core/etag.js";
import { NO_BOOT_ID, ownIdentity, type ProcessIdentity, printIdentity } from "../../../src/process/identity.js";
import { needs } from "../../needs.js";
import { type Arena, INSIDE, inArena, staged } from "../arena.js";
import { ENGINES, type Files, type FilesOptions, outcomeOf, ROOT, withFiles } from "../files.js";
import { isRoot, NOBODY, startChild, withChild } from "../start-child.js";

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
    for (let round = 0; left < 2 && round < 20; round++) {
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
