import { spawnSync } from "node:child_process";
import { randomBytes } from "node:crypto";
import fs, {
  chmodSync,
  linkSync,
  mkdirSync,
  readFileSync,
  renameSync,
  rmSync,
  truncateSync,
  writeFileSync,
} from "node:fs";
import { dirname, join } from "node:path";
import { afterEach, describe, expect, jest, test } from "@jest/globals";
import { assembleAdapter, type FileAdapter } from "../../../src/adapter/adapter.js";
import { ContentCopy } from "../../../src/backend/host/changes/content-copy.js";
import { findMasks } from "../../../src/backend/host/masks.js";
import { openFile } from "../../../src/backend/host/open.js";
import { scanTree } from "../../../src/backend/host/runs/scan.js";
import type { Change } from "../../../src/backend/host/target.js";
import { parseFileConfig } from "../../../src/config/load.js";
import { CallScope, cancelledBy } from "../../../src/core/call/scope.js";
import { systemClock } from "../../../src/core/clock.js";
import { runIo } from "../../../src/core/io.js";
import type { Access, PlacePolicy } from "../../../src/core/ports/backend.js";
import { deferred } from "../../../src/core/turns.js";
import { CREATE } from "../../../src/jail/handles.js";
import { Jail } from "../../../src/jail/jail.js";
import { type NativeCalls, NativeSource } from "../../../src/jail/native/calls.js";
import { pool } from "../../../src/jail/pool.js";
import { Locks } from "../../../src/jail/staging/locks.js";
import { Sys } from "../../../src/jail/sys.js";
import { MAX_HELD } from "../../../src/jail/walk/descent.js";
import { type Arena, expectClosedSoon, inArena, openDescriptors } from "../../jail/arena.js";
import { ENGINES, withFiles } from "../../jail/files.js";
import { failureOf, useGround } from "../../ops/ground.js";
import { asNobody } from "../../ops/rights.js";

afterEach(() => {
  jest.restoreAllMocks();
});

/** More than two pieces of the kernel's copies, and no multiple of anything. */
const LARGE = 2 * 16_777_216 + 12_345;
const MEDIUM = 3_000_001;

/** A copy of `a` to a new file `b`, with other native calls. @param copy in place of the kernel's */
async function copyWith(arena: Arena, copy: NativeCalls["copy"], signal?: AbortSignal) {
  const native = new NativeSource(0, () => ({
    stat: () => undefined,
    look: () => undefined,
    find: () => undefined,
    rename: () => undefined,
    statOpen: () => undefined,
    open: () => undefined,
    reopen: () => undefined,
    mayWrite: () => undefined,
    link: () => undefined,
    claim: () => undefined,
    isPlain: () => undefined,
    read: () => undefined,
    copy,
  }));
  const jail = new Jail({ path: arena.root, readOnly: false, crossDevice: false, io: "sync" }, new Locks());
  let clones = 0;
  const clone = (from: number, to: number) => {
    clones++;
    return Sys.prototype.clone.call(jail.sys, from, to);
  };
  Object.assign(jail.sys, { native, clone });
  const scope = new CallScope({ clock: systemClock, timeoutMs: 60_000, cancellation: cancelledBy(signal) });
  const access = { scope, place: { root: "r", path: "a" } };
  const change = { jail, access } as unknown as Change;
  const walk = jail.walk({ segments: ["a"], text: "a" } as never, { ...access, followLast: true });
  const to = join(arena.root, "b");
  const fd = await runIo(jail.sys.open(to, CREATE));
  try {
    const found = await runIo(walk.run());
    if (found.state !== "found") throw new Error("there is no file");
    const file = await runIo(openFile(jail, found.object, change.access));
    const content = new ContentCopy(change, { overwrite: false } as never);
    try {
      await runIo(content.copy(file, { fd, path: to, later: 0 }));
    } finally {
      file.close();
    }
    return { bytes: content.bytes, content: readFileSync(to), clones };
  } finally {
    await runIo(jail.sys.close(fd));
    walk.close();
    await jail.close();
  }
}

/** The kernel's own call. */
function kernelCopy(): NativeCalls["copy"] {
  const calls = new NativeSource(0).calls;
  if (calls === undefined) throw new Error("koffi is not usable here");
  return calls.copy;
}

