import { execFileSync, spawn, spawnSync } from "node:child_process";
import { once } from "node:events";
import fs, {
  chmodSync,
  chownSync,
  existsSync,
  lstatSync,
  mkdirSync,
  readdirSync,
  readFileSync,
  rmSync,
  statSync,
  symlinkSync,
  writeFileSync,
} from "node:fs";
import { join } from "node:path";
import { afterEach, describe, expect, jest, test } from "@jest/globals";
import { isPending, runIo } from "../../../src/core/io.js";
import { ProcHandles, release } from "../../../src/jail/handles.js";
import { purge } from "../../../src/jail/staging/purge.js";
import { Sys } from "../../../src/jail/sys.js";
import { MAX_HELD } from "../../../src/jail/walk/descent.js";
import { ownIdentity, type ProcessIdentity } from "../../../src/process/identity.js";
import { needs } from "../../needs.js";
import { type Arena, expectClosedSoon, INSIDE, inArena, openDescriptors, staged } from "../arena.js";
import { ENGINES, type Files, openFiles, outcomeOf, ROOT, withFiles } from "../files.js";
import { isRoot, NOBODY, withChild } from "../start-child.js";
import { killWhileWriting } from "./killing.js";

afterEach(() => {
  jest.restoreAllMocks();
});

const asRoot = needs(isRoot, "only root can hand a process other rights");
const STAGING = ".venue-files";

let serial = 0;

/** A name as a process of that identity would give it to something it prepares. */
function nameOf(change: Partial<ProcessIdentity> = {}): string {
  const { boot, namespace, pid, start } = { ...ownIdentity(), ...change };
  return `${boot}-${namespace}-${pid}-${start}-${(++serial).toString(16).padStart(16, "0")}`;
}

const deadPid = (): number => spawnSync("true").pid;

/** One of each that changes something in the root. */
async function changeEverything(files: Files): Promise<void> {
  await files.invoke("write", { path: "new", content: "new" });
  await files.invoke("write", { path: "file.txt", content: "replaced" });
  await files.invoke("write", { path: "dir/inner/new", content: "new" });
  await files.invoke("append", { path: "file.txt", content: "+" });
  await files.invoke("delete", { path: "dir/inner", recursive: true });
}

function expectChanged({ root }: Arena): void {
  expect(readFileSync(join(root, "new"), "utf8")).toBe("new");
  expect(readFileSync(join(root, "file.txt"), "utf8")).toBe("replaced+");
  expect(existsSync(join(root, "dir/inner"))).toBe(false);
  expect(readdirSync(join(root, "dir"))).toEqual(["file.txt"]);
}

