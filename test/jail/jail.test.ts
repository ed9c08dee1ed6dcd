import { execFileSync, spawnSync } from "node:child_process";
import fs, {
  closeSync,
  existsSync,
  mkdirSync,
  mkdtempSync,
  openSync,
  readdirSync,
  readFileSync,
  readlinkSync,
  rmSync,
  symlinkSync,
  utimesSync,
  writeFileSync,
} from "node:fs";
import { devNull, tmpdir } from "node:os";
import { join } from "node:path";
import { fileURLToPath } from "node:url";
import { afterAll, afterEach, beforeAll, describe, expect, jest, test } from "@jest/globals";
import { HostBackend } from "../../src/backend/host/host.js";
import { filesOf } from "../../src/backend-suite/files.js";
import { CallScope } from "../../src/core/call/scope.js";
import { systemClock } from "../../src/core/clock.js";
import { identityOf, isExact } from "../../src/core/identity.js";
import { type Io, runIo } from "../../src/core/io.js";
import type { EngineName } from "../../src/jail/handles.js";
import { Jail } from "../../src/jail/jail.js";
import { finishWithReserve, joinReserve, leaveReserve, releaseReserved } from "../../src/jail/reserve.js";
import { Locks } from "../../src/jail/staging/locks.js";
import { relPath } from "../../src/path/grammar.js";
import { needs } from "../needs.js";
import { type Arena, expectClosedSoon, INSIDE, inArena, openDescriptors, staged } from "./arena.js";
import { ENGINES, type Files, openFiles, outcomeOf, ROOT } from "./files.js";
import { mounted, mountsPossible, withChild } from "./start-child.js";

afterEach(() => {
  jest.restoreAllMocks();
});
const onLinux = needs(process.platform === "linux", "needs procfs to look at descriptors");

/** Content that comes when it is released, and tells when it has been asked for. */
function lateContent() {
  let give: () => void = () => {};
  let tell: () => void = () => {};
  const given = new Promise<void>((resolve) => {
    give = resolve;
  });
  const asked = new Promise<void>((resolve) => {
    tell = resolve;
  });
  const resolveAsset = async () => {
    tell();
    await given;
    return { content: Buffer.from("late") };
  };
  return { context: { resolveAsset }, asked, release: () => give() };
}

describe.each(ENGINES)("an adapter that is closed, by %s", (engine) => {
  test("refuses all calls", async () => {
    await inArena(async ({ root }) => {
      const files = await openFiles(root, engine);
      expect(await files.invoke("read", { path: "file.txt" })).toMatchObject({ content: INSIDE });
      await files.close();
      for (const operation of ["read", "list", "stat", "mkdir", "delete"]) {
        expect((await outcomeOf(files.invoke(operation, { path: "file.txt" }))).code).toBe("ABORTED");
      }
      await files.close();
    });
  });

  test("lets a call end whose caller already has an answer, and does not act through a reused descriptor number", async () => {
    await inArena(async (arena) => {
      const { root, outside } = arena;
      const before = openDescriptors();
      const files = await openFiles(root, engine);
      const late = lateContent();
      const caller = new AbortController();
      const context = { ...late.context, signal: caller.signal };
      const call = outcomeOf(files.invoke("write", { path: "dir/new", asset: "a" }, context));
      await late.asked;
      caller.abort();
      expect((await call).code).toBe("ABORTED");
      const outsideBefore = arena.outsideNow();
      let closed = false;
      const closing = files.close().then(() => {
        closed = true;
      });
      await new Promise((resolve) => setImmediate(resolve));
      // Whatever number is free now means the outside.
      const taken = Array.from({ length: 20 }, () => openSync(outside, "r"));
      expect(closed).toBe(false);
      late.release();
      await closing;
      for (const fd of taken) closeSync(fd);
      expect(arena.outsideNow()).toEqual(outsideBefore);
      expect(readdirSync(join(root, "dir")).sort()).toEqual(["file.txt", "inner"]);
      expect(staged(root)).toBeUndefined();
      await expectClosedSoon(before);
    });
  });
});

test.each(ENGINES)("the root itself is reported as it is now, by %s", async (engine) => {
  await inArena(async ({ root }) => {
    const files = await openFiles(root, engine);
    await files.invoke("stat", { path: "" });
    utimesSync(root, 1_000_000, 1_234_567);
    const { modified } = await files.invoke("stat", { path: "" });
    await files.close();
    expect(modified).toBe(1_234_567_000);
  });
});