describe("copies in the kernel", () => {
  test.each(ENGINES)("keep every byte of a large file, %s", (engine) =>
    inArena(async ({ root, file }) => {
      file("a", randomBytes(LARGE));
      await withFiles(
        root,
        async (files) => {
          expect(await files.invoke("copy", { path: "a", to: "b" })).toMatchObject({ files: 1, copied: true });
        },
        { engine },
      );
      expect(readFileSync(join(root, "b")).equals(readFileSync(join(root, "a")))).toBe(true);
    }),
  );

  test("take a large file in pieces, and all of it", () =>
    inArena(async (arena) => {
      arena.file("a", randomBytes(LARGE));
      const asked: number[] = [];
      const copy = kernelCopy();
      const done = await copyWith(arena, (from, to, bytes) => {
        asked.push(from.at);
        return copy(from, to, bytes);
      });
      expect(asked.length).toBeGreaterThan(2);
      expect(asked[0]).toBe(0);
      expect(done.bytes).toBe(LARGE);
      expect(done.content.equals(readFileSync(join(arena.root, "a")))).toBe(true);
    }));

  test.each([-1, 0])(
    "leave the rest to reads and writes where the kernel answers %d, also after the first piece",
    (last) =>
      inArena(async (arena) => {
        arena.file("a", randomBytes(MEDIUM));
        const copy = kernelCopy();
        for (const first of [0, 1_000_003]) {
          let calls = 0;
          const done = await copyWith(arena, async (from, to) =>
            calls++ === 0 && first > 0 ? copy(from, to, first) : last,
          );
          expect(done.bytes).toBe(MEDIUM);
          expect(done.content.equals(readFileSync(join(arena.root, "a")))).toBe(true);
          rmSync(join(arena.root, "b"));
        }
      }),
  );

  // To empty the new file, which that does, makes ext4 write all of it to the disk when it is closed.
  test("ask for shared blocks apart only where the kernel copies nothing", () =>
    inArena(async (arena) => {
      arena.file("a", randomBytes(MEDIUM));
      expect((await copyWith(arena, kernelCopy())).clones).toBe(0);
      rmSync(join(arena.root, "b"));
      expect((await copyWith(arena, async () => -1)).clones).toBe(1);
    }));

  test("end where a source ends that has become shorter", () =>
    inArena(async (arena) => {
      arena.file("a", randomBytes(LARGE));
      const copy = kernelCopy();
      const done = await copyWith(arena, (from, to, bytes) => {
        if (from.at > 0) truncateSync(join(arena.root, "a"), from.at);
        return copy(from, to, bytes);
      });
      expect(done.content.equals(readFileSync(join(arena.root, "a")))).toBe(true);
      expect(done.bytes).toBe(done.content.length);
    }));

  test("stop at a cancellation after the piece under way", () =>
    inArena(async (arena) => {
      arena.file("a", randomBytes(LARGE));
      const copy = kernelCopy();
      const cancelling = new AbortController();
      let pieces = 0;
      const copying = copyWith(
        arena,
        (from, to, bytes) => {
          pieces++;
          cancelling.abort();
          return copy(from, to, bytes);
        },
        cancelling.signal,
      );
      await expect(copying).rejects.toMatchObject({ code: "ABORTED" });
      expect(pieces).toBe(1);
    }));
});

// Two changes that make the same directories.
describe("parents that are made", () => {
  // Between two system calls of one change others have their turn.
  const ground = useGround({ root: { io: "pool" } });

  test.each(["write", "copy"] as const)(
    "a %s that fails takes no directory from one that waits for it",
    async (how) => {
      ground.put("source", "1");
      const { link } = Sys.prototype;
      const { hold } = Locks.prototype;
      const [isReached, isWaitedFor, hasFailed] = [deferred(), deferred(), deferred()];
      jest.spyOn(Locks.prototype, "hold").mockImplementation(function* (this: Locks, request) {
        const holding = hold.call(this, request);
        const step = holding.next();
        if (step.done === true) {
          isReached.resolve();
          yield isWaitedFor.promise;
          return step.value;
        }
        isWaitedFor.resolve();
        yield step.value;
        return yield* holding;
      });
      jest.spyOn(Sys.prototype, "link").mockImplementation(function* (this: Sys, from, to) {
        if (to.endsWith("/first")) throw Object.assign(new Error("EIO"), { code: "EIO", syscall: "link" });
        if (to.endsWith("/second")) yield hasFailed.promise;
        return yield* link.call(this, from, to);
      });
      const first =
        how === "write"
          ? ground.fail("write", { path: "a/b/first", content: "1", parents: true })
          : ground.fail("copy", { path: "source", to: "a/b/first", parents: true });
      await isReached.promise;
      const second = ground.run("write", { path: "a/c/second", content: "2", parents: true });
      expect(await first).toMatchObject({ code: "IO_ERROR" });
      hasFailed.resolve();
      expect(await second).toMatchObject({ created: true });
      expect([ground.names("a"), ground.names("a/c")]).toEqual([["c"], ["second"]]);
    },
  );
});

