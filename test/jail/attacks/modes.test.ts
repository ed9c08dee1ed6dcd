import { spawnSync } from "node:child_process";
import {
  appendFileSync,
  chmodSync,
  chownSync,
  existsSync,
  linkSync,
  lstatSync,
  mkdirSync,
  mkdtempSync,
  readdirSync,
  readFileSync,
  realpathSync,
  renameSync,
  rmSync,
  statSync,
  symlinkSync,
  writeFileSync,
} from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { afterEach, beforeEach, describe, expect, test } from "@jest/globals";
import fc from "fast-check";
import { TempHome } from "../../../src/backend/host/temp.js";
import { CallScope } from "../../../src/core/call/scope.js";
import { systemClock } from "../../../src/core/clock.js";
import { runIo } from "../../../src/core/io.js";
import { sortYielding } from "../../../src/jail/directory.js";
import { sortByName } from "../../../src/path/order.js";
import { ownIdentity, type ProcessIdentity } from "../../../src/process/identity.js";
import { needs } from "../../needs.js";
import { type Arena, expectClosedSoon, INSIDE, inArena, openDescriptors, staged } from "../arena.js";
import { codeOf, ENGINES, type Files, openFiles, outcomeOf, ROOT, withFiles } from "../files.js";
import { type Child, type ChildOptions, isRoot, NOBODY, startChild, withChild } from "../start-child.js";
import { ATTEMPT_NAMES, ATTEMPTS } from "./attempts.js";

const asRoot = needs(isRoot, "only root can hand a process other rights");