const callScope = () => new CallScope({ clock: systemClock, timeoutMs: 30_000 });

test("a closed jail starts no walks", async () => {
  await inArena(async ({ root }) => {
    const jail = new Jail({ path: root, readOnly: false, crossDevice: false, io: "sync" }, new Locks());
    const options = { place: { root: "r", path: "file.txt" }, scope: callScope(), followLast: true };
    jail.walk(relPath(["file.txt"]), options).close();
    await jail.close();
    expect(() => jail.walk(relPath(["file.txt"]), options)).toThrow("Operation cancelled");
  });
});

test("a jail stays open until its last walk is closed", async () => {
  await inArena(async ({ root }) => {
    const jail = new Jail({ path: root, readOnly: false, crossDevice: false, io: "sync" }, new Locks());
    const walk = jail.walk(relPath([]), { place: { root: "r", path: "" }, scope: callScope(), followLast: true });
    const closing = jail.close();
    await new Promise((resolve) => setImmediate(resolve));
    expect(readdirSync(walk.directory.path).sort()).toEqual(["dir", "file.txt"]);
    walk.close();
    await closing;
    expect(() => readFileSync(join(jail.top.path, "file.txt"))).toThrow();
  });
});

const OVERLAY = mountsPossible(
  "d=$(mktemp -d); mount -t tmpfs tmpfs $d; mkdir $d/a $d/b; mount -t tmpfs a $d/a; mount -t tmpfs b $d/b; mkdir $d/a/l $d/b/u $d/b/w; mount -t overlay o -o xino=on,lowerdir=$d/a/l,upperdir=$d/b/u,workdir=$d/b/w /mnt",
);

/** So much is added to every inode number: no two of them differ as doubles then. */
const FAR = 1n << 63n;
const LONG_AGO_NS = 1_600_000_000_123_456_789n;

/** Moves a number as the system would report it; what is no bigint is rounded. */
const far = (stat: fs.BigIntStats, isExactlyAsked: boolean): fs.Stats | fs.BigIntStats => {
  const moved = Object.assign(Object.create(Object.getPrototypeOf(stat)), stat, { ino: stat.ino + FAR });
  const times = { mtimeNs: LONG_AGO_NS, ctimeNs: LONG_AGO_NS, birthtimeNs: LONG_AGO_NS };
  const ms = { mtimeMs: LONG_AGO_NS / 1_000_000n, ctimeMs: LONG_AGO_NS / 1_000_000n };
  Object.assign(moved, times, ms);
  if (isExactlyAsked) return moved;
  const rounded = Object.create(fs.Stats.prototype);
  for (const [key, value] of Object.entries(moved)) {
    if (typeof value !== "bigint") rounded[key] = value;
    else if (!key.endsWith("Ns")) rounded[key] = Number(value);
  }
  return rounded;
};

/** Lets every stat at once tell inode numbers above 2^53, and the same times for all files. */
function withFarInodes(): void {
  const { fstatSync, lstatSync } = fs;
  jest
    .spyOn(fs, "fstatSync")
    .mockImplementation(((fd: number, options?: fs.StatOptions) =>
      far(fstatSync(fd, { bigint: true }), options?.bigint === true)) as typeof fs.fstatSync);
  jest.spyOn(fs, "lstatSync").mockImplementation(((path: string, options?: fs.StatSyncOptions) => {
    const stat = lstatSync(path, { bigint: true, throwIfNoEntry: false });
    return stat === undefined ? undefined : far(stat, options?.bigint === true);
  }) as typeof fs.lstatSync);
}

function fill(arena: Arena): void {
  for (const [path, content] of [
    ["one", "1"],
    ["two", "2"],
    ["left/a", "a"],
    ["right/b", "bb"],
  ] as const) {
    arena.file(path, content);
  }
  fs.linkSync(join(arena.root, "left/a"), join(arena.root, "left/a2"));
  fs.linkSync(join(arena.root, "right/b"), join(arena.root, "right/b2"));
}