describe("a file that replaces another", () => {
  test("is given owner and mode only where it does not have them already", () =>
    inArena(async ({ root, file }) => {
      file("same", "x");
      file("closed", "x");
      fs.chmodSync(join(root, "same"), 0o644 & ~process.umask());
      // No new file gets this mode: set-id bits are not kept, and the mask of this process takes nothing away from it.
      fs.chmodSync(join(root, "closed"), 0o4600);
      const own = jest.spyOn(fs, "fchownSync");
      const mode = jest.spyOn(fs, "fchmodSync");
      await withFiles(root, async (files) => {
        for (const path of ["same", "closed"]) {
          await files.invoke("write", { path, content: "new" });
          expect([own.mock.calls.length, mode.mock.calls.length]).toEqual([0, 0]);
        }
        const mask = process.umask(0o077);
        try {
          await files.invoke("write", { path: "same", content: "newer" });
        } finally {
          process.umask(mask);
        }
        expect([own.mock.calls.length, mode.mock.calls.length]).toEqual([0, 1]);
      });
      expect(fs.statSync(join(root, "same")).mode & 0o7777).toBe(0o644 & ~process.umask());
      expect(fs.statSync(join(root, "closed")).mode & 0o7777).toBe(0o600);
    }));

  test("leaves a large old one to the thread pool, a few at a time, however quick the writes are", () =>
    inArena(async ({ root, file }) => {
      const content = (index: number): string => `${index}`.padEnd(40_000);
      file("file", content(0));
      const close = pool.close;
      let [all, now, most] = [0, 0, 0];
      jest.spyOn(pool, "close").mockImplementation(async (fd) => {
        all++;
        most = Math.max(most, ++now);
        await close(fd);
        now--;
      });
      const writes = 200;
      await withFiles(root, async (files) => {
        for (let index = 0; index < writes; index++)
          await files.invoke("write", { path: "file", content: content(index) });
      });
      expect(now).toBe(0);
      expect(all).toBeGreaterThan(0);
      expect(most).toBeLessThanOrEqual(32);
      expect(fs.readFileSync(join(root, "file"), "utf8")).toBe(content(writes - 1));
    }));
});

describe("a file whose history is kept", () => {
  const ground = useGround({ journal: true });
  /** Tells apart what has had the same inode number. */
  const fileAt = (path: string): string => {
    const { ino, birthtimeNs } = fs.statSync(join(ground.dir, path), { bigint: true });
    return `${ino} of ${birthtimeNs}`;
  };

  test("leaves nothing to the thread pool where the old one stays by another name", async () => {
    const sizes: number[] = [];
    const close = pool.close;
    const [large, small] = [100_000, 40_000];
    const smallClosed = new Promise<void>((resolve) => {
      jest.spyOn(pool, "close").mockImplementation((fd) => {
        const { size } = fs.fstatSync(fd);
        sizes.push(size);
        if (size === small) resolve();
        return close(fd);
      });
    });
    ground.put("large", "x".repeat(large));
    ground.put("small", "x".repeat(small));
    await ground.run("write", { path: "large", content: "new" });
    await ground.run("write", { path: "small", content: "new" });
    await smallClosed;
    expect(sizes).toEqual([small]);
  });

  test("is a file of its own for each content that stays in the trash", async () => {
    const made = new Set<string>();
    NativeSource.shared.load();
    const contents = ["a", "b", "c", "d", "e"].map((letter) => letter.repeat(65_537));
    for (const content of contents) {
      await ground.run("write", { path: "in the trash", content });
      made.add(fileAt("in the trash"));
    }
    expect(made.size).toBe(contents.length);
    const { entries } = await ground.run("history", { path: "in the trash" });
    const { content } = await ground.run("read", { path: "in the trash", version: `${entries.at(-1)?.id}:after` });
    expect(content).toBe(contents[0]);
  });
});