describe("modes of files", () => {
  const modeOf = (path: string): string => (lstatSync(path).mode & 0o7777).toString(8);
  const ownerOf = (path: string): string => `${statSync(path).uid}:${statSync(path).gid}`;

  describe.each([0o022, 0o027].map((umask) => [umask.toString(8), umask] as const))(
    "under the umask %s",
    (_shown, umask) => {
      test("new files get 0666 and new directories 0777 without it", async () => {
        await inArena(async ({ root }) => {
          await withChild({ config: { roots: { [ROOT]: root } }, umask }, async (child) => {
            await child.invoke("write", { path: "made/deep/written", content: "x", parents: true });
            await child.invoke("append", { path: "made/appended", content: "x" });
            await child.invoke("mkdir", { path: "made/directory" });
          });
          const file = (0o666 & ~umask).toString(8);
          const directory = (0o777 & ~umask).toString(8);
          expect(modeOf(join(root, "made/deep/written"))).toBe(file);
          expect(modeOf(join(root, "made/appended"))).toBe(file);
          expect(modeOf(join(root, "made"))).toBe(directory);
          expect(modeOf(join(root, "made/deep"))).toBe(directory);
          expect(modeOf(join(root, "made/directory"))).toBe(directory);
        });
      });
    },
  );

  describe.each(ENGINES)("a file that is replaced, by %s", (engine) => {
    test.each([
      ["600", "600"],
      ["644", "644"],
      ["755", "755"],
      ["777", "777"],
      ["4755", "755"],
      ["2755", "755"],
      ["1666", "666"],
      ["7777", "777"],
    ])("with the mode %s keeps %s of it", async (mode, kept) => {
      await inArena(async ({ root }) => {
        const path = join(root, "file.txt");
        chmodSync(path, Number.parseInt(mode, 8));
        await withFiles(root, (files) => files.invoke("write", { path: "file.txt", content: "new" }), { engine });
        expect(modeOf(path)).toBe(kept);
        expect(readFileSync(path, "utf8")).toBe("new");
      });
    });

    asRoot("keeps its owner and group, as root", async () => {
      await inArena(async ({ root }) => {
        const path = join(root, "file.txt");
        chownSync(path, 1234, 5678);
        chmodSync(path, 0o640);
        await withFiles(root, (files) => files.invoke("write", { path: "file.txt", content: "new" }), { engine });
        expect(ownerOf(path)).toBe("1234:5678");
        expect(modeOf(path)).toBe("640");
      });
    });
  });

  describe("without rights of root", () => {
    asRoot("a file that may not be written is refused, and stays", async () => {
      await inArena(async (arena) => {
        const { root } = arena;
        giveAway(arena);
        chmodSync(join(root, "file.txt"), 0o444);
        writeFileSync(join(root, "of-root"), INSIDE, { mode: 0o644 });
        await withChild({ config: { roots: { [ROOT]: root } }, ...NOBODY }, async (child) => {
          for (const path of ["file.txt", "of-root"]) {
            for (const operation of ["write", "append"]) {
              const { code, message } = await child.invoke(operation, { path, content: "new" });
              expect(code).toBe("PERMISSION_DENIED");
              expect(message).toBe(`Permission denied: r:${path}`);
            }
            expect((await child.invoke("stat", { path })).output).toMatchObject({ readOnly: true });
            expect(readFileSync(join(root, path), "utf8")).toBe(INSIDE);
          }
        });
      });
    });

    asRoot("what is closed to the process is said to be so, in our words", async () => {
      await inArena(async (arena) => {
        const { root } = arena;
        giveAway(arena);
        writeFileSync(join(root, "unreadable"), INSIDE, { mode: 0o200 });
        mkdirSync(join(root, "closed/below"), { recursive: true });
        chmodSync(join(root, "closed"), 0o700);
        await withChild({ config: { roots: { [ROOT]: root } }, ...NOBODY }, async (child) => {
          const denied = "PERMISSION_DENIED";
          expect((await child.invoke("read", { path: "unreadable" })).code).toBe(denied);
          expect((await child.invoke("list", { path: "closed" })).code).toBe(denied);
          expect((await child.invoke("stat", { path: "closed/below" })).code).toBe(denied);
          expect((await child.invoke("write", { path: "closed/new", content: "x" })).code).toBe(denied);
          expect((await child.invoke("mkdir", { path: "closed/new" })).code).toBe(denied);
          expect((await child.invoke("delete", { path: "closed", recursive: true })).code).toBe(denied);
          expect((await child.invoke("tree", { path: "" })).output?.["tree"]).toContain("\tclosed/\n\tdir/");
        });
        expect(lstatSync(join(root, "closed/below")).isDirectory()).toBe(true);
      });
    });

    asRoot("a group that cannot be kept takes no rights over to another", async () => {
      await inArena(async (arena) => {
        giveAway(arena);
        const path = join(arena.root, "file.txt");
        // Its owner is not in its group, so the new file gets the process's own.
        chownSync(path, NOBODY.uid, 5678);
        chmodSync(path, 0o664);
        await withChild({ config: { roots: { [ROOT]: arena.root } }, ...NOBODY }, (child) =>
          child.invoke("write", { path: "file.txt", content: "new" }),
        );
        expect(ownerOf(path)).toBe(`${NOBODY.uid}:${NOBODY.gid}`);
        expect(modeOf(path)).toBe("644");
      });
    });

    asRoot("read-only directories in a tree do not keep it from being removed", async () => {
      await inArena(async (arena) => {
        const { root } = arena;
        mkdirSync(join(root, "modules/a/b/c"), { recursive: true });
        writeFileSync(join(root, "modules/a/b/c/file"), INSIDE);
        writeFileSync(join(root, "modules/a/file"), INSIDE);
        giveAway(arena, ["modules", "modules/a", "modules/a/b", "modules/a/b/c"]);
        for (const path of ["modules/a/b/c", "modules/a/b", "modules/a", "modules"]) chmodSync(join(root, path), 0o555);
        await withChild({ config: { roots: { [ROOT]: root } }, ...NOBODY }, async (child) => {
          expect((await child.invoke("delete", { path: "modules", recursive: true })).code).toBe("ok");
        });
        expect(arena.insideNow()["modules"]).toBeUndefined();
        // Nothing stayed behind out of sight either: the staging directory could be removed.
        expect(lstatSync(join(root, ".venue-files"), { throwIfNoEntry: false })).toBeUndefined();
      });
    });

    asRoot("a tree of somebody else that may not be emptied stays in sight", async () => {
      await inArena(async (arena) => {
        giveAway(arena);
        mkdirSync(join(arena.root, "foreign"));
        writeFileSync(join(arena.root, "foreign/file"), INSIDE);
        mkdirSync(join(arena.root, "foreign-empty"));
        await withChild({ config: { roots: { [ROOT]: arena.root } }, ...NOBODY }, async (child) => {
          expect((await child.invoke("delete", { path: "foreign", recursive: true })).code).toBe("PERMISSION_DENIED");
          expect((await child.invoke("delete", { path: "foreign-empty", recursive: true })).code).toBe("ok");
        });
        expect(readFileSync(join(arena.root, "foreign/file"), "utf8")).toBe(INSIDE);
      });
    });
  });

  asRoot("a set-group-id directory hands its group on", async () => {
    await inArena(async ({ root }) => {
      const shared = join(root, "shared");
      mkdirSync(shared);
      chownSync(shared, 0, 5678);
      chmodSync(shared, 0o2775);
      await withFiles(root, async (files) => {
        await files.invoke("write", { path: "shared/written", content: "x" });
        await files.invoke("append", { path: "shared/appended", content: "x" });
        await files.invoke("write", { path: "shared/a/b/deep", content: "x", parents: true });
      });
      for (const path of ["written", "appended", "a", "a/b", "a/b/deep"]) {
        expect(statSync(join(shared, path)).gid).toBe(5678);
      }
      expect(modeOf(join(shared, "a"))).toMatch(/^2/);
      expect(modeOf(join(shared, "written"))).toBe("644");
    });
  });

  describe.each(ENGINES)("a file with several names, by %s", (engine) => {
    const withNames = async (
      work: (arena: Arena, other: string) => Promise<void>,
      content: string | Buffer = INSIDE,
    ): Promise<void> =>
      inArena(async (arena) => {
        const other = join(arena.outside, "other-name");
        arena.file("linked", content);
        linkSync(join(arena.root, "linked"), other);
        await work(arena, other);
      });

    test("write replaces this name only", async () => {
      await withNames(async ({ root }, other) => {
        await withFiles(root, (files) => files.invoke("write", { path: "linked", content: "new" }), { engine });
        expect(readFileSync(other, "utf8")).toBe(INSIDE);
        expect(readFileSync(join(root, "linked"), "utf8")).toBe("new");
      });
    });

    test("append copies, and keeps the mode", async () => {
      await withNames(async ({ root }, other) => {
        chmodSync(other, 0o640);
        await withFiles(
          root,
          async (files) => {
            expect(await files.invoke("append", { path: "linked", content: "+1" })).toMatchObject({
              appended: 2,
              created: false,
            });
            await files.invoke("append", { path: "linked", content: "+2" });
          },
          { engine },
        );
        expect(readFileSync(other, "utf8")).toBe(INSIDE);
        expect(readFileSync(join(root, "linked"), "utf8")).toBe(`${INSIDE}+1+2`);
        expect(modeOf(join(root, "linked"))).toBe("640");
        expect(statSync(other).nlink).toBe(1);
      });
    });

    test("append copies a file that is larger than one read", async () => {
      const content = Buffer.alloc(300_000, "line of text\n");
      await withNames(async ({ root }, other) => {
        await withFiles(root, (files) => files.invoke("append", { path: "linked", content: "end" }), { engine });
        expect(readFileSync(join(root, "linked")).equals(Buffer.concat([content, Buffer.from("end")]))).toBe(true);
        expect(readFileSync(other).equals(content)).toBe(true);
      }, content);
    });

    test("append refuses to copy more than the maximum size of a write, and changes nothing", async () => {
      await withNames(async ({ root }, other) => {
        const limits = { maxWriteBytes: 20 };
        await withFiles(
          root,
          async (files) => {
            const call = files.invoke("append", { path: "linked", content: "x" });
            await expect(call).rejects.toMatchObject({
              code: "HARD_LINKED",
              message: "File has other hard links: linked",
            });
          },
          { engine, limits },
        );
        expect(readFileSync(other, "utf8")).toBe(INSIDE);
        expect(statSync(other).nlink).toBe(2);
      });
      expect(INSIDE.length).toBe(21);
    });

    test("append copies up to the maximum size of a write", async () => {
      await withNames(async ({ root }) => {
        const limits = { maxWriteBytes: INSIDE.length };
        await withFiles(
          root,
          async (files) => {
            expect(await codeOf(files.invoke("append", { path: "linked", content: "x" }))).toBe("ok");
          },
          { engine, limits },
        );
      });
    });

    test("append changes all hard links if the root allows it", async () => {
      await withNames(async ({ root }, other) => {
        await withFiles(root, (files) => files.invoke("append", { path: "linked", content: "+" }), {
          engine,
          hardLinks: true,
        });
        expect(readFileSync(other, "utf8")).toBe(`${INSIDE}+`);
        expect(statSync(other).nlink).toBe(2);
      });
    });

    test("a hard link added while the content arrives keeps the old content", async () => {
      await inArena(async ({ root, outside }) => {
        const other = join(outside, "late-name");
        const resolveAsset = async () => {
          linkSync(join(root, "file.txt"), other);
          return { content: Buffer.from("+") };
        };
        await withFiles(root, (files) => files.invoke("append", { path: "file.txt", asset: "a" }, { resolveAsset }), {
          engine,
        });
        expect(readFileSync(other, "utf8")).toBe(INSIDE);
        expect(readFileSync(join(root, "file.txt"), "utf8")).toBe(`${INSIDE}+`);
      });
    });
  });

  test("control: plain appendFile and writeFile change every name of a file", async () => {
    await inArena(({ root, outside }) => {
      const other = join(outside, "other-name");
      linkSync(join(root, "file.txt"), other);
      appendFileSync(join(root, "file.txt"), "+");
      expect(readFileSync(other, "utf8")).toBe(`${INSIDE}+`);
      writeFileSync(join(root, "file.txt"), "new");
      expect(readFileSync(other, "utf8")).toBe("new");
    });
  });

  /** Makes the root, and what is named in it, the property of nobody. */
  function giveAway({ base, root }: Arena, paths: readonly string[] = ["file.txt", "dir"]): void {
    chmodSync(base, 0o755);
    chownSync(root, NOBODY.uid, NOBODY.gid);
    for (const path of paths) chownSync(join(root, path), NOBODY.uid, NOBODY.gid);
  }
});

