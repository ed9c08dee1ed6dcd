import { spawn } from "node:child_process";
import { once } from "node:events";
import fs from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { setTimeout as sleep } from "node:timers/promises";
import { afterEach, expect, jest, test } from "@jest/globals";
import { loadCalls, type NativeCalls } from "../../../src/jail/native/calls.js";
import { nativeLibrary } from "../../../src/jail/native/library.js";
import { pool } from "../../../src/jail/pool.js";
import { diskDirectory } from "../../disk.js";
import { describeWhere } from "../../needs.js";
import { stagedIn } from "../../staged.js";
import { inArena, staged } from "../arena.js";
import { codeOf, type Files, type FilesOptions, openFiles, withFiles } from "../files.js";
import { takesSpares, WITHOUT_SPARES } from "../spares.js";

const SPARE_TIME_MS = 1000;
/** Two files with one inode number that are made further apart than this have different times of birth. */
const TICK_MS = 20;
/** `fsetxattr`, by processor. */
const SYS_FSETXATTR: Readonly<Record<string, number>> = { x64: 190, arm64: 7 };
const calls = loadCalls() as NativeCalls;

const fileOf = ({ ino, birthtimeNs }: fs.BigIntStats): string => `${ino} of ${birthtimeNs}`;

/** A file that is replaced again and again. */
interface Ground {
  readonly files: Files;
  readonly root: string;
  readonly path: string;
  /** Replaces it. @returns which file it is then: inode numbers of removed files come back */
  replace(content: string): Promise<string>;
}

/** The file has been made and replaced once, so that the next replacement is kept. */
async function onFile(work: (ground: Ground) => Promise<void>, options: FilesOptions = {}): Promise<void> {
  await inArena(async ({ root }) => {
    const path = join(root, "again");
    const ground = async (files: Files): Promise<void> => {
      const replace = async (content: string): Promise<string> => {
        await files.invoke("write", { path: "again", content });
        expect(fs.readFileSync(path, "utf8")).toBe(content);
        return fileOf(fs.statSync(path, { bigint: true }));
      };
      await replace("made");
      await work({ files, root, path, replace });
    };
    await withFiles(root, ground, { engine: "openat2", ...options });
    expect(staged(root)).toBeUndefined();
  });
}

const spares = (root: string): string[] => (stagedIn(root) ?? []).map((name) => join(root, ".venue-files", name));

afterEach(() => {
  jest.restoreAllMocks();
});

const suite = describeWhere(takesSpares, WITHOUT_SPARES);

suite("a file that is replaced again and again", () => {
  test("is two files in turn, and leaves nothing behind", () =>
    onFile(async ({ root, replace }) => {
      const inodes: string[] = [];
      for (const content of ["one", "two, longer", "three", "4", "five again"]) inodes.push(await replace(content));
      const [one, two] = inodes;
      expect(inodes).toEqual([one, two, one, two, one]);
      expect(spares(root)).toHaveLength(1);
      expect(fs.statSync(spares(root)[0] as string).mode & 0o777).toBe(0o666 & ~process.umask());
    }));

  test("keeps nothing once it has not been replaced for a second", () =>
    onFile(async ({ root, replace }) => {
      await replace("one");
      await replace("two");
      expect(spares(root)).toHaveLength(1);
      const until = Date.now() + 10 * SPARE_TIME_MS;
      while (spares(root).length > 0 && Date.now() < until) await sleep(SPARE_TIME_MS / 10);
      expect(spares(root)).toEqual([]);
    }));

  test("has a new time of change with each content", () =>
    onFile(async ({ path, replace }) => {
      const past = new Date("2001-02-03T04:05:06Z");
      for (const content of ["one", "two", "", "four", "five", ""]) {
        fs.utimesSync(path, past, past);
        await replace(content);
        expect(fs.statSync(path).mtimeMs).toBeGreaterThan(past.getTime());
      }
    }));

  test("goes on where an edit or a condition that does not hold comes between", () =>
    onFile(async ({ files, root, path, replace }) => {
      for (const content of ["one", "two", "three"]) await replace(content);
      expect(await codeOf(files.invoke("write", { path: "again", content: "x", ifMatch: "0".repeat(64) }))).not.toBe(
        "ok",
      );
      expect(fs.readFileSync(path, "utf8")).toBe("three");
      expect(spares(root).length).toBeLessThanOrEqual(1);
      await files.invoke("edit", { path: "again", oldText: "three", newText: "four" });
      await files.invoke("edit", { path: "again", oldText: "four", newText: "five" });
      expect(fs.readFileSync(path, "utf8")).toBe("five");
    }));
});