test("a number that a double cannot hold is not exact", () => {
  expect(isExact({ dev: 1, ino: 2 ** 53 - 1 })).toBe(true);
  expect(isExact({ dev: 1, ino: 2 ** 53 })).toBe(false);
  expect(isExact({ dev: 2 ** 53, ino: 1 })).toBe(false);
  const [a, b] = [FAR + 1n, FAR + 2n].map((ino) => identityOf({ dev: 5n, ino }));
  expect(a).not.toBe(b);
  expect(identityOf({ dev: 5, ino: 7 })).toBe(identityOf({ dev: 5n, ino: 7n }));
});

describe.each(ENGINES.filter((engine) => engine !== "handle walk in the thread pool"))(
  "inode numbers above 2^53, %s",
  (engine) => {
    /** Runs `work` on a root whose objects are all the same as doubles. */
    const onFarRoot = (work: (files: Awaited<ReturnType<typeof openFiles>>) => Promise<void>) =>
      inArena(async (arena) => {
        fill(arena);
        withFarInodes();
        const files = await openFiles(arena.root, engine);
        try {
          await work(files);
        } finally {
          await files.close();
        }
      });

    test("a file never gets the etag of another", () =>
      onFarRoot(async (files) => {
        const { etag } = await files.invoke("read", { path: "one" });
        expect(etag).toMatch(/^[a-z2-7]{8}$/);
        expect((await files.invoke("stat", { path: "one" }))["etag"]).toBe(etag);
        expect((await files.invoke("stat", { path: "two" }))["etag"]).not.toBe(etag);
      }));

    test("a copy over another file is not a copy onto itself, and a tree beside a tree is not inside it", () =>
      onFarRoot(async (files) => {
        await files.invoke("copy", { path: "one", to: "two", overwrite: true });
        expect((await files.invoke("read", { path: "two" }))["content"]).toBe("1");
        await files.invoke("copy", { path: "left", to: "right/left", recursive: true });
        expect(await files.invoke("glob", { pattern: "right/left/*" })).toMatchObject({ totalMatches: 2 });
        await expect(files.invoke("copy", { path: "left", to: "left/in", recursive: true })).rejects.toMatchObject({
          code: "INVALID_INPUT",
        });
      }));

    test("files with several names are counted once each", () =>
      onFarRoot(async (files) => {
        // one, two, file.txt and those below dir stand beside them.
        expect(await files.invoke("du", { path: "left" })).toMatchObject({ files: 1, bytes: 1 });
        const { files: all } = await files.invoke("du", {});
        expect(all).toBe(7);
      }));

    test("a conditional write holds its lock file, and an append to a file with other names keeps them", () =>
      onFarRoot(async (files) => {
        const { etag } = await files.invoke("read", { path: "one" });
        await files.invoke("write", { path: "one", content: "new", ifMatch: etag });
        await files.invoke("append", { path: "left/a", content: "+" });
        expect((await files.invoke("read", { path: "one" }))["content"]).toBe("new");
        expect((await files.invoke("read", { path: "left/a" }))["content"]).toBe("a+");
        expect((await files.invoke("read", { path: "left/a2" }))["content"]).toBe("a");
      }));
  },
);

needs(OVERLAY.possible, `overlays with xino${OVERLAY.reason}`)(
  "an overlay with xino: every file is itself, at once and in the thread pool",
  async () => {
    for (const io of ["sync", "pool"] as const) {
      await inArena(async (arena) => {
        fill(arena);
        const layers = join(arena.base, "layers");
        fs.mkdirSync(layers);
        const under = mounted(
          `mount -t tmpfs tmpfs ${layers}`,
          `mkdir ${layers}/a ${layers}/b`,
          `mount -t tmpfs a ${layers}/a`,
          `mount -t tmpfs b ${layers}/b`,
          `mkdir ${layers}/a/lower ${layers}/b/upper ${layers}/b/work`,
          `cp -a ${arena.root}/. ${layers}/a/lower`,
          `mount -t overlay overlay -o xino=on,lowerdir=${layers}/a/lower,upperdir=${layers}/b/upper,workdir=${layers}/b/work ${arena.root}`,
          // The test would say nothing on numbers that fit a double.
          `[ "$(stat -c %i ${arena.root}/one | wc -c)" -gt 18 ]`,
        );
        await withChild({ config: { roots: { [ROOT]: { path: arena.root, io } } }, under }, async (child) => {
          expect((await child.invoke("du", {})).output).toMatchObject({ files: 7 });
          expect((await child.invoke("copy", { path: "one", to: "two", overwrite: true })).code).toBe("ok");
          expect((await child.invoke("read", { path: "two" })).output).toMatchObject({ content: "1" });
          const copied = await child.invoke("copy", { path: "left", to: "right/left", recursive: true });
          expect(copied.code).toBe("ok");
        });
      });
    }
  },
);