describe.each(ENGINES)("the staging directory, by %s", (engine) => {
  test("is private, holds what is being written, and is never shown", async () => {
    await inArena(async ({ root }) => {
      await withFiles(
        root,
        async (files) => {
          async function* content(): AsyncGenerator<Uint8Array> {
            yield Buffer.from("half");
            expect(statSync(join(root, STAGING)).mode & 0o777).toBe(0o700);
            expect(staged(root)).toEqual([expect.stringMatching(/^[0-9a-f]{8}-\d+-\d+-\d+-[0-9a-f]{16}$/)]);
            const { output } = await outcomeOf(files.invoke("list"));
            expect(output).toMatchObject({ total: 2, entries: [{ name: "dir" }, { name: "file.txt" }] });
            expect((await files.invoke("tree"))["tree"]).not.toContain("venue-files");
            expect(readFileSync(join(root, "file.txt"), "utf8")).toBe(INSIDE);
          }
          const resolveAsset = async () => ({ content: content() });
          await files.invoke("write", { path: "file.txt", asset: "a" }, { resolveAsset });
          expect(staged(root)).toEqual([]);
        },
        { engine },
      );
      expect(readFileSync(join(root, "file.txt"), "utf8")).toBe("half");
      expect(staged(root)).toBeUndefined();
    });
  });

  test("is empty after a failed write, and what dead processes left goes with it", async () => {
    await inArena(async ({ root }) => {
      await withFiles(
        root,
        async (files) => {
          await files.invoke("write", { path: "new", content: "x" });
          writeFileSync(join(root, STAGING, nameOf({ pid: deadPid() })), "left");
          const call = files.invoke("write", { path: "file.txt", asset: "a" }, { resolveAsset: async () => failing() });
          expect((await outcomeOf(call)).code).toBe("INTERNAL");
          expect(readFileSync(join(root, "file.txt"), "utf8")).toBe(INSIDE);
        },
        { engine },
      );
      // Gone with the last thing in it.
      expect(staged(root)).toBeUndefined();
    });
  });

  test("is left standing on close when something is in it", async () => {
    await inArena(async ({ root }) => {
      const other = nameOf({ namespace: 1 });
      await withFiles(
        root,
        async (files) => {
          await files.invoke("write", { path: "new", content: "x" });
          writeFileSync(join(root, STAGING, other), "of another container");
        },
        { engine },
      );
      expect(staged(root)).toEqual([other]);
    });
  });

  test("is neither made nor swept in a read-only root", async () => {
    await inArena(async ({ root }) => {
      mkdirSync(join(root, STAGING), { mode: 0o700 });
      const left = nameOf({ pid: deadPid() });
      writeFileSync(join(root, STAGING, left), "left");
      await withFiles(root, (files) => files.invoke("list"), { engine, readOnly: true });
      expect(staged(root)).toEqual([left]);
      rmSync(join(root, STAGING), { recursive: true });
      await withFiles(root, (files) => outcomeOf(files.invoke("write", { path: "x", content: "x" })), {
        engine,
        readOnly: true,
      });
      expect(staged(root)).toBeUndefined();
    });
  });

  const impostors: readonly (readonly [string, (arena: Arena, path: string) => void])[] = [
    ["a link to a directory outside", ({ outside }, path) => symlinkSync(join(outside, "vault"), path)],
    ["a link to a directory inside", (_arena, path) => symlinkSync("dir", path)],
    ["a link to nothing", ({ outside }, path) => symlinkSync(join(outside, "missing"), path)],
    ["a file", (_arena, path) => writeFileSync(path, "x")],
    ["a FIFO", (_arena, path) => execFileSync("mkfifo", [path])],
  ];
  test.each(impostors)("is done without when %s has its place", async (_what, plant) => {
    await inArena(async (arena) => {
      const path = join(arena.root, STAGING);
      plant(arena, path);
      const outside = arena.outsideNow();
      const before = lstatSync(path);
      await withFiles(arena.root, changeEverything, { engine });
      expectChanged(arena);
      expect(arena.outsideNow()).toEqual(outside);
      expect(lstatSync(path).ino).toBe(before.ino);
    });
  });

  asRoot("is done without when a directory of somebody else has its place", async () => {
    await inArena(async (arena) => {
      const path = join(arena.root, STAGING);
      mkdirSync(path);
      chownSync(path, NOBODY.uid, NOBODY.gid);
      writeFileSync(join(path, nameOf({ pid: deadPid() })), "not ours to remove");
      await withFiles(arena.root, changeEverything, { engine });
      expectChanged(arena);
      expect(readdirSync(path)).toHaveLength(1);
    });
  });
});

describe("a start", () => {
  const startTimeOfParent = (): number =>
    Number(readFileSync(`/proc/${process.ppid}/stat`, "utf8").split(") ")[1]?.split(" ")[19]);

  const names: readonly (readonly [what: string, stays: boolean, name: () => string])[] = [
    ["an earlier boot", false, () => nameOf({ boot: "0123abcd" })],
    ["a process that is dead", false, () => nameOf({ pid: deadPid() })],
    ["a process whose number has been given to another", false, () => nameOf({ start: 1 })],
    ["a living process", true, () => nameOf({ pid: process.ppid, start: startTimeOfParent() })],
    ["a process whose start is not known, if its number lives", true, () => nameOf({ pid: process.ppid, start: 0 })],
    ["this process", true, () => nameOf()],
    ["another pid namespace", true, () => nameOf({ namespace: 1, pid: deadPid() })],
    ["a system without boot ids", true, () => nameOf({ boot: "00000000", pid: deadPid() })],
    ["nobody we know", true, () => "something else"],
    ["nobody we know, nearly like ours", true, () => `${nameOf({ pid: deadPid() })}0`],
  ];

  test.each(names)("treats what was left by %s rightly", async (_what, stays, make) => {
    await inArena(async ({ root }) => {
      mkdirSync(join(root, STAGING), { mode: 0o700 });
      const file = make();
      const directory = make();
      if (file !== directory) mkdirSync(join(root, STAGING, directory, "deep/deeper"), { recursive: true });
      if (file !== directory) writeFileSync(join(root, STAGING, directory, "deep/deeper/file"), "x");
      writeFileSync(join(root, STAGING, file), "x");
      await withFiles(root, () => Promise.resolve());
      expect(staged(root)).toEqual(stays ? [...new Set([file, directory])].sort() : undefined);
    });
  });

  test("removes a link left in the staging directory, not what it leads to", async () => {
    await inArena(async (arena) => {
      mkdirSync(join(arena.root, STAGING), { mode: 0o700 });
      const left = join(arena.root, STAGING, nameOf({ pid: deadPid() }));
      mkdirSync(left);
      symlinkSync(arena.outside, join(left, "link"));
      symlinkSync(join(arena.outside, "vault"), join(arena.root, STAGING, nameOf({ pid: deadPid() })));
      const before = arena.outsideNow();
      await withFiles(arena.root, () => Promise.resolve());
      expect(staged(arena.root)).toBeUndefined();
      expect(arena.outsideNow()).toEqual(before);
    });
  });

  asRoot("is not kept from serving by a staging directory that cannot be read", async () => {
    await inArena(async (arena) => {
      openTo(arena);
      const path = join(arena.root, STAGING);
      mkdirSync(path, { mode: 0o000 });
      chownSync(path, NOBODY.uid, NOBODY.gid);
      await withChild({ config: { roots: { [ROOT]: arena.root } }, ...NOBODY }, async (child) => {
        expect((await child.invoke("write", { path: "new", content: "new" })).code).toBe("ok");
      });
      expect(readFileSync(join(arena.root, "new"), "utf8")).toBe("new");
      expect(readdirSync(arena.root).sort()).toEqual(["dir", "file.txt", "new"]);
    });
  });
});