suite("a file that several replace by turns", () => {
  // On a disk inode numbers come back, so that a file of one may look like an earlier one of the other.
  test.each(["memory", "a disk"])("is whole, and nothing is left of it, in %s", async (where) => {
    const root = fs.mkdtempSync(join(where === "a disk" ? diskDirectory() : tmpdir(), "venue-files-test-"));
    try {
      const venues = await Promise.all([1, 2, 3].map(() => openFiles(root, "openat2")));
      for (let turn = 0; turn < 600; turn++) {
        const path = `file-${Math.floor(Math.random() * 3)}`;
        const content = `${turn}`.padEnd(Math.floor(Math.random() * 3000));
        await venues[Math.floor(Math.random() * 3)]?.invoke("write", { path, content });
        expect(fs.readFileSync(join(root, path), "utf8")).toBe(content);
      }
      for (const venue of venues) await venue.close();
      expect(fs.readdirSync(root).filter((name) => !name.startsWith("file-"))).toEqual([]);
    } finally {
      fs.rmSync(root, { recursive: true });
    }
  });
});

suite("what others have of a replaced file", () => {
  test.each([
    ["open for reading", "r"],
    ["open for changes", "r+"],
  ])("stays as it was while it is %s", (_, flags) =>
    onFile(async ({ path, replace }) => {
      await replace("one");
      const fd = fs.openSync(path, flags);
      try {
        const seen = fileOf(fs.fstatSync(fd, { bigint: true }));
        for (const content of ["two", "three", "four", "five"]) expect(await replace(content)).not.toBe(seen);
        expect(fs.readFileSync(fd, "utf8")).toBe("one");
      } finally {
        fs.closeSync(fd);
      }
    }),
  );

  test("stays as it was under another name", () =>
    onFile(async ({ root, path, replace }) => {
      await replace("one");
      fs.linkSync(path, join(root, "named before"));
      await replace("two");
      fs.linkSync(spares(root)[0] as string, join(root, "named after"));
      for (const content of ["three", "four"]) await replace(content);
      for (const name of ["named before", "named after"]) {
        expect(fs.readFileSync(join(root, name), "utf8")).toBe("one");
      }
    }));

  test("is not taken with other rights than the file has by then", () =>
    onFile(async ({ path, replace }) => {
      const one = await replace("one");
      const two = await replace("two");
      fs.chmodSync(path, 0o600);
      await sleep(TICK_MS);
      expect([one, two]).not.toContain(await replace("three"));
      expect(fs.statSync(path).mode & 0o777).toBe(0o600);
    }));

  test("is not taken with attributes, which may be an access list", () =>
    onFile(async ({ path, replace }) => {
      const one = await replace("one");
      const fd = fs.openSync(path, "r+");
      const set = nativeLibrary()?.declare<[number, number, string, string, number, number]>(
        "int, const char *, const char *, size_t, int",
      );
      expect(set?.(SYS_FSETXATTR[process.arch] as number, fd, "trusted.x", "y", 1, 0)).toBe(0);
      fs.closeSync(fd);
      await replace("two");
      await sleep(TICK_MS);
      expect(await replace("three")).not.toBe(one);
    }));

  test("is not taken while a call is under way that may have found it", () =>
    onFile(async ({ files, replace }) => {
      const one = await replace("one");
      const write = pool.write;
      let goOn = (): void => {};
      jest.spyOn(pool, "write").mockImplementationOnce(async (...parameters) => {
        await new Promise<void>((resolve) => {
          goOn = resolve;
        });
        return write(...parameters);
      });
      const other = files.invoke("write", { path: "other", content: "x".repeat(500_000) });
      await sleep(1);
      const meanwhile = [await replace("two"), await replace("three"), await replace("four")];
      expect(meanwhile).not.toContain(one);
      goOn();
      await other;
      // By now no call can have found the first one.
      expect(await replace("five")).toBe(one);
    }));

  test("is not taken when its name leads to something else", () =>
    onFile(async ({ root, replace }) => {
      await replace("one");
      await replace("two");
      const outside = join(root, "..", "outside", "canary.txt");
      const before = fs.readFileSync(outside, "utf8");
      const [spare] = spares(root) as [string];
      fs.unlinkSync(spare);
      fs.symlinkSync(outside, spare);
      await replace("three");
      await replace("four");
      await replace("five");
      const [next] = spares(root) as [string];
      fs.unlinkSync(next);
      fs.linkSync(outside, next);
      await replace("six");
      expect(fs.readFileSync(outside, "utf8")).toBe(before);
    }));
});

