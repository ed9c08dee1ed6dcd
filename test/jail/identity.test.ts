import fs from "node:fs";
import { join } from "node:path";
import { afterEach, describe, expect, jest, test } from "@jest/globals";
import { identityOf, isExact } from "../../src/core/identity.js";
import { needs } from "../needs.js";
import { type Arena, inArena } from "./arena.js";
import { ENGINES, openFiles, ROOT } from "./files.js";
import { mounted, mountsPossible, withChild } from "./start-child.js";

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

afterEach(() => {
  jest.restoreAllMocks();
});

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