describe("where the top of the root may not be written", () => {
  asRoot("everything is prepared beside its target, and nothing stays there", async () => {
    await inArena(async (arena) => {
      openTo(arena);
      chownSync(arena.root, 0, 0);
      await withChild({ config: { roots: { [ROOT]: arena.root } }, ...NOBODY }, async (child) => {
        expect((await child.invoke("write", { path: "dir/new", content: "new" })).code).toBe("ok");
        expect((await child.invoke("write", { path: "dir/file.txt", content: "replaced" })).code).toBe("ok");
        expect((await child.invoke("write", { path: "dir/a/b/c", content: "x", parents: true })).code).toBe("ok");
        expect((await child.invoke("delete", { path: "dir/inner", recursive: true })).code).toBe("ok");
        expect((await child.invoke("write", { path: "new", content: "new" })).code).toBe("PERMISSION_DENIED");
      });
      expect(readdirSync(join(arena.root, "dir")).sort()).toEqual(["a", "file.txt", "new"]);
      expect(staged(arena.root)).toBeUndefined();
    });
  });

  asRoot("a file that is replaced is as private while it is prepared as it was", async () => {
    await inArena(async (arena) => {
      openTo(arena);
      chownSync(arena.root, 0, 0);
      chmodSync(join(arena.root, "dir/file.txt"), 0o600);
      let seen: string[] = [];
      const watching = watchModes(join(arena.root, "dir"), (modes) => {
        seen = modes;
      });
      await withChild({ config: { roots: { [ROOT]: arena.root } }, ...NOBODY }, async (child) => {
        await watching.ready;
        for (let n = 0; n < 30; n++) {
          await child.invoke("write", { path: "dir/file.txt", content: "x".repeat(1_000_000) });
        }
      });
      await watching.stop();
      expect(seen).toEqual(["600"]);
    });
  });
});

describe("what is prepared beside a target", () => {
  const beside = (change: Partial<ProcessIdentity> = {}): string => `.venue-files-${nameOf(change)}`;

  test("is not shown", async () => {
    await inArena(async ({ root }) => {
      writeFileSync(join(root, "dir", beside()), "x");
      writeFileSync(join(root, "dir", ".venue-files-whatever"), "x");
      await withFiles(root, async (files) => {
        const listing = await files.invoke("list", { path: "dir" });
        expect(listing).toMatchObject({ total: 2, entries: [{ name: "file.txt" }, { name: "inner" }] });
        expect((await files.invoke("tree"))["tree"]).not.toContain("venue-files");
      });
    });
  });

  test("of a dead process does not keep an empty directory from being deleted", async () => {
    await inArena(async ({ root }) => {
      mkdirSync(join(root, "empty"));
      writeFileSync(join(root, "empty", beside({ pid: deadPid() })), "x");
      mkdirSync(join(root, "empty", beside({ pid: deadPid() }), "deep"), { recursive: true });
      await withFiles(root, (files) => files.invoke("delete", { path: "empty" }));
      expect(existsSync(join(root, "empty"))).toBe(false);
    });
  });

  test("of a living process keeps its directory", async () => {
    await inArena(async ({ root }) => {
      mkdirSync(join(root, "empty"));
      writeFileSync(join(root, "empty", beside()), "x");
      await withFiles(root, async (files) => {
        expect((await outcomeOf(files.invoke("delete", { path: "empty" }))).code).toBe("NOT_EMPTY");
        expect((await outcomeOf(files.invoke("delete", { path: "empty", recursive: true }))).code).toBe("ok");
      });
    });
  });
});