const ROUNDS = 20;

/** Paths that end walks in every way. */
const PATHS = [
  "",
  "file.txt",
  "dir",
  "dir/inner/deep.txt",
  "missing",
  "missing/below",
  "file.txt/below",
  "to-file",
  "to-dir/inner/deep.txt",
  "to-outside",
  "to-outside/secret.txt",
  "dir/climbing",
  "dangling",
  "dangling/below",
  "loop",
  "../outside",
  ".venue-files",
  "deep/a/b/c/d/e/f/g/h/i/j/missing",
];

function plant({ root, link }: Arena): void {
  link("to-file", "file.txt");
  link("to-dir", "dir");
  link("to-outside", "../outside/vault");
  link("dir/climbing", "../../outside");
  link("dangling", "dir/missing");
  link("loop", "loop");
  mkdirSync(join(root, "deep/a/b/c/d/e/f/g/h/i/j"), { recursive: true });
}

async function everyCall(files: Files): Promise<Record<string, number>> {
  const codes: Record<string, number> = {};
  for (const path of PATHS) {
    for (const name of ATTEMPT_NAMES) {
      const { code } = await outcomeOf(ATTEMPTS[name].run(files, path));
      codes[code] = (codes[code] ?? 0) + 1;
    }
  }
  return codes;
}

