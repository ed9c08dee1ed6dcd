import { spawn } from "node:child_process";
import { once } from "node:events";
import fs, {
  existsSync,
  mkdirSync,
  mkdtempSync,
  readdirSync,
  readFileSync,
  realpathSync,
  renameSync,
  rmSync,
  symlinkSync,
  writeFileSync,
} from "node:fs";
import { rm } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { afterAll, afterEach, beforeAll, beforeEach, describe, expect, test } from "@jest/globals";
import { type Io, runIo } from "../../../src/core/io.js";
import { simulateSystem } from "../../../src/core/system.js";
import { createFileAdapter } from "../../../src/index.js";
import { APPEND, CREATE, type Pinned, READ, READ_DIRECTORY } from "../../../src/jail/handles.js";
import { Jail } from "../../../src/jail/jail.js";
import { confirmed, PlacedSys } from "../../../src/jail/native/placed-sys.js";
import { Locks } from "../../../src/jail/staging/locks.js";
import { type Stat, statOfName } from "../../../src/jail/stat.js";
import { type Arena, CANARY, expectClosedSoon, INSIDE, inArena, makeArena, openDescriptors, staged } from "../arena.js";
import { ESCAPES, type EscapeRow } from "../attacks/escape-rows.js";
import { codeOf, ENGINES, type Files, openFiles, outcomeOf, ROOT, withFiles } from "../files.js";
import { CONTENT_ROUNDS } from "./by-path.js";
import { race, sawBoth, type Tally } from "./race.js";
import { fillOutside, makeTree, missingOutside, raceDeletions } from "./race-deletion.js";
import { ROUNDS, type Round } from "./race-rounds.js";
import { startRacer } from "./start-racer.js";

const DURATION_MS = 100;
const DELETIONS_MS = 1000;
/** The attack works against the common way within a fraction of this. */
const CONTROL_MS = 120_000;

describe.each(Object.entries(ROUNDS))("while a %s is exchanged with a link to the outside", (_kind, kind) => {
  test.each(kind.rounds.map((round) => [round.name, round] as const))("%s stays inside", async (_name, round) => {
    const until = round.neverRefused ? ({ done }: Tally) => done > 0 : sawBoth;
    const tally = await race(round, { engine: "handle walk", pivot: kind.pivot, durationMs: DURATION_MS, until });
    expect(tally.escapes).toBe(0);
    expect(tally.done).toBeGreaterThan(0);
    // A name is always there while two are exchanged, so nothing else can be the matter.
    const codes = round.neverRefused ? [] : ["SYMLINK_ESCAPE"];
    if (tally.method === "renameat2") expect(Object.keys(tally.refused)).toEqual(codes);
  });
});

/** The others are changes, which are walked on every engine. */
const LOOKS = ["list", "list below", "tree", "tree from above", "read", "stat", "grep", "grep from above", "glob"];

describe.each(Object.entries(ROUNDS))(
  "while a %s is exchanged with a link to the outside, by openat2",
  (_kind, kind) => {
    const looks = kind.rounds.filter(({ name }) => LOOKS.includes(name));
    test.each(looks.map((round) => [round.name, round] as const))("%s stays inside", async (_name, round) => {
      const until = round.neverRefused ? ({ done }: Tally) => done > 0 : sawBoth;
      const tally = await race(round, { engine: "openat2", pivot: kind.pivot, durationMs: DURATION_MS, until });
      expect(tally.escapes).toBe(0);
      const codes = round.neverRefused ? [] : ["SYMLINK_ESCAPE"];
      if (tally.method === "renameat2") expect(Object.keys(tally.refused)).toEqual(codes);
    });
  },
);

describe("while a directory is exchanged with a link to the outside, in the thread pool", () => {
  const { pivot, rounds } = ROUNDS.directory;
  const some = rounds.filter(({ name }) =>
    ["list", "read", "grep", "write", "mkdir, parents", "delete"].includes(name),
  );
  test.each(some.map((round) => [round.name, round] as const))("%s stays inside", async (_name, round) => {
    const tally = await race(round, {
      engine: "handle walk in the thread pool",
      pivot,
      durationMs: DURATION_MS,
      until: sawBoth,
    });
    expect(tally.escapes).toBe(0);
  });
});