const LEVELS = 4 * MAX_HELD;
const down = (levels: number): string[] => Array(levels).fill("d");

const accessBy = (policy?: PlacePolicy): Access => ({
  verb: "exec",
  real() {},
  create() {},
  require() {},
  holds: () => true,
  place: { root: "r", path: "" },
  scope: new CallScope({ clock: systemClock, timeoutMs: 60_000 }),
  ...(policy === undefined ? {} : { policy }),
});

async function masksBy(root: string, policy?: PlacePolicy): Promise<string[]> {
  const jail = new Jail({ path: root, readOnly: true, crossDevice: false, io: "sync" }, new Locks());
  try {
    const { masks } = await runIo(findMasks(jail, jail.top, accessBy(policy), { isWritable: true }));
    return masks.map(({ path }) => Buffer.from(path).toString()).sort();
  } finally {
    await jail.close();
  }
}

/** Makes `a`, `d` and `z.key` at each of many levels, and looks for entries named `*.key`. */
async function masksIn(root: string, atName: (below: readonly string[], name: string) => void): Promise<string[]> {
  for (let level = 1; level <= LEVELS; level++) {
    mkdirSync(join(root, ...down(level)));
    writeFileSync(join(root, ...down(level), "z.key"), "SECRET");
    writeFileSync(join(root, ...down(level), "a"), "open");
  }
  const denies = (below: readonly string[], name: string): boolean => {
    atName(below, name);
    return name.endsWith(".key");
  };
  return masksBy(root, { denies, anchors: () => [] });
}

test("what is denied in a deep tree is found with a few handles", () =>
  inArena(async ({ root }) => {
    const before = openDescriptors().length;
    let most = 0;
    const masks = await masksIn(root, () => {
      most = Math.max(most, openDescriptors().length - before);
    });
    const keys = Array.from({ length: LEVELS }, (_, level) => [...down(level + 1), "z.key"].join("/"));
    expect(masks).toEqual(keys.sort());
    // Besides: the root, and a directory just entered.
    expect(most).toBeLessThanOrEqual(MAX_HELD + 2);
    expect(most).toBeGreaterThan(2);
    expect(openDescriptors().length).toBe(before);
  }));

test("a directory to which the search cannot return is hidden as a whole", () =>
  inArena(async ({ root }) => {
    const before = openDescriptors();
    let isMoved = false;
    const masks = await masksIn(root, (below) => {
      if (isMoved || below.length < LEVELS) return;
      isMoved = true;
      renameSync(join(root, ...down(10)), join(root, "elsewhere"));
      renameSync(join(root, ...down(3)), join(root, "other"));
    });
    expect(isMoved).toBe(true);
    expect(masks).toContain(down(3).join("/"));
    expect(masks).toContain("d/z.key");
    await expectClosedSoon(before);
  }));

/** Makes a directory at each of many levels, deeper than one path can name. */
function makeDeep(root: string, levels: number): void {
  const start = process.cwd();
  process.chdir(root);
  for (let level = 0; level < levels; level++) {
    mkdirSync("d");
    process.chdir("d");
  }
  writeFileSync("z.key", "SECRET");
  process.chdir(start);
}

const isKey: PlacePolicy = { denies: (_below, name) => name.endsWith(".key"), anchors: () => [] };

test.each([600, 1400])("a tree of %d levels is not hidden for its depth, and what is denied in it is", (levels) =>
  inArena(async ({ root }) => {
    makeDeep(root, levels);
    expect(await masksBy(root)).toEqual([]);
    expect(await masksBy(root, isKey)).toEqual([[...down(levels), "z.key"].join("/")]);
  }),
);

test("where a path is too long to be mounted over, what may hold something denied is hidden as a whole", () =>
  inArena(async ({ root }) => {
    makeDeep(root, 2000);
    expect(await masksBy(root)).toEqual([]);
    const [hidden = "", ...more] = await masksBy(root, isKey);
    expect(more).toEqual([]);
    expect(hidden.length).toBeGreaterThan(3000);
    expect(hidden.length).toBeLessThanOrEqual(3072);
    // Node goes down by recursion, which such a tree ends.
    spawnSync("rm", ["-rf", join(root, "d")]);
  }));