describe.each(ENGINES)("by %s", (engine) => {
  test("calls of every kind leave no descriptor open, whether they succeed or fail", async () => {
    await inArena(async (arena) => {
      const atFirst = openDescriptors();
      const files = await openFiles(arena.root, engine);
      let opened: string[] | undefined;
      const codes: Record<string, number> = {};
      for (let round = 0; round < ROUNDS / 10; round++) {
        arena.reset();
        plant(arena);
        for (const [code, count] of Object.entries(await everyCall(files))) codes[code] = (codes[code] ?? 0) + count;
        // The last handle of a replaced file is closed in the thread pool.
        opened ??= openDescriptors().filter((path) => !path.endsWith("(deleted)"));
      }
      await expectClosedSoon(opened ?? []);
      expect(Object.keys(codes).sort()).toEqual(EVERY_CODE);
      await files.close();
      await expectClosedSoon(atFirst);
    });
  });

  test("calls that are aborted or run out of time leave no descriptor open", async () => {
    await inArena(async (arena) => {
      arena.file("large", Buffer.alloc(2_000_000));
      for (let n = 0; n < 50; n++) arena.file(`many/${n}/x`);
      // Apart, so that on a busy machine a deadline never comes before the end that is meant.
      const patient = await openFiles(arena.root, engine, { durability: "flush" });
      const hasty = await openFiles(arena.root, engine, { durability: "flush", limits: { timeoutMs: 20 } });
      try {
        for (const files of [patient, hasty]) {
          while ((await outcomeOf(files.invoke("stat", { path: "" }))).code !== "ok");
        }
        const before = openDescriptors();
        for (let round = 0; round < ROUNDS; round++) await abortedCalls(round % 3 === 2 ? hasty : patient, round);
        await expectClosedSoon(before);
      } finally {
        await patient.close();
        await hasty.close();
      }
    });
  });
});

