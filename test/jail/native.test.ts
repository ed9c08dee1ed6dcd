import { execFileSync } from "node:child_process";
import fs from "node:fs";
import { join } from "node:path";
import { describe, expect, test } from "@jest/globals";
import { runIo } from "../../src/core/io.js";
import { NO_FOLLOW_PATH, ProcHandles, release } from "../../src/jail/handles.js";
import { type NativeCalls, NativeSource } from "../../src/jail/native/calls.js";
import { parseStat, STAT_BYTES } from "../../src/jail/native/statx.js";
import { type Stat, statOfName } from "../../src/jail/stat.js";
import { Sys } from "../../src/jail/sys.js";
import { type Arena, expectClosedSoon, inArena, openDescriptors } from "./arena.js";

const O_CLOEXEC = 0x80000;
const { O_RDONLY, O_DIRECTORY } = fs.constants;
/** Not in the constants of Node. */
const O_PATH = 0x200000;

/** Runs `work` with the calls and a descriptor of a directory, and sees to it that nothing stays open. */
async function withCalls(work: (opened: { calls: NativeCalls; fd: number; arena: Arena }) => void): Promise<void> {
  await inArena(async (arena) => {
    const { calls } = new NativeSource(0);
    if (calls === undefined) throw new Error("koffi is not usable here");
    const before = openDescriptors();
    const fd = fs.openSync(arena.root, O_RDONLY | O_DIRECTORY);
    try {
      work({ calls, fd, arena });
    } finally {
      fs.closeSync(fd);
    }
    await expectClosedSoon(before);
  });
}

const everything = (stat: Stat | undefined) =>
  stat && {
    ...{ identity: stat.identity, device: stat.device, mode: stat.mode, size: stat.size, type: stat.type },
    ...{ uid: stat.uid, gid: stat.gid, nlink: stat.nlink, version: stat.version },
    ...{ modified: stat.modifiedMs, changed: stat.changedMs, created: stat.createdMs },
  };

/** One entry of every kind, with times that rounding would change. */
function fill({ file, link, root }: Arena): string[] {
  file("file", "x".repeat(70_000));
  file("empty", "");
  fs.linkSync(join(root, "file"), join(root, "linked"));
  fs.mkdirSync(join(root, "directory"), { mode: 0o1750 });
  link("link", "nowhere");
  execFileSync("mkfifo", [join(root, "fifo")]);
  for (const [name, seconds] of [
    ["before-1970", -12_345.678],
    ["late", 4_294_967_296.123],
    ["now", 1_700_000_000.999],
  ] as const) {
    file(name, name);
    fs.utimesSync(join(root, name), seconds, seconds);
  }
  fs.truncateSync(join(root, "late"), 6 * 2 ** 32 + 5);
  return fs.readdirSync(root);
}