describe("control: while a directory is exchanged with a link to the outside, real path and then open", () => {
  const { pivot, rounds } = ROUNDS.directory;
  const some = rounds.filter(({ name }) => ["list", "read", "write"].includes(name));
  test.each(some.map((round) => [round.name, round] as const))("%s gets out", async (_name, round) => {
    const tally = await race(round, {
      engine: "naive",
      pivot,
      durationMs: 0,
      until: ({ escapes }) => escapes > 0,
    });
    expect(tally.escapes).toBeGreaterThan(0);
  });
});

describe("removal of a tree in which a directory is exchanged with a link to the outside", () => {
  test("removes nothing outside", async () => {
    const end = performance.now() + DELETIONS_MS;
    const { trees, escapes } = await raceDeletions(
      ({ root }, path) =>
        withFiles(root, async (files) => {
          await files.invoke("delete", { path, recursive: true });
        }),
      (soFar) => soFar.trees > 3 && performance.now() > end,
    );
    expect(trees).toBeGreaterThan(3);
    expect(escapes).toBe(0);
  });

  test("removes nothing outside when a temp root is closed", async () => {
    await inArena(async (arena) => {
      fillOutside(arena);
      const end = performance.now() + DELETIONS_MS / 2;
      for (let round = 0; round < 3 || performance.now() < end; round++) {
        const adapter = await createFileAdapter({ roots: { [ROOT]: { temp: true } } });
        const { roots } = await adapter.invoke("file:roots", {});
        const root = String(roots[0]?.path);
        makeTree({ root, outside: arena.outside });
        const racer = await startRacer(join(root, "tree"), "pivot", "spare");
        await adapter.close();
        await racer.stop();
        expect(missingOutside(arena)).toBe(0);
        expect(existsSync(root)).toBe(false);
      }
    });
  });

  test("control: rmSync removes files outside", async () => {
    const end = performance.now() + CONTROL_MS;
    const { escapes } = await raceDeletions(removePlainly, (soFar) => soFar.escapes > 0 || performance.now() > end);
    expect(escapes).toBeGreaterThan(0);
  });
});

function removePlainly({ root }: { root: string }, tree: string): void {
  try {
    rmSync(join(root, tree), { recursive: true, force: true });
  } catch {
    // It stumbles over what is exchanged; the harm is done all the same.
  }
}

// A process that moves the protected entry into each tree that comes to be, a little later each time: into the directory
// that a removal looks into first.
const MOVER = `
  const { existsSync, renameSync } = require("node:fs");
  process.stdout.write("on\\n");
  for (let round = 0; ; ) {
    if (!existsSync("tree/a")) continue;
    const until = performance.now() + (round++ % 40) / 4;
    while (performance.now() < until);
    try { renameSync(".git", "tree/a/.git"); } catch {}
    while (existsSync("tree/a"));
  }
`;
const DIRECTORIES = 150;
/** Trees in which the removal has met the entry, or lost it. */
const ENOUGH = 10;

let dir = "";

/** How often a tree was put back with the protected entry in it, and how often that entry was gone. */
interface Seen {
  readonly met: number;
  readonly lost: number;
}

/** Files named `config` that are left anywhere: there is one to begin with. */
const survives = (at = dir): boolean =>
  readdirSync(at, { withFileTypes: true }).some((entry) =>
    entry.isDirectory() ? survives(join(at, entry.name)) : entry.name === "config",
  );