const EVERY_CODE = [
  "DANGLING_SYMLINK",
  "EXISTS_NOT_DIRECTORY",
  "INVALID_PATH",
  "IS_A_DIRECTORY",
  "NOT_A_DIRECTORY",
  "NOT_EMPTY",
  "NOT_FOUND",
  "PARENT_MISSING",
  "PATH_ESCAPES_ROOT",
  "ROOT_DELETE",
  "SYMLINK_ESCAPE",
  "ok",
];

async function abortedCalls(files: Files, round: number): Promise<void> {
  const controller = new AbortController();
  const context = {
    signal: controller.signal,
    resolveAsset: async () => ({ content: endless() }),
  };
  const calls = [
    files.invoke("read", { path: "large" }, context),
    files.invoke("write", { path: `new${round}`, content: "x" }, context),
    files.invoke("write", { path: `streamed${round}`, asset: "a", parents: true }, context),
    files.invoke("append", { path: `appended${round}`, asset: "a" }, context),
    files.invoke("mkdir", { path: `made/${round}/deep`, parents: true }, context),
    files.invoke("tree", { path: "", maxDepth: 10, info: "size" }, context),
    files.invoke("delete", { path: `many/${round}`, recursive: true }, context),
  ];
  const outcomes = Promise.all(calls.map(outcomeOf));
  if (round % 3 === 0) controller.abort();
  else if (round % 3 === 1) setImmediate(() => controller.abort());
  const codes = (await outcomes).map(({ code }) => code);
  expect(codes.filter((code) => !["ok", "ABORTED", "TIMEOUT"].includes(code))).toEqual([]);
  expect(codes).toContain(round % 3 === 2 ? "TIMEOUT" : "ABORTED");
}

async function* endless(): AsyncGenerator<Uint8Array> {
  for (;;) {
    await new Promise((resolve) => setImmediate(resolve));
    yield Buffer.from("x");
  }
}

test("a waiting call does not hold a descriptor per level of its path", async () => {
  await inArena(async ({ root }) => {
    const path = Array.from({ length: 100 }, (_, n) => `d${n}`).join("/");
    mkdirSync(join(root, path), { recursive: true });
    const files = await openFiles(root);
    await files.invoke("stat", { path });
    const before = openDescriptors();
    let during = before;
    const resolveAsset = async () => {
      during = openDescriptors();
      return { content: Buffer.from("x") };
    };
    await files.invoke("write", { path: `${path}/file`, asset: "a" }, { resolveAsset });
    await files.close();
    expect(during.length - before.length).toBeLessThan(5);
  });
});

const NAMES = 850;
/** Directories above this size are read in pieces. */
const PIECES_ABOVE = 16_384;

const named = (names: readonly string[]): { name: string }[] => names.map((name) => ({ name }));

/** A call whose clock says at every look that others have waited long enough. */
function hurriedScope(): { scope: CallScope; turns: () => number } {
  let looks = 0;
  const clock = { ...systemClock, monotonicMs: () => ++looks * 100 };
  return { scope: new CallScope({ clock, timeoutMs: 1_000_000_000 }), turns: () => looks };
}

describe("sorting without blocking the event loop", () => {
  test("gives the order of all enumerations", async () => {
    const name = fc.oneof(fc.string({ unit: "grapheme", maxLength: 4 }), fc.string({ maxLength: 3 }));
    await fc.assert(
      fc.asyncProperty(
        fc.array(name, { minLength: 1, maxLength: 50 }),
        fc.integer({ min: 1, max: 300 }),
        async (few, copies) => {
          const names = Array.from({ length: copies }, (_, n) => few.map((text) => `${text}${n % 7}`)).flat();
          const sorted = await runIo(sortYielding(named(names), hurriedScope().scope));
          expect(sorted).toEqual(sortByName(named(names)));
        },
      ),
      { numRuns: 60 },
    );
  });

  test("yields for many names, not for few", async () => {
    const many = hurriedScope();
    await runIo(sortYielding(named(Array.from({ length: 50_000 }, (_, n) => `${n}`)), many.scope));
    expect(many.turns()).toBeGreaterThan(20);
    const few = hurriedScope();
    const before = few.turns();
    expect(runIo(sortYielding(named(["b", "a"]), few.scope))).toEqual(named(["a", "b"]));
    expect(few.turns()).toBe(before);
  });
});