test.each(ENGINES)(
  "a staging directory that is replaced between two changes gets nothing outside written to, by %s",
  (engine) =>
    inArena(async ({ root, outside, outsideNow }) => {
      const before = outsideNow();
      const place = join(root, STAGING);
      await withFiles(
        root,
        async (files) => {
          await files.invoke("write", { path: "file.txt", content: "one" });
          rmSync(place, { recursive: true });
          symlinkSync(outside, place);
          await files.invoke("write", { path: "file.txt", content: "two" });
          await files.invoke("edit", { path: "file.txt", oldText: "two", newText: "three" });
          expect(readFileSync(join(root, "file.txt"), "utf8")).toBe("three");
          rmSync(place);
          writeFileSync(place, "no directory");
          await files.invoke("write", { path: "file.txt", content: "four" });
          await files.invoke("edit", { path: "file.txt", oldText: "four", newText: "five" });
          expect(readFileSync(join(root, "file.txt"), "utf8")).toBe("five");
          rmSync(place);
        },
        { engine },
      );
      expect(outsideNow()).toEqual(before);
      expect(readdirSync(root).toSorted()).toEqual(["dir", "file.txt"]);
    }),
);

test("a staging directory that another process removes at any moment costs no call its success", async () => {
  await inArena(async ({ root }) => {
    const remover = spawn(process.execPath, [
      "-e",
      `const { rmdirSync } = require("node:fs"); console.log("ready");
       for (;;) try { rmdirSync(${JSON.stringify(join(root, STAGING))}) } catch { if (process.ppid !== ${process.pid}) process.exit() }`,
    ]);
    const ended = once(remover, "close");
    await once(remover.stdout, "data");
    try {
      await withFiles(root, async (files) => {
        for (let n = 0; n < 300; n++) {
          mkdirSync(join(root, "tree/deep"), { recursive: true });
          expect(await files.invoke("delete", { path: "tree", recursive: true })).toEqual({
            deleted: true,
            existed: true,
          });
          expect(existsSync(join(root, "tree"))).toBe(false);
          await files.invoke("write", { path: "file.txt", content: String(n) });
          expect(readFileSync(join(root, "file.txt"), "utf8")).toBe(String(n));
        }
      });
    } finally {
      remover.kill("SIGKILL");
      await ended;
    }
  });
});

function failing(): { content: AsyncIterable<Uint8Array> } {
  return {
    content: (async function* () {
      yield Buffer.from("half");
      throw new Error("the connection broke");
    })(),
  };
}

/** Makes the root, its directories and files the property of nobody. */
function openTo({ base, root }: Arena): void {
  chmodSync(base, 0o755);
  for (const path of ["", "dir", "dir/inner", "dir/file.txt", "file.txt"]) {
    chownSync(join(root, path), NOBODY.uid, NOBODY.gid);
  }
}

/** Looks at what is prepared in a directory, without pause and from another process. */
function watchModes(
  directory: string,
  report: (modes: string[]) => void,
): { ready: Promise<unknown>; stop(): Promise<void> } {
  const watcher = spawn(process.execPath, [
    "-e",
    `const fs = require("node:fs"); const modes = new Set(); let stopped = false;
     process.stdin.on("end", () => { stopped = true; }).resume(); console.log("ready");
     (function look() {
       for (let n = 0; n < 50; n++) for (const name of fs.readdirSync(${JSON.stringify(directory)})) try {
         if (name.startsWith(".venue-files-"))
           modes.add((fs.lstatSync(${JSON.stringify(directory)} + "/" + name).mode & 0o777).toString(8));
       } catch {}
       if (stopped) console.log(JSON.stringify([...modes])); else setImmediate(look);
     })();`,
  ]);
  // Not «exit»: only then all that it has written is here.
  const ended = once(watcher, "close");
  let text = "";
  watcher.stdout.on("data", (data: Buffer) => {
    text += data.toString();
  });
  return {
    ready: once(watcher.stdout, "data"),
    async stop() {
      watcher.stdin.end();
      await ended;
      report(JSON.parse(text.trim().split("\n").at(-1) ?? "[]") as string[]);
    },
  };
}