describe("a protected entry that is moved into a tree while that is deleted", () => {
  beforeEach(() => {
    dir = realpathSync(mkdtempSync(join(tmpdir(), "protect-")));
  });
  afterEach(() => {
    rmSync(dir, { recursive: true, force: true });
  });

  function makeTree(): void {
    for (let n = 0; n < DIRECTORIES; n++) {
      mkdirSync(join(dir, `.new/b${n}/deep`), { recursive: true });
      writeFileSync(join(dir, `.new/b${n}/deep/f`), "f");
    }
    mkdirSync(join(dir, ".new/a"));
  }

  /** Lets `remove` delete trees while the mover is at work, until it has met the protected entry often enough, or lost it. */
  async function race(remove: () => Promise<void>, isEnough: (seen: Seen) => boolean): Promise<Seen> {
    const child = spawn(process.execPath, ["-e", MOVER], { cwd: dir, stdio: ["ignore", "pipe", "inherit"] });
    const exited = once(child, "exit");
    await once(child.stdout, "data");
    const seen = { met: 0, lost: 0 };
    try {
      while (!isEnough(seen)) {
        if (!existsSync(join(dir, "tree"))) {
          makeTree();
          mkdirSync(join(dir, ".git"), { recursive: true });
          writeFileSync(join(dir, ".git/config"), "[core]");
          renameSync(join(dir, ".new"), join(dir, "tree"));
        }
        await remove();
        const isInside = existsSync(join(dir, "tree"));
        if (!survives()) seen.lost++;
        else if (isInside) seen.met++;
        for (const name of ["tree", ".git"]) rmSync(join(dir, name), { recursive: true, force: true });
      }
    } finally {
      child.kill("SIGKILL");
      await exited;
    }
    return seen;
  }

  test("is lost to a plain removal that looked first (control)", async () => {
    const holdsGit = (at: string): boolean =>
      readdirSync(at, { withFileTypes: true }).some(
        (entry) => entry.name === ".git" || (entry.isDirectory() && holdsGit(join(at, entry.name))),
      );
    const { lost } = await race(
      async () => {
        const tree = join(dir, "tree");
        if (holdsGit(tree)) return;
        await rm(tree, { recursive: true, force: true }).catch(() => {});
      },
      ({ lost }) => lost > 0,
    );
    expect(lost).toBeGreaterThan(0);
  });

  test("is never removed, and the tree is put back", async () => {
    const adapter = await createFileAdapter({ roots: { r: { path: dir, protect: ["@git"] } } });
    try {
      const { lost, met } = await race(
        async () => {
          await adapter.invoke("file:delete", { root: "r", path: "tree", recursive: true }, {}).catch((error) => {
            expect(error).toMatchObject({ code: "DENIED_BY_POLICY" });
          });
        },
        ({ met, lost }) => met + lost >= ENOUGH,
      );
      expect({ lost, met }).toEqual({ lost: 0, met: ENOUGH });
      expect(readdirSync(dir).filter((name) => name.includes("restored"))).toEqual([]);
    } finally {
      await adapter.close();
    }
  });
});