describe.each(ENGINES)("a directory that is read in pieces, by %s", (engine) => {
  const fill = (path: string): string[] => {
    mkdirSync(path);
    const names = Array.from(
      { length: NAMES },
      (_, n) => `${n % 2 === 0 ? "even" : "ODD"} ${n} ${"ä".repeat(20 + (n % 5))}`,
    );
    for (const name of names) writeFileSync(join(path, name), name);
    writeFileSync(Buffer.concat([Buffer.from(`${path}/broken `), Buffer.from([0xff])]), "x");
    mkdirSync(join(path, "zz/below"), { recursive: true });
    return [...names, "broken \\xff", "zz"];
  };

  test("is listed completely and in order, page by page", async () => {
    await inArena(async ({ root }) => {
      const names = fill(join(root, "many"));
      expect(statSync(join(root, "many")).size).toBeGreaterThan(PIECES_ABOVE);
      await withFiles(
        root,
        async (files) => {
          const seen: string[] = [];
          const descriptors = openDescriptors();
          for (let offset = 0; offset < names.length; offset += 150) {
            const page = await files.invoke("list", { path: "many", offset, limit: 150 });
            expect(page["total"]).toBe(names.length);
            seen.push(...(page["entries"] as { name: string }[]).map(({ name }) => name));
          }
          expect(seen).toEqual(sortByName(named(names)).map(({ name }) => name));
          const { tree } = await files.invoke("tree", { path: "many", maxEntries: 5000 });
          expect(tree).toBe(
            `r/many/\n${seen.map((name) => (name === "zz" ? "\tzz/\n\t\tbelow/\n" : `\t${name}\n`)).join("")}`,
          );
          await expectClosedSoon(descriptors);
        },
        { engine },
      );
    });
  });

  test("is removed completely", async () => {
    await inArena(async ({ root }) => {
      fill(join(root, "many"));
      await withFiles(root, (files) => files.invoke("delete", { path: "many", recursive: true }), { engine });
      expect(existsSync(join(root, "many"))).toBe(false);
      expect(staged(root)).toBeUndefined();
      expect(readdirSync(root).sort()).toEqual(["dir", "file.txt"]);
    });
  });

  test("is closed again when the call is aborted", async () => {
    await inArena(async ({ root }) => {
      fill(join(root, "many"));
      await withFiles(
        root,
        async (files) => {
          const descriptors = openDescriptors();
          const codes = new Set<string>();
          for (let n = 0; n < 20; n++) {
            const controller = new AbortController();
            const call = outcomeOf(files.invoke("list", { path: "many" }, { signal: controller.signal }));
            if (n % 2 === 0) controller.abort();
            else setImmediate(() => controller.abort());
            codes.add((await call).code);
          }
          expect([...codes].filter((code) => code !== "ok")).toEqual(["ABORTED"]);
          await expectClosedSoon(descriptors);
        },
        { engine },
      );
    });
  });
});