interface Searches {
  /** Masks found by looking through everything, and those found after a scan. */
  readonly masks: readonly (readonly string[])[];
  /** Directories in which the search after the scan compared names. */
  readonly searched: readonly string[];
  readonly isThorough: boolean;
}

/** Looks for what to mask twice, the second time after a scan. */
async function searchTwice(root: string, atScan = () => {}): Promise<Searches> {
  const jail = new Jail({ path: root, readOnly: true, crossDevice: false, io: "sync" }, new Locks());
  const searched = new Set<string>();
  const denies = (below: readonly string[], name: string): boolean => {
    searched.add(below.join("/"));
    return name.endsWith(".key");
  };
  const protection: PlacePolicy = { denies: (_, name) => name === ".git", anchors: () => [] };
  const access = { ...accessBy({ denies, anchors: () => [] }), protection };
  const find = async (scan?: Awaited<ReturnType<typeof lookAt>>) => {
    const { masks } = await runIo(findMasks(jail, jail.top, access, { isWritable: true, scan }));
    return masks.map(({ path, kind }) => `${kind} ${Buffer.from(path).toString("latin1")}`).sort();
  };
  const lookAt = async () => runIo(scanTree(jail, jail.top, access));
  try {
    const whole = await find();
    const scan = await lookAt();
    atScan();
    searched.clear();
    return { masks: [whole, await find(scan)], searched: [...searched], isThorough: scan.isThorough };
  } finally {
    await jail.close();
  }
}

test("after a scan only directories are searched that hold something to hide or to protect, whatever its name", () =>
  inArena(async ({ root, file }) => {
    for (const path of ["plain/in/a", "a/b/c.key", "a/plain/d", "p/q/.git/config", "s/t/.venue-files/x"]) file(path);
    for (const path of ["u/back\\slash/e.key", "n/m/o.key/f"]) file(path);
    const bytes = Buffer.concat([Buffer.from(`${root}/u/`), Buffer.from([0xff]), Buffer.from("/")]);
    mkdirSync(bytes);
    writeFileSync(Buffer.concat([bytes, Buffer.from("g.key")]), "SECRET");
    const { masks, searched, isThorough } = await searchTwice(root);
    expect(masks[1]).toEqual(masks[0]);
    expect(masks[1]).toEqual(
      expect.arrayContaining([
        "file a/b/c.key",
        "file u/back\\slash/e.key",
        "file u/\xff/g.key",
        "directory n/m/o.key",
      ]),
    );
    expect(masks[1]).toEqual(expect.arrayContaining(["readonly p/q/.git", "directory s/t/.venue-files"]));
    expect(searched).toEqual(expect.arrayContaining(["", "a", "a/b", "p/q", "s/t"]));
    expect(searched.filter((path) => /plain|dir/.test(path))).toEqual([]);
    expect(isThorough).toBe(true);
  }));

test("after a scan everything is searched that it could not look at", () =>
  inArena(async ({ root, file }) => {
    for (const path of ["listed/in/a.key", "shut/b.key", "deep/listed/in/c"]) file(path);
    for (const path of ["listed", "deep/listed"]) chmodSync(join(root, path), 0o444);
    chmodSync(join(root, "shut"), 0);
    const { masks, isThorough } = await asNobody(dirname(root), () => searchTwice(root));
    for (const path of ["listed", "deep/listed", "shut"]) chmodSync(join(root, path), 0o755);
    expect(masks[1]).toEqual(masks[0]);
    expect(masks[1]).toEqual(expect.arrayContaining(["directory deep/listed", "directory listed", "directory shut"]));
    expect(isThorough).toBe(false);
  }));

test("what comes into a directory in which a scan saw something to hide is found after it", () =>
  inArena(async ({ root, file }) => {
    file("a/b.key");
    const { masks } = await searchTwice(root, () => writeFileSync(join(root, "a/c.key"), "SECRET"));
    expect(masks).toEqual([["file a/b.key"], ["file a/b.key", "file a/c.key"]]);
  }));

