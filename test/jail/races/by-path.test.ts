import fs, { mkdirSync, readFileSync, renameSync, symlinkSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { afterEach, beforeEach, describe, expect, test } from "@jest/globals";
import { type Io, runIo } from "../../../src/core/io.js";
import { simulateSystem } from "../../../src/core/system.js";
import { APPEND, CREATE, type Pinned, READ, READ_DIRECTORY } from "../../../src/jail/handles.js";
import { Jail } from "../../../src/jail/jail.js";
import { confirmed, PlacedSys } from "../../../src/jail/native/placed-sys.js";
import { Locks } from "../../../src/jail/staging/locks.js";
import { type Stat, statOfName } from "../../../src/jail/stat.js";
import { type Arena, CANARY, INSIDE, makeArena } from "../arena.js";
import { codeOf, openFiles } from "../files.js";
import { CONTENT_ROUNDS } from "./by-path.js";
import { race } from "./race.js";

const CALLS = 150;

describe("while a link to the outside takes the place of what was looked at, by the real-path check", () => {
  test.each(CONTENT_ROUNDS)("no content gets out: %s", async (_name, { pivot, round }) => {
    const options = { engine: "real-path check", pivot, durationMs: 0, calls: CALLS, until: () => true } as const;
    const tally = await race(round, options);
    expect(tally.escapes).toBe(0);
    expect(tally.calls).toBe(CALLS);
  });
});

describe("a directory that was replaced by a link after the walk looked at it", () => {
  let arena: Arena;
  let jail: Jail;
  beforeEach(() => {
    arena = makeArena();
    for (const [top, content] of [
      [arena.root, INSIDE],
      [arena.outside, CANARY],
      [join(arena.root, "denied"), CANARY],
    ] as const) {
      mkdirSync(join(top, "pivot/sub"), { recursive: true });
      writeFileSync(join(top, "pivot/file"), content);
    }
    const options = { path: arena.root, readOnly: true, crossDevice: false, io: "sync" } as const;
    jail = new Jail({ ...options, engine: "real-path check" }, new Locks());
  });
  afterEach(async () => {
    await jail.close();
    arena.remove();
  });

  const run = async <T>(io: Io<T>): Promise<T> => runIo(io);
  const errno = (work: Promise<unknown>): Promise<string> => work.then(String, ({ code }: { code: string }) => code);
  /** The directory as the walk found it, where now a link leads elsewhere. */
  async function swapped(target: string): Promise<Pinned> {
    const pivot = (await run(jail.handles.enter(jail.top, "pivot"))) as Pinned;
    renameSync(join(arena.root, "pivot"), join(arena.root, "aside"));
    symlinkSync(target, join(arena.root, "pivot"));
    return pivot;
  }
  const pinned = async (directory: Pinned, name: string): Promise<Pinned> =>
    (await run(jail.handles.pin(directory, name))) as Pinned;

  test.each([
    ["out of the root", () => join(arena.outside, "pivot")],
    ["to another place in it", () => "denied/pivot"],
  ])("%s is neither read nor appended to", async (_name, target) => {
    const pivot = await swapped(target());
    const file = await pinned(pivot, "file");
    expect(file.stat.size).toBe(CANARY.length);
    for (const flags of [READ, APPEND]) expect(await errno(run(jail.handles.reopen(file, flags)))).toBe("ELOOP");
    const sub = await pinned(pivot, "sub");
    expect(await errno(run(jail.handles.reopen(sub, READ_DIRECTORY)))).toBe("ELOOP");
  });

  test("gets no content in a new file", async () => {
    const pivot = await swapped(join(arena.outside, "pivot"));
    expect(await errno(run(jail.sys.open(`${pivot.path}/new`, CREATE)))).toBe("ELOOP");
    expect(readFileSync(join(arena.outside, "pivot/new"), "utf8")).toBe("");
  });

  test("is not listed, whether that was before or in between", async () => {
    const pivot = await swapped(join(arena.outside, "pivot"));
    expect(await errno(run(confirmed(jail.sys, pivot, jail.sys.names(pivot))))).toBe("ELOOP");
    fs.unlinkSync(join(arena.root, "pivot"));
    renameSync(join(arena.root, "aside"), join(arena.root, "pivot"));
    expect(await run(confirmed(jail.sys, pivot, jail.sys.names(pivot)))).toHaveLength(2);
    const between = function* (): Io<string> {
      yield swapped(join(arena.outside, "pivot"));
      return CANARY;
    };
    expect(await errno(run(confirmed(jail.sys, pivot, between())))).toBe("ELOOP");
  });

  test("a file that has lost its name is no escape", async () => {
    const file = await pinned(jail.top, "file.txt");
    const open = fs.openSync;
    fs.openSync = (path, ...rest) => {
      const fd = open(path, ...rest);
      if (path === file.path) fs.unlinkSync(file.path);
      return fd;
    };
    try {
      expect(await errno(run(jail.handles.reopen(file, READ)))).toBe("ESTALE");
    } finally {
      fs.openSync = open;
    }
  });
});

test("another spelling of a name, where names fold, is the same place", async () => {
  const arena = makeArena();
  const { lstatSync, openSync } = fs;
  const restore = simulateSystem("darwin");
  const stored = (path: unknown): string =>
    String(path)
      .replace(/FILE\.TXT$/, "file.txt")
      .replace(/\/DIR(?=\/|$)/, "/dir");
  Object.assign(fs, {
    lstatSync: (path: string, options: object) => lstatSync(stored(path), options),
    openSync: (path: string, flags: number, mode: number) => openSync(stored(path), flags, mode),
  });
  const files = await openFiles(arena.root, "real-path check");
  try {
    expect(await files.invoke("read", { path: "file.txt" })).toMatchObject({ content: INSIDE });
    expect(await files.invoke("read", { path: "DIR/FILE.TXT" })).toMatchObject({ content: INSIDE });
    expect(await codeOf(files.invoke("append", { path: "DIR/FILE.TXT", content: "+" }))).toBe("ok");
    expect(readFileSync(join(arena.root, "dir/file.txt"), "utf8")).toBe(`${INSIDE}+`);
  } finally {
    await files.close();
    Object.assign(fs, { lstatSync, openSync });
    restore();
    arena.remove();
  }
});

test("a root at the top of a volume is told with a separator at its end", async () => {
  const arena = makeArena();
  const restore = simulateSystem("win32");
  const where = (): string => "\\Device\\HarddiskVolume3\\file.txt";
  const identity = (statOfName(arena.root) as Stat).identity;
  const place = { path: arena.root, told: "\\Device\\HarddiskVolume3\\", where, identity };
  const sys = new PlacedSys(false, undefined, place);
  const codeOfOpen = async (name: string): Promise<unknown> => {
    try {
      fs.closeSync(await runIo(sys.open(join(arena.root, name), READ)));
      return "ok";
    } catch (error) {
      return Object(error).code;
    }
  };
  try {
    expect([await codeOfOpen("file.txt"), await codeOfOpen("dir")]).toEqual(["ok", "ELOOP"]);
  } finally {
    restore();
    arena.remove();
  }
});