test("a process that is killed while it writes leaves every file whole, and nothing else", async () => {
  await killWhileWriting({ rounds: 6, maxDelayMs: 150 });
  expect.hasAssertions();
});

/** Deletes a directory that the system will not let go of for so many attempts. @returns how often it was asked */
async function deleteBusy(files: Files, attempts: number): Promise<() => number> {
  const { rmdirSync } = fs;
  let asked = 0;
  jest.spyOn(fs, "rmdirSync").mockImplementation((path) => {
    if (String(path).includes("/fd/") && ++asked <= attempts) {
      throw Object.assign(new Error("EBUSY"), { code: "EBUSY", syscall: "rmdir" });
    }
    rmdirSync(path);
  });
  expect(await files.invoke("delete", { path: "dir", recursive: true })).toMatchObject({ deleted: true });
  return () => asked;
}

const gone = async (root: string): Promise<void> => {
  while ((staged(root) ?? []).length > 0) await new Promise((resolve) => setTimeout(resolve, 20));
};

test("entries that could not be purged from staging are purged later, while the root is open", () =>
  inArena(async ({ root }) => {
    const files = await openFiles(root);
    const before = openDescriptors();
    const asked = await deleteBusy(files, 10);
    expect(staged(root)?.length).toBeGreaterThan(0);
    expect(fs.existsSync(join(root, "dir"))).toBe(false);
    await gone(root);
    expect(asked()).toBeGreaterThan(10);
    await expectClosedSoon(before);
    await files.close();
    expect(staged(root)).toBeUndefined();
  }));

test("closing a root does not wait for the next attempt", () =>
  inArena(async ({ root }) => {
    const files = await openFiles(root);
    await deleteBusy(files, 6);
    expect(staged(root)?.length).toBeGreaterThan(0);
    await files.close();
    expect(staged(root)).toBeUndefined();
  }));

const LEVELS = 300;

test("a deep tree whose directories cannot be moved up is emptied in place with a few handles", () =>
  inArena(async ({ root }) => {
    const levels = Array.from({ length: LEVELS }, (_, level) => join(root, ...Array(level + 1).fill("d")));
    for (const level of levels) {
      mkdirSync(join(level, "side"), { recursive: true });
      writeFileSync(join(level, "side", "file"), "x");
    }
    const sys = new Sys(false);
    // As overlayfs answers for a directory of a lower layer.
    const rename = jest.spyOn(sys, "rename").mockImplementation(() => {
      throw Object.assign(new Error("EXDEV"), { code: "EXDEV", syscall: "rename" });
    });
    const handles = new ProcHandles(sys);
    const directory = handles.openRoot(root);
    const before = openDescriptors().length;
    let most = before;
    const progress = (): void => {
      most = Math.max(most, openDescriptors().length);
    };
    try {
      const place = { directory, freeName: () => "free" };
      expect(await runIo(purge({ handles, sys, progress }, place, "d"))).toEqual([]);
      expect(openDescriptors().length).toBe(before);
    } finally {
      release(directory);
    }
    expect(rename).toHaveBeenCalled();
    expect(existsSync(join(root, "d"))).toBe(false);
    // Besides: the directory that is purged, and one just entered.
    expect(most - before).toBeLessThanOrEqual(MAX_HELD + 2);
    expect(most - before).toBeGreaterThan(0);
  }));

test("the file system may take its time to free a file: other calls are served meanwhile", () =>
  inArena(async ({ root, outside }) => {
    const stage = join(root, "stage");
    mkdirSync(stage);
    writeFileSync(join(stage, "file"), "x");
    symlinkSync(outside, join(stage, "link"));
    const outsideBefore = readdirSync(outside);
    const sys = new Sys(false);
    const handles = new ProcHandles(sys);
    const directory = handles.openRoot(stage);
    try {
      for (const name of ["file", "link", "missing"]) {
        const work = runIo(purge({ handles, sys }, { directory, freeName: () => "free" }, name));
        expect(isPending(work)).toBe(true);
        expect(await work).toEqual([]);
      }
    } finally {
      release(directory);
    }
    expect(readdirSync(stage)).toEqual([]);
    expect(readdirSync(outside)).toEqual(outsideBefore);
  }));