describe("native calls", () => {
  test("stat tells the same as Node of entries of every kind", () =>
    withCalls(({ calls, fd, arena }) => {
      for (const name of fill(arena)) {
        expect({ name, ...everything(calls.stat(fd, name)) }).toEqual({
          name,
          ...everything(statOfName(join(arena.root, name))),
        });
        const pinned = calls.open(fd, name, NO_FOLLOW_PATH) ?? -1;
        expect(everything(calls.statOpen(pinned))).toEqual(everything(statOfName(join(arena.root, name))));
        fs.closeSync(pinned);
      }
    }));

  test("what a list tells of an entry is what its stat tells", () =>
    withCalls(({ calls, fd, arena }) => {
      for (const name of fill(arena)) {
        const { type, size, modifiedMs } = statOfName(join(arena.root, name)) ?? {};
        expect([name, calls.look(fd, name)]).toEqual([name, { type, size, modifiedMs }]);
      }
      expect([calls.look(fd, "missing"), calls.look(-1, "file"), calls.look(fd, "file\0")]).toEqual([
        undefined,
        undefined,
        undefined,
      ]);
    }));

  test("entries are those that Node reads, with their types, in any number", () =>
    withCalls(({ calls, fd, arena }) => {
      fill(arena);
      const odd = Buffer.from([0x66, 0xff, 0xfe, 0x2e]);
      fs.writeFileSync(Buffer.concat([Buffer.from(`${arena.root}/`), odd]), "");
      for (const name of [".hidden", "...", "é", "𝒳", "n".repeat(255), ".x"]) arena.file(name, "");
      for (let index = 0; index < 3000; index++) arena.file(`one-of-thousands-with-a-long-name-${index}`, "");
      const reading = calls.read({ fd });
      const found: [string, string | undefined][] = [];
      let pieces = 0;
      for (let some = reading?.next() ?? []; some.length > 0; some = reading?.next() ?? []) {
        pieces++;
        for (const { name, raw, type } of some) {
          found.push([name, type]);
          expect(raw).toBe(/[\x80-\xff]/.test(name) ? undefined : name);
        }
      }
      reading?.close();
      expect(pieces).toBeGreaterThan(1);
      const expected = fs.readdirSync(arena.root, { withFileTypes: true, encoding: "latin1" } as {
        withFileTypes: true;
      });
      const typeOf = (entry: fs.Dirent) =>
        entry.isFile() ? "file" : entry.isDirectory() ? "directory" : entry.isSymbolicLink() ? "symlink" : "other";
      expect(new Map(found)).toEqual(new Map(expected.map((entry) => [entry.name, typeOf(entry)])));
      expect(found.length).toBe(expected.length);
    }));

  test("a directory that was entered to be read is read by its own handle, once; then it is opened again", () =>
    inArena(async ({ root, file }) => {
      for (const name of ["tree/a", "tree/b", "tree/c"]) file(name, "x");
      const before = openDescriptors();
      const sys = new Sys(false, new NativeSource(0));
      const handles = new ProcHandles(sys);
      const top = handles.openRoot(root);
      const tree = handles.enterToRead(top, "tree");
      if (tree === undefined) throw new Error("The directory was not entered");
      const opened = openDescriptors();
      const reading = sys.native?.calls?.read(tree);
      expect([openDescriptors(), tree.takeReading?.()]).toEqual([opened, false]);
      reading?.close();
      for (let again = 0; again < 2; again++) {
        const names = await runIo(sys.names(tree));
        expect(names.map(({ name }) => name).toSorted()).toEqual(["a", "b", "c"]);
      }
      release(tree);
      release(top);
      await expectClosedSoon(before);
    }));

  test("entering to read follows no link, and says nothing of what a native call cannot open", () =>
    inArena(async ({ root, file, link, outside }) => {
      file("tree/a", "x");
      link("link", outside);
      const { calls } = new NativeSource(0);
      if (calls === undefined) throw new Error("koffi is not usable here");
      const handlesWith = (own: NativeCalls) => new ProcHandles(new Sys(false, new NativeSource(0, () => own)));
      const handles = handlesWith(calls);
      const top = handles.openRoot(root);
      for (const name of ["link", "tree/a", "missing"])
        expect([name, handles.enterToRead(top, name)]).toEqual([name, undefined]);
      expect(handlesWith({ ...calls, open: () => undefined }).enterToRead(top, "tree")).toBeUndefined();
      const tree = handles.enterToRead(top, "tree");
      expect(tree?.takeReading?.()).toBe(true);
      if (tree !== undefined) release(tree);
      release(top);
    }));

  test("say nothing about what they cannot do: missing names, names with NUL, names as bytes, no directory", () =>
    withCalls(({ calls, fd, arena }) => {
      arena.file("file", "x");
      for (const name of ["missing", "file\0", "file\0x", "file/x", "n".repeat(256), Buffer.from("file")]) {
        expect([calls.stat(fd, name), calls.open(fd, name, O_RDONLY)]).toEqual([undefined, undefined]);
      }
      for (const none of [-1, -100]) {
        expect([calls.stat(none, "."), calls.open(none, ".", O_RDONLY), calls.read({ fd: none })]).toEqual([
          undefined,
          undefined,
          undefined,
        ]);
      }
    }));

  test("find says that a name is missing, and nothing of what it could not find out", () =>
    withCalls(({ calls, fd, arena }) => {
      arena.file("file", "x");
      arena.link("dangling", "nowhere");
      for (const name of ["file", "dangling"]) {
        expect(everything(calls.find(fd, name) as Stat)).toEqual(everything(statOfName(join(arena.root, name))));
      }
      expect([calls.find(fd, "missing"), calls.find(fd, "missing/below")]).toEqual(["missing", "missing"]);
      for (const name of ["missing\0", "file\0", "file/x", "n".repeat(256), Buffer.from("missing")]) {
        expect(calls.find(fd, name)).toBeUndefined();
      }
      expect([calls.find(-1, "missing"), calls.find(-100, "missing")]).toEqual([undefined, undefined]);
      const closed = fs.openSync(arena.root, O_RDONLY | O_DIRECTORY);
      fs.closeSync(closed);
      expect(calls.find(closed, "missing")).toBeUndefined();
    }));

  test("rename what has a name in a directory, over what has the new one, and say nothing where they cannot", () =>
    withCalls(({ calls, fd, arena }) => {
      arena.file("from", "new");
      arena.file("below/to", "old");
      const below = calls.open(fd, "below", O_PATH | O_DIRECTORY) ?? -1;
      try {
        expect(calls.rename(fd, "from", below, "to")).toBe(true);
        expect(fs.existsSync(join(arena.root, "from"))).toBe(false);
        expect(fs.readFileSync(join(arena.root, "below/to"), "utf8")).toBe("new");
        for (const [name, toName] of [
          ["from", "to"],
          ["below", "to\0"],
          ["below\0", "to"],
          ["below", "inside/missing"],
        ] as const) {
          expect(calls.rename(fd, name, fd, toName)).toBeUndefined();
        }
        expect([calls.rename(-100, "below", fd, "x"), calls.rename(fd, "below", -100, "x")]).toEqual([
          undefined,
          undefined,
        ]);
        expect(fs.readdirSync(join(arena.root, "below"))).toEqual(["to"]);
      } finally {
        fs.closeSync(below);
      }
    }));

  test("open nothing that a child process would inherit", () =>
    withCalls(({ calls, fd, arena }) => {
      arena.file("file", "x");
      const opened = calls.open(fd, "file", O_RDONLY) ?? -1;
      const flags = /flags:\s*([0-7]+)/.exec(fs.readFileSync(`/proc/self/fdinfo/${opened}`, "utf8"))?.[1];
      fs.closeSync(opened);
      expect(Number.parseInt(flags ?? "0", 8) & O_CLOEXEC).toBe(O_CLOEXEC);
    }));

  test("open for reading the object that a path handle stands for, whatever has its name by then", () =>
    withCalls(({ calls, fd, arena }) => {
      arena.file("file", "old");
      const handle = calls.open(fd, "file", O_PATH) ?? -1;
      fs.unlinkSync(join(arena.root, "file"));
      arena.file("file", "new");
      const opened = calls.reopen(handle) ?? -1;
      fs.closeSync(handle);
      expect(fs.readFileSync(opened, "utf8")).toBe("old");
      fs.closeSync(opened);
      expect([calls.reopen(handle), calls.reopen(-1)]).toEqual([undefined, undefined]);
    }));

  test("say that a file may be written where Node says so, and nothing else", () =>
    withCalls(({ calls, fd, arena }) => {
      for (const mode of [0o644, 0o444, 0o000]) {
        arena.file("file", "text");
        const path = join(arena.root, "file");
        fs.chmodSync(path, mode);
        const mayWrite = (): boolean => {
          try {
            fs.accessSync(path, fs.constants.W_OK);
            return true;
          } catch {
            return false;
          }
        };
        const handle = calls.open(fd, "file", O_PATH) ?? -1;
        expect(calls.mayWrite(handle) === true).toBe(mayWrite());
        fs.closeSync(handle);
        expect([calls.mayWrite(handle), calls.mayWrite(-1)]).toEqual([undefined, undefined]);
        fs.unlinkSync(path);
      }
    }));

  test("a directory that was removed meanwhile fails as with Node", () =>
    withCalls(({ calls, arena }) => {
      const path = join(arena.root, "gone");
      fs.mkdirSync(path);
      const fd = fs.openSync(path, O_RDONLY | O_DIRECTORY);
      const reading = calls.read({ fd });
      fs.rmdirSync(path);
      fs.closeSync(fd);
      try {
        let failure: unknown;
        try {
          reading?.next();
        } catch (error) {
          failure = error;
        }
        expect(failure).toMatchObject({ code: "ENOENT", syscall: "scandir" });
      } finally {
        reading?.close();
      }
    }));

  test("an inode number that a double cannot hold is left to Node", () => {
    const words = new Uint32Array(STAT_BYTES / 4);
    words[8] = 7;
    expect(parseStat(words)?.identity).toBe("0:7");
    words[9] = 2 ** 21 - 1;
    expect(parseStat(words)?.identity).toBe(`0:${(2 ** 21 - 1) * 2 ** 32 + 7}`);
    words[9] = 2 ** 21;
    expect(parseStat(words)).toBeUndefined();
  });

  test("are loaded only after some calls, once", () => {
    let loads = 0;
    const source = new NativeSource(2, () => {
      loads++;
      return undefined;
    });
    expect([1, 2, 3, 4].map(() => [source.calls, loads])).toEqual([
      [undefined, 0],
      [undefined, 0],
      [undefined, 1],
      [undefined, 1],
    ]);
  });

  test("a directory whose reading fails in the middle is read again by Node", () =>
    inArena(async ({ root, file }) => {
      file("one", "");
      file("two", "");
      const fails = (): never => {
        throw Object.assign(new Error("EIO"), { code: "EIO", syscall: "scandir" });
      };
      const answers = [[{ name: "one", type: "file" as const }]];
      let isClosed = false;
      const close = (): void => {
        isClosed = true;
      };
      const calls = {
        stat: () => undefined,
        look: () => undefined,
        find: () => undefined,
        statOpen: () => undefined,
        open: () => undefined,
        rename: () => undefined,
        reopen: () => undefined,
        mayWrite: () => undefined,
        link: () => undefined,
        claim: () => undefined,
        isPlain: () => undefined,
        copy: async () => 0,
        read: () => ({ next: () => answers.pop() ?? fails(), close }),
      };
      const sys = new Sys(false, new NativeSource(0, () => calls));
      const found = await runIo(sys.names({ fd: 0, path: root }));
      expect(found.map(({ name }) => name).toSorted()).toEqual(fs.readdirSync(root).toSorted());
      expect(isClosed).toBe(true);
    }));
});