const CODES = ["EMFILE", "ENFILE"] as const;

/** Lets a system call fail on every path with one of the names, as where nothing more can be opened. */
function exhaust(code: string, call: "openSync" | "readdirSync", isMeant: (path: string) => boolean): void {
  const real = fs[call] as (path: unknown, ...more: unknown[]) => unknown;
  const spy = jest.spyOn(fs, call) as unknown as { mockImplementation(work: typeof real): void };
  spy.mockImplementation((path, ...more) => {
    if (isMeant(String(path))) throw Object.assign(new Error(code), { code, syscall: "open" });
    return real(path, ...more);
  });
}

/** Runs `work` on a root with directories `a`, `full` and `z`, a file in each of them. */
const onRoot = (work: (files: Files, arena: Arena) => Promise<void>): Promise<void> =>
  inArena(async (arena) => {
    for (const path of ["a/one", "full/two", "z/three"]) arena.file(path, "text");
    const files = await openFiles(arena.root);
    const before = openDescriptors();
    try {
      await work(files, arena);
    } finally {
      jest.restoreAllMocks();
      await expectClosedSoon(before);
      await files.close();
    }
  });

describe.each(CODES)("where the system says %s", (code) => {
  const told = { complete: false, reason: "error", hidden: { unreadable: 1 } };

  test("enumerations say that they are not complete, and how many folders are missing", () =>
    onRoot(async (files) => {
      exhaust(code, "openSync", (path) => path.endsWith("/full"));
      const glob = await files.invoke("glob", { pattern: "{a,full,z}/*" });
      expect(glob).toMatchObject({ paths: ["a/one", "z/three"], countIsComplete: false, ...told });
      expect(glob).not.toHaveProperty("nextCursor");
      expect(glob["hint"]).toBe("Some parts could not be opened. Call again later, or on a deeper path");
      const grep = await files.invoke("grep", { pattern: "^text$" });
      expect(grep).toMatchObject({ totalMatches: 2, countIsComplete: false, ...told });
      expect(await files.invoke("tree", {})).toMatchObject(told);
      expect(await files.invoke("du", {})).toMatchObject(told);
      jest.restoreAllMocks();
      expect(await files.invoke("glob", { pattern: "{a,full,z}/*" })).toMatchObject({
        totalMatches: 3,
        complete: true,
      });
    }));

  test("a folder that was entered and cannot be read counts too", () =>
    onRoot(async (files, { root }) => {
      const { ino } = fs.statSync(join(root, "full"));
      exhaust(code, "readdirSync", (path) => /\/fd\/\d+$/.test(path) && fs.statSync(path).ino === ino);
      for (const operation of ["tree", "du"]) expect(await files.invoke(operation)).toMatchObject(told);
      expect(await files.invoke("glob", { pattern: "**" })).toMatchObject(told);
    }));

  test("a file that cannot be opened is reported", () =>
    onRoot(async (files) => {
      exhaust(code, "openSync", (path) => path.endsWith("/two"));
      expect(await files.invoke("grep", { pattern: "^text$" })).toMatchObject({ totalMatches: 2, ...told });
    }));

  test("operations that cannot report it fail with IO_ERROR", () =>
    onRoot(async (files) => {
      exhaust(code, "readdirSync", (path) => /\/fd\/\d+$/.test(path));
      for (const operation of ["list", "tree", "du"]) {
        await expect(files.invoke(operation)).rejects.toMatchObject({ code: "IO_ERROR" });
      }
      await expect(files.invoke("glob", { pattern: "**" })).rejects.toMatchObject({ code: "IO_ERROR" });
    }));
});

test("descriptors closed by others in the meantime suffice", () =>
  onRoot(async (files) => {
    let failures = 3;
    exhaust("EMFILE", "openSync", (path) => path.endsWith("/full") && failures-- > 0);
    expect(await files.invoke("glob", { pattern: "full/*" })).toMatchObject({ paths: ["full/two"], complete: true });
    expect(failures).toBe(-1);
  }));