describe("relocation", () => {
  /** Move and copy with a path of the table at either end, and which answers of the table they are like. */
  const CALLS = [
    { name: "copy", from: true, like: ["read", "list"] },
    { name: "move", from: true, like: ["delete", "delete, recursive"] },
    { name: "copy", from: false, like: ["write", "mkdir"] },
    { name: "move", from: false, like: ["write", "mkdir"] },
  ] as const;
  /** Beside those: a link that has the name is left alone, as is whatever else there is. */
  const ALSO = ["ALREADY_EXISTS", "INVALID_INPUT", "NOT_FOUND", "NOT_A_FILE", "ok"];

  const rows = Object.entries(ESCAPES).flatMap(([group, all]) =>
    all.map((row) => [`${group}: ${row.name}`, row] as const),
  );

  /** Elsewhere the links that lead out are enough: nothing but the engine differs. */
  const rowsFor = (engine: string) =>
    engine === "handle walk" ? rows : rows.filter(([name]) => name.startsWith("links that leave the root"));

  describe.each(ENGINES.filter((engine) => !engine.includes("pool")))("move and copy by %s", (engine) => {
    let arena: Arena;
    let files: Files;
    beforeAll(async () => {
      arena = makeArena();
      files = await openFiles(arena.root, engine);
    });
    afterAll(async () => {
      await files.close();
      arena.remove();
    });

    test.each(rowsFor(engine))("%s", async (_name, row) => {
      for (const { name, from, like } of CALLS) {
        arena.reset();
        const undo = row.plant?.(arena);
        try {
          await relocate(files, { arena, row, name, from, like });
        } finally {
          if (typeof undo === "function") undo();
        }
      }
    });
  });

  async function relocate(
    files: Files,
    {
      arena,
      row,
      name,
      from,
      like,
    }: { arena: Arena; row: EscapeRow; name: string; from: boolean; like: readonly string[] },
  ): Promise<void> {
    const path = typeof row.path === "string" ? row.path : row.path(arena);
    const outside = arena.outsideNow();
    const inside = arena.insideNow();
    const input = from ? { path, to: "relocated" } : { path: "file.txt", to: path };
    const outcome = await outcomeOf(files.invoke(name, { ...input, ...(name === "copy" ? { recursive: true } : {}) }));
    expect(arena.outsideNow()).toEqual(outside);
    if (outcome.code !== "ok") expect(arena.insideNow()).toEqual(inside);
    else if (!JSON.stringify(inside).includes(CANARY)) expect(JSON.stringify(arena.insideNow())).not.toContain(CANARY);
    const answers: Readonly<Record<string, string>> = row.answers;
    const codes = like.map((one) => answers[one]);
    // What nobody gets through, these do not either.
    const isRefused = codes.every((code) => code !== undefined && /ESCAPE|INVALID_PATH|PATH_NOT/.test(code));
    if (isRefused) expect([...codes, ...(from ? [] : ["ALREADY_EXISTS"])]).toContain(outcome.code);
    else expect([...Object.values(answers), ...ALSO]).toContain(outcome.code);
  }

  const shows = (output: object): boolean => JSON.stringify(output).includes("canary");
  const { plant } = ROUNDS.directory.rounds[0] as Round;

  const RACES: readonly (Round & { readonly entries?: true })[] = [
    {
      name: "copy of a file out of it",
      plant,
      async call(files, n) {
        await files.invoke("copy", { path: "pivot/file", to: `copy${n}` });
        return files.invoke("read", { path: `copy${n}` });
      },
      shows,
      maxCalls: 3000,
    },
    {
      name: "copy of it as a whole",
      plant,
      async call(files, n) {
        await files.invoke("copy", { path: "pivot", to: `copy${n}`, recursive: true });
        const { tree } = await files.invoke("tree", { path: `copy${n}` });
        await files.invoke("delete", { path: `copy${n}`, recursive: true });
        return { tree };
      },
      shows,
      maxCalls: 3000,
    },
    {
      name: "copy into it",
      plant,
      call: (files, n) => files.invoke("copy", { path: "file.txt", to: `pivot/new${n % 50}`, overwrite: true }),
      maxCalls: 3000,
    },
    {
      name: "copy of a directory into it",
      plant,
      call: (files, n) => files.invoke("copy", { path: "dir", to: `pivot/a${n}/b`, recursive: true, parents: true }),
      maxCalls: 1500,
    },
    {
      name: "move out of it and back",
      plant,
      async call(files, n) {
        await files.invoke("move", { path: "pivot/file", to: `moved${n}` });
        const seen = await files.invoke("read", { path: `moved${n}` });
        for (let attempt = 0; attempt < 1000; attempt++) {
          const { code } = await outcomeOf(files.invoke("move", { path: `moved${n}`, to: "pivot/file" }));
          if (code === "ok") break;
        }
        return seen;
      },
      shows,
      maxCalls: 3000,
    },
  ];

  describe("while a directory is exchanged with a link to the outside", () => {
    test.each(RACES.map((round) => [round.name, round] as const))("%s stays inside", async (_name, round) => {
      const until = ({ done, refused }: { done: number; refused: Readonly<Record<string, number>> }) =>
        done > 0 && (refused["SYMLINK_ESCAPE"] ?? 0) > 0;
      const tally = await race(round, { engine: "handle walk", pivot: "pivot", durationMs: 300, until });
      expect(tally.escapes).toBe(0);
      expect(tally.done).toBeGreaterThan(0);
    });
  });

  test("move and copy leave nothing open and nothing prepared, whether they succeed or fail", async () => {
    // Suites that ran in this process before may have left something open.
    const others = openDescriptors();
    await inArena(async ({ root, outside }) => {
      const before = [...others, root].sort();
      await withFiles(root, async (files) => {
        const calls = async () => {
          writeFileSync(join(root, "a"), INSIDE);
          await files.invoke("copy", { path: "dir", to: "dir2", recursive: true });
          await files.invoke("move", { path: "dir2", to: "x/y", parents: true });
          await files.invoke("move", { path: "a", to: "x/a" });
          for (const [name, input] of [
            ["copy", { path: "dir", to: "file.txt", recursive: true }],
            ["copy", { path: "dir", to: "none/x", recursive: true }],
            ["copy", { path: "dir", to: "dir/x", recursive: true }],
            ["copy", { path: "file.txt", to: "b", ifMatch: "aaaaaaaa" }],
            ["move", { path: "file.txt", to: "dir" }],
            ["move", { path: "none", to: "b" }],
            ["move", { path: "dir", to: "x", overwrite: true }],
          ] as const) {
            expect((await outcomeOf(files.invoke(name, input))).code).not.toBe("ok");
          }
          await files.invoke("delete", { path: "x", recursive: true });
        };
        await calls();
        // What was prepared in vain is removed in the background.
        await expectClosedSoon(before);
        for (let round = 0; round < 20; round++) await calls();
        await expectClosedSoon(before);
        expect(staged(root)).toEqual([]);
        expect(readdirSync(outside).length).toBeGreaterThan(0);
      });
    });
  });
});

describe("calls by path", () => {
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
});