/** Runs with a root `r` that has a quota; what is in it beforehand is put there by `before`. */
async function withQuota(
  quota: object,
  work: (files: FileAdapter, dir: string) => Promise<void>,
  before: (dir: string) => void = () => {},
): Promise<void> {
  await inArena(async ({ root }) => {
    for (const name of ["file", "dir", "empty"]) rmSync(join(root, name), { recursive: true, force: true });
    const dir = join(root, "own");
    const { mkdirSync } = await import("node:fs");
    mkdirSync(dir);
    before(dir);
    const roots = { r: { path: dir, quota, durability: "none" }, free: { temp: true } } as const;
    const files = await assembleAdapter(parseFileConfig({ roots }, { baseDir: "/" }), { discloseHostPaths: false });
    try {
      await work(files, dir);
    } finally {
      await files.close();
    }
  });
}

const write = (files: FileAdapter, path: string, bytes: number) =>
  files.invoke("file:write", { root: "r", path, content: "x".repeat(bytes), parents: true });
const quotaOf = async (files: FileAdapter) =>
  (await files.invoke("file:roots", {})).roots.find(({ name }) => name === "r")?.quota;

describe("a quota of bytes", () => {
  test("refuses what would exceed it before anything is written, and says how much there is", async () => {
    await withQuota({ bytes: 100 }, async (files) => {
      await write(files, "a", 60);
      expect(await failureOf(write(files, "b/c", 41))).toEqual({
        code: "QUOTA_EXCEEDED",
        message: "Quota of root 'r' exceeded: 60 of 100 bytes used, 41 more requested",
        data: { root: "r", path: "b/c", used: 60, limit: 100, requested: 41, unit: "bytes" },
      });
      await write(files, "b", 40);
      expect(await quotaOf(files)).toEqual({ bytes: 100, usedBytes: 100, usedFiles: 2 });
    });
  });

  test("counts an overwrite by its difference, and what an append adds", async () => {
    await withQuota({ bytes: 100 }, async (files) => {
      await write(files, "a", 100);
      await write(files, "a", 100);
      expect(await failureOf(write(files, "a", 101))).toMatchObject({ data: { requested: 1 } });
      await write(files, "a", 10);
      const append = (path: string, bytes: number) =>
        files.invoke("file:append", { root: "r", path, content: "x".repeat(bytes) });
      await append("a", 80);
      expect(await failureOf(append("a", 11))).toMatchObject({ code: "QUOTA_EXCEEDED", data: { used: 90 } });
      expect(await failureOf(append("new", 11))).toMatchObject({ code: "QUOTA_EXCEEDED" });
      await append("new", 10);
      expect(await quotaOf(files)).toMatchObject({ usedBytes: 100, usedFiles: 2 });
    });
  });

  test("gives back what is deleted, alone, in a directory and by a move over it", async () => {
    await withQuota({ bytes: 100 }, async (files) => {
      for (const path of ["a", "d/b", "d/e/c", "x"]) await write(files, path, 20);
      await files.invoke("file:delete", { root: "r", path: "a" });
      expect(await quotaOf(files)).toMatchObject({ usedBytes: 60, usedFiles: 3 });
      await files.invoke("file:move", { root: "r", path: "x", to: "d/b", overwrite: true });
      expect(await quotaOf(files)).toMatchObject({ usedBytes: 40, usedFiles: 2 });
      await files.invoke("file:delete", { root: "r", path: "d", recursive: true });
      expect(await quotaOf(files)).toMatchObject({ usedBytes: 0, usedFiles: 0 });
      await write(files, "a", 100);
      await files.invoke("file:delete", { root: "r", path: "a" });
      expect(await quotaOf(files)).toMatchObject({ usedBytes: 0 });
    });
  });

  test("holds for copies, of which nothing stays when they would exceed it", async () => {
    await withQuota({ bytes: 100, files: 4 }, async (files) => {
      await write(files, "d/a", 30);
      await write(files, "d/b", 30);
      const copy = (path: string, to: string, more = {}) =>
        files.invoke("file:copy", { root: "r", path, to, recursive: true, ...more });
      expect(await failureOf(copy("d", "e"))).toMatchObject({ code: "QUOTA_EXCEEDED", data: { path: "e" } });
      expect(await quotaOf(files)).toMatchObject({ usedBytes: 60, usedFiles: 2 });
      await copy("d/a", "c");
      await copy("d/b", "c", { overwrite: true });
      expect(await quotaOf(files)).toMatchObject({ usedBytes: 90, usedFiles: 3 });
      expect(await failureOf(copy("d/b", "f"))).toMatchObject({ code: "QUOTA_EXCEEDED" });
      await files.invoke("file:move", { root: "r", path: "d", to: "d", toRoot: "free" });
      expect(await quotaOf(files)).toMatchObject({ usedBytes: 30, usedFiles: 1 });
      await files.invoke("file:move", { root: "free", path: "d", to: "back", toRoot: "r" });
      expect(await quotaOf(files)).toMatchObject({ usedBytes: 90, usedFiles: 3 });
      expect((await files.invoke("file:list", { root: "r" })).entries.map(({ name }) => name)).toEqual(["back", "c"]);
    });
  });

  test("cannot be passed by many at once, nor lose anything by those that fail", async () => {
    await withQuota({ bytes: 1000 }, async (files) => {
      for (let round = 0; round < 5; round++) {
        const calls = Array.from({ length: 40 }, (_, index) => write(files, `f${round}-${index}`, 100));
        const ends = await Promise.allSettled(calls);
        expect(ends.filter(({ status }) => status === "fulfilled")).toHaveLength(10);
        expect(await quotaOf(files)).toMatchObject({ usedBytes: 1000, usedFiles: 10 });
        const { entries } = await files.invoke("file:list", { root: "r" });
        for (const { name } of entries) await files.invoke("file:delete", { root: "r", path: name });
        expect(await quotaOf(files)).toMatchObject({ usedBytes: 0, usedFiles: 0 });
      }
    });
  });

  test("counts what was there, a file with several names once, and changes wait for that", async () => {
    const before = (dir: string) => {
      writeFileSync(join(dir, "a"), "x".repeat(50));
      linkSync(join(dir, "a"), join(dir, "b"));
      for (let index = 0; index < 500; index++) writeFileSync(join(dir, `f${index}`), "");
    };
    await withQuota(
      { bytes: 60 },
      async (files) => {
        expect(await failureOf(write(files, "new", 11))).toMatchObject({ data: { used: 50, requested: 11 } });
        expect(await quotaOf(files)).toEqual({ bytes: 60, usedBytes: 50, usedFiles: 501 });
        await files.invoke("file:delete", { root: "r", path: "a" });
        expect(await quotaOf(files)).toMatchObject({ usedBytes: 50, usedFiles: 501 });
        await files.invoke("file:delete", { root: "r", path: "b" });
        expect(await quotaOf(files)).toMatchObject({ usedBytes: 0, usedFiles: 500 });
      },
      before,
    );
  });

  test("lets go of what is over it already, and of nothing else", async () => {
    await withQuota(
      { bytes: 10 },
      async (files) => {
        expect(await failureOf(write(files, "b", 1))).toMatchObject({ code: "QUOTA_EXCEEDED" });
        await write(files, "a", 20);
        await files.invoke("file:delete", { root: "r", path: "a" });
        await write(files, "b", 10);
      },
      (dir) => writeFileSync(join(dir, "a"), "x".repeat(50)),
    );
  });
});

describe("a quota of files", () => {
  test("counts neither directories nor links", async () => {
    await withQuota({ files: 2 }, async (files) => {
      await files.invoke("file:mkdir", { root: "r", path: "a/b/c", parents: true });
      await write(files, "a/x", 0);
      await write(files, "a/y", 0);
      expect(await failureOf(write(files, "z", 0))).toMatchObject({
        message: "Quota of root 'r' exceeded: 2 of 2 files used, 1 more requested",
        data: { unit: "files" },
      });
      await write(files, "a/x", 5);
      expect(await quotaOf(files)).toEqual({ files: 2, usedBytes: 5, usedFiles: 2 });
    });
  });
});

test("temp roots may hold 1 GiB unless told otherwise, host roots whatever there is room for", async () => {
  const { roots } = parseFileConfig(
    { roots: { t: { temp: true }, u: { temp: true, quota: {} }, h: "/" } },
    { baseDir: "/" },
  );
  expect([roots["t"], roots["u"], roots["h"]].map((root) => (root?.kind === "dlfs" ? root : root?.quota))).toEqual([
    { bytes: 1_073_741_824 },
    {},
    undefined,
  ]);
});