describe("temp roots", () => {
  const HOME = `venue-files-${process.geteuid?.() ?? "user"}`;

  /** The system's temp directory, as the processes of these tests see it. */
  let temp: string;
  beforeEach(() => {
    temp = realpathSync(mkdtempSync(join(tmpdir(), "venue-temp-")));
    chmodSync(temp, 0o777);
  });
  afterEach(() => rmSync(temp, { recursive: true, force: true }));

  const options = (more: Partial<ChildOptions> = {}): ChildOptions => ({
    config: { roots: { [ROOT]: { temp: true } } },
    env: { TMPDIR: temp },
    ...more,
  });

  const modeOf = (path: string): string => (statSync(path).mode & 0o7777).toString(8);
  const instances = (): string[] => readdirSync(join(temp, HOME)).sort();

  /** Makes what a process of that identity would have left behind. */
  function leave(instance: string, change: Partial<ProcessIdentity> = {}): string {
    const path = join(temp, HOME, instance);
    mkdirSync(join(path, "covia-r-abc/deep"), { recursive: true });
    chmodSync(join(temp, HOME), 0o700);
    writeFileSync(join(path, "covia-r-abc/deep/file"), "x");
    writeFileSync(`${path}.json`, JSON.stringify({ ...ownIdentity(), ...change }));
    return path;
  }

  async function rootPath(child: Child): Promise<string> {
    const { output } = await child.invoke("roots", {});
    const roots = (output?.["roots"] ?? []) as readonly { path: string }[];
    return String(roots[0]?.path);
  }

  const hex = (n: number): string => n.toString(16).padStart(16, "0");
  const deadPid = (): number => spawnSync("true").pid;

  describe("a temp root", () => {
    test("stands in two directories that only we may enter, and is gone after close", async () => {
      await withChild(options(), async (child) => {
        const path = await rootPath(child);
        const [home, instance, name] = path.slice(temp.length + 1).split("/");
        expect(home).toBe(HOME);
        expect(instance).toMatch(/^[0-9a-f]{16}$/);
        expect(name).toMatch(/^covia-r-.{6}$/);
        for (const part of [home, `${home}/${instance}`, `${home}/${instance}/${name}`]) {
          expect(modeOf(join(temp, String(part)))).toBe("700");
        }
        const record = `${HOME}/${instance}.json`;
        expect(modeOf(join(temp, record))).toBe("600");
        expect(JSON.parse(readFileSync(join(temp, record), "utf8"))).toEqual({
          ...ownIdentity(),
          pid: child.pid,
          start: expect.any(Number),
        });
        await child.invoke("write", { path: "a/b/c", content: "x", parents: true });
        expect(readFileSync(join(path, "a/b/c"), "utf8")).toBe("x");
      });
      expect(instances()).toEqual([]);
    });

    test("keeps its private directories private under a lax umask", async () => {
      await withChild(options({ umask: 0 }), async (child) => {
        const path = await rootPath(child);
        expect(modeOf(path)).toBe("700");
        expect(modeOf(join(path, ".."))).toBe("700");
        expect(modeOf(join(path, "../.."))).toBe("700");
      });
    });

    test("is removed however deep it is, and whatever links it holds", async () => {
      const outside = join(temp, "outside");
      mkdirSync(outside);
      writeFileSync(join(outside, "canary"), "x");
      await withChild(options(), async (child) => {
        const path = await rootPath(child);
        symlinkSync(outside, join(path, "link"));
        // A path to the bottom would be too long for any call.
        let built = join(path, "0");
        mkdirSync(built);
        for (let level = 1; level < 1500; level++) {
          mkdirSync(join(path, String(level)));
          renameSync(built, join(path, String(level), "d".repeat(20)));
          built = join(path, String(level));
        }
      });
      expect(instances()).toEqual([]);
      expect(readdirSync(outside)).toEqual(["canary"]);
    });
  });

  describe("what dead processes left", () => {
    test("is removed at the next start", async () => {
      leave(hex(1), { pid: deadPid() });
      leave(hex(2), { boot: "0123abcd" });
      leave(hex(3), { start: 1 });
      await withChild(options(), async () => {});
      expect(instances()).toEqual([]);
    });

    test("goes while others have their turns", async () => {
      const many = join(leave(hex(1), { pid: deadPid() }), "covia-r-abc");
      for (let at = 0; at < 1000; at += 1) writeFileSync(join(many, String(at)), "");
      const home = new TempHome(temp);
      const root = home.create("covia-r-");
      expect(instances()).toContain(hex(1));
      expect(existsSync(root)).toBe(true);
      await home.remove();
      expect(instances()).toEqual([]);
    });

    test("of a killed process is removed at the next start", async () => {
      const child = await startChild(options());
      await child.invoke("write", { path: "a/b", content: "x", parents: true });
      await child.kill();
      expect(instances()).toHaveLength(2);
      await withChild(options(), async () => {});
      expect(instances()).toEqual([]);
    });

    test("does not keep a start from serving when it cannot be read or removed", async () => {
      if (isRoot) chmodSync(temp, 0o777);
      const rights = isRoot ? NOBODY : {};
      const home = join(temp, isRoot ? `venue-files-${NOBODY.uid}` : HOME);
      mkdirSync(join(home, hex(1), "closed/below"), { recursive: true });
      writeFileSync(`${join(home, hex(1))}.json`, JSON.stringify({ ...ownIdentity(), pid: deadPid() }));
      if (isRoot) {
        for (const path of ["", hex(1), `${hex(1)}.json`]) chownSync(join(home, path), NOBODY.uid, NOBODY.gid);
        // Somebody else's, and full: nobody can remove it.
        writeFileSync(join(home, hex(1), "closed/below/file"), "x");
      } else chmodSync(join(home, hex(1), "closed"), 0o000);
      chmodSync(home, 0o700);
      await withChild(options(rights), async (child) => {
        expect((await child.invoke("write", { path: "a", content: "x" })).code).toBe("ok");
      });
      expect(existsSync(join(home, `${hex(1)}.json`))).toBe(isRoot);
    });

    test("stays if the process may be alive", async () => {
      leave(hex(1));
      leave(hex(2), { namespace: 1, pid: deadPid() });
      leave(hex(3), { boot: "00000000", pid: deadPid() });
      leave(hex(4));
      writeFileSync(join(temp, HOME, `${hex(4)}.json`), "{ not a record");
      mkdirSync(join(temp, HOME, hex(5)));
      await withChild(options(), async () => {});
      expect(instances()).toEqual([1, 2, 3, 4].flatMap((n) => [hex(n), `${hex(n)}.json`]).concat(hex(5)));
    });

    test("is not searched for under other names", async () => {
      mkdirSync(join(temp, HOME), { mode: 0o700 });
      const dead = JSON.stringify({ ...ownIdentity(), pid: deadPid() });
      for (const name of [".json", "...json", "kept.json", `${hex(1)}.JSON`])
        writeFileSync(join(temp, HOME, name), dead);
      mkdirSync(join(temp, HOME, "kept"));
      await withChild(options(), async (child) => {
        expect((await child.invoke("list", {})).code).toBe("ok");
      });
      expect(instances()).toEqual([".json", "...json", "kept", "kept.json", `${hex(1)}.JSON`].sort());
    });

    test("is removed itself if it is a link, never its target", async () => {
      const outside = join(temp, "outside");
      mkdirSync(outside);
      writeFileSync(join(outside, "canary"), "x");
      leave(hex(1), { pid: deadPid() });
      rmSync(join(temp, HOME, hex(1)), { recursive: true });
      symlinkSync(outside, join(temp, HOME, hex(1)));
      const second = leave(hex(2), { pid: deadPid() });
      symlinkSync(outside, join(second, "covia-r-link"));
      await withChild(options(), async () => {});
      expect(readdirSync(outside)).toEqual(["canary"]);
      expect(instances().filter((name) => name.startsWith(hex(2)))).toEqual([]);
    });
  });

  describe("the directory of all our temp roots", () => {
    const refusal = `Root 'r' cannot be made: .* is in the way. Remove it, or set TMPDIR to a directory of your own`;

    test("is not taken when it is a link", async () => {
      mkdirSync(join(temp, "elsewhere"), { mode: 0o700 });
      symlinkSync("elsewhere", join(temp, HOME));
      await expect(startChild(options())).rejects.toThrow(new RegExp(refusal));
      expect(readdirSync(join(temp, "elsewhere"))).toEqual([]);
    });

    test("is not taken when it is a file", async () => {
      writeFileSync(join(temp, HOME), "x");
      await expect(startChild(options())).rejects.toThrow(new RegExp(refusal));
    });

    // Root lets others pass on to directories that it has given to them, but not see what there is.
    const modes = ["777", "755", "733", "710"];
    test.each(process.geteuid?.() === 0 ? modes.slice(0, 3) : modes)(
      "is not taken when its mode is %s",
      async (mode) => {
        mkdirSync(join(temp, HOME));
        chmodSync(join(temp, HOME), Number.parseInt(mode, 8));
        await expect(startChild(options())).rejects.toThrow(new RegExp(refusal));
      },
    );

    asRoot("is not taken when it belongs to somebody else", async () => {
      mkdirSync(join(temp, HOME), { mode: 0o700 });
      chownSync(join(temp, HOME), NOBODY.uid, NOBODY.gid);
      await expect(startChild(options())).rejects.toThrow(new RegExp(refusal));
    });
  });
});