describe("a large directory", () => {
  const ENTRIES = 1000;
  const linux = process.platform === "linux";

  let path = "";
  beforeAll(() => {
    path = mkdtempSync(join(tmpdir(), "venue-files-large-"));
    const large = join(path, "large");
    mkdirSync(large);
    for (let index = 0; index < ENTRIES; index++) writeFileSync(join(large, `file ${index}.txt`), "x".repeat(index));
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

  const opened: HostBackend[] = [];
  afterEach(async () => {
    await Promise.all(opened.splice(0).map((one) => one.close()));
  });

  function filesBy(engine: EngineName) {
    const options = { path, readOnly: true, crossDevice: false, io: "sync", engine } as const;
    const backend = new HostBackend(new Jail(options, new Locks()), {
      durable: false,
      hardLinks: false,
      maxCopyBytes: 8_388_608,
    });
    opened.push(backend);
    return filesOf(backend);
  }

  const page = { offset: 0, limit: 10_000 };

  test("a large directory is listed whole", async () => {
    const { total } = await filesBy("real-path check").list("large", page);
    expect(total).toBe(ENTRIES + (linux ? 6 : 4));
  });

  const ENGINES: readonly EngineName[] = linux ? ["handle walk", "openat2"] : [];
  test.each(ENGINES)("a large directory is listed identically by %s", async (engine) => {
    expect(await filesBy(engine).list("large", page)).toEqual(await filesBy("real-path check").list("large", page));
  });
});

const CHILD = fileURLToPath(new URL("reserve-child.mjs", import.meta.url));

type Row = [
  name: string,
  call: string,
  operation: string,
  input: object,
  answer: object,
  check: (arena: Arena) => void,
];

const rows: Row[] = [
  [
    "a write whose content is staged",
    "writeSync",
    "write",
    { path: "a/b/c", content: "content", parents: true },
    { created: true },
    ({ root }) => expect(readFileSync(join(root, "a/b/c"), "utf8")).toBe("content"),
  ],
  [
    "a removal that took a tree out of sight",
    "renameSync",
    "delete",
    { path: "tree", recursive: true },
    { existed: true },
    ({ root }) => expect(existsSync(join(root, "tree"))).toBe(false),
  ],
  [
    "a copy of a file that has its content",
    "writeSync",
    "copy",
    { path: "one", to: "copies/one", parents: true },
    { copied: true },
    ({ root }) => expect(readFileSync(join(root, "copies/one"), "utf8")).toBe("text"),
  ],
  [
    "the removal of a copy that could not be made",
    "mkdirSync",
    "copy",
    { path: "tree", to: "copy", recursive: true },
    { code: "IO_ERROR" },
    ({ root }) => expect(existsSync(join(root, "copy"))).toBe(false),
  ],
  [
    "a move that is made, and is to be flushed",
    "linkSync",
    "move",
    { path: "one", to: "tree/moved" },
    { moved: true },
    ({ root }) => expect(existsSync(join(root, "one"))).toBe(false),
  ],
];

onLinux.each(rows)("out of descriptors, %s comes to its end", (_name, call, operation, input, answer, check) =>
  inArena((arena) => {
    const { root } = arena;
    for (const path of ["one", "tree/a/x", "tree/b/y", "tree/b/z", "tree/c/d/e"]) arena.file(path, "text");
    const argv = [CHILD, root, call, operation, JSON.stringify(input)];
    const { stdout, stderr } = spawnSync("sh", ["-c", `ulimit -n 512; exec "$@"`, "sh", process.execPath, ...argv], {
      encoding: "utf8",
    });
    expect(stderr).toBe("");
    const told = JSON.parse(stdout) as { before: number; after: number; closed: number };
    // Other calls may not use the reserve, succeed once there are descriptors, and the reserve is complete again.
    expect(told).toMatchObject({ answer, found: "EMFILE", others: { code: "IO_ERROR" }, again: { content: "" } });
    expect(told.after).toBe(told.before);
    expect(told.before - told.closed).toBe(8);
    check(arena);
    expect(staged(root) ?? []).toEqual([]);
  }),
);

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