suite("a root whose replaced files are flushed", () => {
  test("takes a new file for each content", () =>
    onFile(
      async ({ root, replace }) => {
        await replace("one");
        await replace("two");
        expect(fs.existsSync(join(root, ".venue-files")) ? spares(root) : []).toEqual([]);
      },
      { durability: "flush" },
    ));
});

suite("a claimed file", () => {
  const withClaimed = (work: (path: string, fd: number) => Promise<void>): Promise<void> =>
    inArena(async ({ root }) => {
      const path = join(root, "claimed");
      fs.writeFileSync(path, "old");
      const fd = fs.openSync(path, fs.constants.O_WRONLY);
      try {
        expect(calls.claim(fd)).toBe(true);
        await work(path, fd);
      } finally {
        if (fs.existsSync(`/proc/self/fd/${fd}`)) fs.closeSync(fd);
      }
    });

  test("cannot be opened by who does not want to wait", () =>
    withClaimed(async (path) => {
      expect(() => fs.openSync(path, fs.constants.O_RDONLY | fs.constants.O_NONBLOCK)).toThrow(/EAGAIN/);
    }));

  test("is opened by another process when it is complete, which ends neither of them", () =>
    withClaimed(async (path, fd) => {
      const reader = spawn("cat", [path]);
      let seen = "";
      reader.stdout.on("data", (data) => {
        seen += String(data);
      });
      await sleep(100);
      fs.writeSync(fd, "new content");
      fs.closeSync(fd);
      await once(reader, "close");
      expect(seen).toBe("new content");
    }));

  test("is none that somebody has open", () =>
    inArena(async ({ root }) => {
      const path = join(root, "open");
      fs.writeFileSync(path, "old");
      const [reader, fd] = [fs.openSync(path, "r"), fs.openSync(path, "r+")];
      expect(calls.claim(fd)).toBeUndefined();
      fs.closeSync(reader);
      expect(calls.claim(fd)).toBe(true);
      fs.closeSync(fd);
    }));
});

suite("readers of a file that is replaced all the time", () => {
  test("see one content of it, whole", () =>
    onFile(async ({ path, replace }) => {
      const LENGTH = 200_000;
      const script = `
        const fs = require("node:fs");
        let seen = 0;
        for (const until = Date.now() + 1500; Date.now() < until; seen++) {
          const text = fs.readFileSync(${JSON.stringify(path)}, "latin1");
          if (text.length !== ${LENGTH} || text !== text[0].repeat(${LENGTH})) { console.log("torn"); process.exit(1); }
        }
        console.log(seen);`;
      await replace("a".repeat(LENGTH));
      const readers = [1, 2].map(() =>
        spawn(process.execPath, ["-e", script], { stdio: ["ignore", "pipe", "inherit"] }),
      );
      const said: string[] = [];
      for (const reader of readers) reader.stdout?.on("data", (data) => said.push(String(data).trim()));
      const ends = Promise.all(readers.map((reader) => once(reader, "close")));
      let isOver = false;
      void ends.then(() => {
        isOver = true;
      });
      const inodes = new Set<string>();
      for (let turn = 0; !isOver; turn++) {
        inodes.add(await replace("abcdefghij"[turn % 10]?.repeat(LENGTH) as string));
        await sleep(0);
      }
      expect(said).toHaveLength(2);
      for (const one of said) expect(Number(one)).toBeGreaterThan(10);
      // Some are taken again.
      expect(inodes.size).toBeGreaterThan(1);
    }));
});
