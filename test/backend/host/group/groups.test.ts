import { spawnSync } from "node:child_process";
import { createHash } from "node:crypto";
import fs, {
  chmodSync,
  existsSync,
  mkdirSync,
  mkdtempSync,
  readdirSync,
  readFileSync,
  renameSync,
  rmSync,
  statSync,
  symlinkSync,
  unlinkSync,
  writeFileSync,
} from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { afterEach, beforeEach, describe, expect, jest, test } from "@jest/globals";
import { assembleAdapter } from "../../../../src/adapter/adapter.js";
import type { RecoveryReport } from "../../../../src/backend/host/group/recovery.js";
import { parseFileConfig } from "../../../../src/config/load.js";
import { ProcHandles } from "../../../../src/jail/handles.js";
import { pool } from "../../../../src/jail/pool.js";
import { HeldFolders } from "../../../../src/jail/staging/folder.js";
import { Locks } from "../../../../src/jail/staging/locks.js";
import { Sys } from "../../../../src/jail/sys.js";
import { ownIdentity, printIdentity } from "../../../../src/process/identity.js";
import { useGround } from "../../../ops/ground.js";
import { stagedIn } from "../../../staged.js";
import { killPatches } from "./killed-patches.js";

afterEach(() => {
  jest.restoreAllMocks();
});

describe("recovery", () => {
  let home = "";
  let root = "";
  let reports: RecoveryReport[] = [];
  beforeEach(() => {
    home = mkdtempSync(join(tmpdir(), "venue-files-recovery-"));
    root = join(home, "root");
    mkdirSync(root);
    reports = [];
  });
  afterEach(() => {
    jest.restoreAllMocks();
    rmSync(home, { recursive: true, force: true });
  });

  interface OpenOptions {
    readonly root?: object;
    readonly withState?: boolean;
  }

  const open = (options: OpenOptions = {}) => {
    const path = join(home, "state");
    return assembleAdapter(parseFileConfig({ roots: { r: { path: root, ...options.root } } }, { baseDir: home }), {
      discloseHostPaths: false,
      ...(options.withState === true
        ? { stateDir: { path, prepare: () => mkdirSync(path, { recursive: true }) } }
        : {}),
      onRecovery: (_, report) => reports.push(report),
    });
  };

  /** Opens the root, waits until it is recovered, and closes it. */
  async function recover(options: OpenOptions = {}): Promise<void> {
    const files = await open(options);
    await files.invoke("file:list", { root: "r" });
    await files.close();
  }

  /** Name of an intent of a process that is dead. */
  function deadName(change: object = {}): string {
    const { pid } = spawnSync(process.execPath, ["-e", ""]);
    return `patch-${printIdentity({ ...ownIdentity(), pid, start: 1, ...change }, "0123456789abcdef")}`;
  }

  /** Leaves `a` as half of a patch would: with new content, the old one kept in the intent. */
  function leaveHalf(name: string, path: readonly string[] = ["a"]): { sha256: string } {
    const folder = join(root, ".venue-files", name);
    mkdirSync(folder, { recursive: true, mode: 0o700 });
    chmodSync(join(root, ".venue-files"), 0o700);
    writeFileSync(join(folder, "before-0"), "old");
    writeFileSync(join(root, ...path), "new");
    const { ino, mtimeMs } = statSync(join(root, ...path));
    const after = { type: "file", inode: String(ino), size: 3, modified: Math.floor(mtimeMs) };
    const record = JSON.stringify({
      format: 1,
      steps: [{ put: { path, after, staged: "after-0", before: "before-0" } }],
    });
    writeFileSync(join(folder, "record-0"), record, { mode: 0o600 });
    return { sha256: createHash("sha256").update(record).digest("hex") };
  }

  function register(name: string, sha256: string): void {
    const folder = join(home, "state", "intents", createHash("sha256").update(root).digest("hex"));
    mkdirSync(folder, { recursive: true });
    writeFileSync(join(folder, name), `${sha256}\n`);
  }

  const text = (path: string): string => readFileSync(join(root, path), "utf8");
  const staged = (): string[] => stagedIn(root) ?? [];

  describe("what a dead process left of a patch", () => {
    test.each([
      ["by its process, of this boot", false],
      ["by the register of the venue", true],
    ])("is undone when it is known: %s", async (_, withState) => {
      const name = deadName();
      const { sha256 } = leaveHalf(name);
      if (withState) register(name, sha256);
      await recover({ withState });
      expect([text("a"), staged(), reports]).toEqual(["old", [], [{ outcome: "undone", paths: [["a"]] }]]);
    });

    test.each<[why: string, change: object, withState: boolean]>([
      ["it names another boot, as one in a repository does", { boot: "deadbeef" }, false],
      ["the register does not know it", {}, true],
    ])("is never applied, but moved aside, when %s", async (_, change, withState) => {
      const name = deadName(change);
      leaveHalf(name);
      await recover({ withState });
      expect([text("a"), reports]).toEqual(["new", [{ outcome: "foreign", paths: [] }]]);
      expect(staged()).toEqual([name.replace("patch-", "aside-")]);
      reports = [];
      await recover({ withState });
      expect([text("a"), reports]).toEqual(["new", []]);
    });

    test("is undone by its venue after another one has moved it aside", async () => {
      const name = deadName({ boot: "deadbeef" });
      const { sha256 } = leaveHalf(name);
      await recover();
      register(name, sha256);
      await recover({ withState: true });
      expect([text("a"), staged()]).toEqual(["old", []]);
    });

    test("is not applied when its record was changed", async () => {
      const name = deadName();
      leaveHalf(name);
      register(name, "0".repeat(64));
      await recover({ withState: true });
      expect(text("a")).toBe("new");
    });

    test.each([["deny"], ["protect"]])("is left where the operator has since set %s", async (option) => {
      leaveHalf(deadName());
      await recover({ root: { [option]: ["a"] } });
      expect([text("a"), reports]).toEqual(["new", [{ outcome: "interrupted", paths: [["a"]] }]]);
      // What was there is not thrown away.
      expect(readFileSync(join(root, ".venue-files", staged()[0] ?? "", "before-0"), "utf8")).toBe("old");
    });

    test("is left where another has changed the file since", async () => {
      leaveHalf(deadName());
      writeFileSync(join(root, "a"), "by another");
      await recover();
      expect([text("a"), reports]).toEqual(["by another", [{ outcome: "interrupted", paths: [["a"]] }]]);
    });

    test("is put back through no link", async () => {
      mkdirSync(join(root, "d"));
      leaveHalf(deadName(), ["d", "a"]);
      renameSync(join(root, "d"), join(home, "outside"));
      symlinkSync(join(home, "outside"), join(root, "d"));
      await recover();
      expect(readFileSync(join(home, "outside", "a"), "utf8")).toBe("new");
      expect(reports).toEqual([{ outcome: "interrupted", paths: [["d", "a"]] }]);
    });

    test("is undone before the next change of a process that was open all along", async () => {
      writeFileSync(join(root, "b"), "b");
      const files = await open();
      await files.invoke("file:list", { root: "r" });
      const name = deadName();
      leaveHalf(name);
      writeFileSync(join(root, ".venue-files", "lock"), name.slice("patch-".length));
      await files.invoke("file:write", { root: "r", path: "b", content: "B" });
      expect([text("a"), text("b"), reports]).toEqual(["old", "B", [{ outcome: "undone", paths: [["a"]] }]]);
      await files.close();
    });

    test("of a running process is left alone", async () => {
      const name = `patch-${printIdentity(ownIdentity(), "0123456789abcdef")}`;
      leaveHalf(name);
      await recover();
      expect([text("a"), staged(), reports]).toEqual(["new", [name], []]);
    });
  });

  describe("a patch", () => {
    const changes = (...paths: readonly string[]) =>
      paths.map((path) => ({ op: "write" as const, path, content: "x" }));

    test("is not supported by a root that cannot have a staging directory", async () => {
      writeFileSync(join(root, ".venue-files"), "in the way");
      const files = await open();
      await expect(files.invoke("file:patch", { root: "r", changes: changes("a", "b") })).rejects.toMatchObject({
        code: "NOT_SUPPORTED",
      });
      expect(readdirSync(root)).toEqual([".venue-files"]);
      await files.close();
    });

    test("never writes outside while a folder is swapped for a link all the time", async () => {
      const outside = join(home, "outside");
      mkdirSync(outside);
      mkdirSync(join(root, "d"));
      symlinkSync(outside, join(home, "link"));
      const files = await open();
      let isOver = false;
      const swapping = (async () => {
        for (let _turn = 0; !isOver; _turn++) {
          renameSync(join(root, "d"), join(home, "parked"));
          symlinkSync(outside, join(root, "d"));
          await new Promise((resolve) => setImmediate(resolve));
          unlinkSync(join(root, "d"));
          renameSync(join(home, "parked"), join(root, "d"));
          await new Promise((resolve) => setImmediate(resolve));
        }
      })();
      const codes = new Set<string>();
      for (let round = 0; round < 150; round++) {
        const paths = ["a", "d/x", "b", `d/${round}/y`];
        await files.invoke("file:patch", { root: "r", changes: changes(...paths) }).then(
          () => codes.add("OK"),
          (error: { code: string }) => codes.add(error.code),
        );
        await new Promise((resolve) => setImmediate(resolve));
      }
      isOver = true;
      await swapping;
      expect(readdirSync(outside)).toEqual([]);
      expect(codes.size).toBeGreaterThan(0);
      await files.close();
    });
  });

  describe("a patch that fails when another has changed its files already", () => {
    /** Changes `a` and deletes `b`, then fails; meanwhile another makes a new `b`. */
    async function raced(options: OpenOptions = {}): Promise<{ code: string; data: object }> {
      for (const name of ["a", "b"]) writeFileSync(join(root, name), `old ${name}`);
      const files = await open({ ...options, root: { durability: "flush" } });
      const flush = pool.fsync.bind(pool);
      jest.spyOn(pool, "fsync").mockImplementation((fd) => {
        if (existsSync(join(root, "b"))) return flush(fd);
        writeFileSync(join(root, "b"), "by another");
        return Promise.reject(Object.assign(new Error("io"), { code: "EIO", syscall: "fsync" }));
      });
      const changes = [
        { op: "write", path: "a", content: "new" },
        { op: "delete", path: "b" },
      ];
      const failed = files.invoke("file:patch", { root: "r", changes });
      const error = await failed.then(
        () => undefined,
        (one: { code: string; data: object }) => one,
      );
      await files.close();
      if (error === undefined) throw new Error("The patch was made");
      return error;
    }

    test.each([false, true])("sets aside what it kept, and tells of it (state directory: %s)", async (withState) => {
      const error = await raced({ withState });
      expect(error).toMatchObject({ code: "IO_ERROR", data: { notPutBack: ["b"] } });
      expect([text("a"), text("b")]).toEqual(["old a", "by another"]);
      expect(reports).toEqual([{ outcome: "raced", paths: [["b"]] }]);
      const [folder = "", ...others] = staged();
      expect([folder, others]).toEqual([expect.stringMatching(/^aside-/), []]);
      expect(readFileSync(join(root, ".venue-files", folder, "before-1"), "utf8")).toBe("old b");
      const intents = join(home, "state", "intents");
      if (withState) expect(readdirSync(join(intents, readdirSync(intents)[0] ?? ""))).toEqual([]);
    });

    test("is not undone by the next start, when what was in the way is gone", async () => {
      await raced();
      const [folder = ""] = staged();
      // As if its process had died.
      const dead = `${folder.slice(0, folder.indexOf("-"))}${deadName().slice("patch".length)}`;
      renameSync(join(root, ".venue-files", folder), join(root, ".venue-files", dead));
      unlinkSync(join(root, "b"));
      reports = [];
      await recover();
      expect([existsSync(join(root, "b")), staged(), reports]).toEqual([false, [dead], []]);
    });
  });
});

test.each([
  ["none", 6],
  ["flush", 4],
] as const)("a patch whose process is killed is never seen half done (durability %s)", async (durability, kills) => {
  const { halves, amid, left } = await killPatches(kills, durability);
  expect(halves).toEqual([]);
  expect([amid, left]).toEqual([kills / 2, kills / 2]);
});

describe("a trash that is held", () => {
  const ground = useGround({ journal: true });

  /** Uses of the folder of the trash that have not ended. */
  function countUses(): () => number {
    let open = 0;
    const real = HeldFolders.prototype.use;
    jest.spyOn(HeldFolders.prototype, "use").mockImplementation(function* (this: HeldFolders, ...given) {
      const use = yield* real.apply(this, given);
      if (use === undefined) return undefined;
      open++;
      return {
        ...use,
        release() {
          open--;
          use.release();
        },
      };
    });
    return () => open;
  }

  test.each(["EACCES", "EMFILE", "EIO"])(
    "a deletion of a group that fails by %s lets go of the trash",
    async (code) => {
      ground.put("a", "1");
      ground.put("b", "2");
      const open = countUses();
      const pin = ProcHandles.prototype.pin;
      let failures = 0;
      jest.spyOn(ProcHandles.prototype, "pin").mockImplementation(function* (this: ProcHandles, ...given) {
        if (String(given[1]).length > 40 && failures++ === 0)
          throw Object.assign(new Error(code), { code, syscall: "open" });
        return yield* pin.apply(this, given);
      });
      const changes = ["a", "b"].map((path) => ({ op: "delete", path }) as const);
      await expect(ground.run("patch", { changes })).rejects.toThrow();
      expect([ground.get("a").toString(), ground.get("b").toString(), failures > 0, open()]).toEqual([
        "1",
        "2",
        true,
        0,
      ]);
    },
  );
});

describe("what others made meanwhile", () => {
  const ground = useGround({ journal: true });

  test.each([
    ["on the way", { op: "write", path: "d/x", content: "1" }, ["d"]],
    ["of its own", { op: "mkdir", path: "d" }, ["d"]],
    ["on the way to its own", { op: "mkdir", path: "d/e" }, ["d"]],
    ["elsewhere", { op: "write", path: "f/x", content: "1" }, ["d"]],
  ])("a group that fails leaves a directory that others have made since it looked: %s", async (_, change, left) => {
    const { link } = Sys.prototype;
    const { hold } = Locks.prototype;
    jest.spyOn(Locks.prototype, "hold").mockImplementation(function* (this: Locks, request) {
      ground.mkdir("d");
      return yield* hold.call(this, request);
    });
    jest.spyOn(Sys.prototype, "link").mockImplementation(function* (this: Sys, from, to) {
      if (to.endsWith("/last")) throw Object.assign(new Error("EIO"), { code: "EIO", syscall: "link" });
      return yield* link.call(this, from, to);
    });
    const changes = [change, { op: "write", path: "g/h/last", content: "2" }];
    expect(await ground.fail("patch", { changes })).toMatchObject({ code: "IO_ERROR" });
    expect([ground.names(), ground.names("d")]).toEqual([left, []]);
  });
});

describe("a group of one rename", () => {
  const ground = useGround({ journal: true, root: { durability: "flush" } });
  const { run } = ground;

  /** How often something is flushed to the disk. */
  async function flushes(work: () => Promise<unknown>): Promise<number> {
    const fsync = jest.spyOn(pool, "fsync");
    await work();
    const count = fsync.mock.calls.length;
    fsync.mockRestore();
    return count;
  }

  describe("a group of one file that is replaced", () => {
    test("is flushed as often as a write: no record is needed to undo it after a crash", async () => {
      ground.put("a.txt", "one\n");
      const edit = await flushes(() => run("edit", { path: "a.txt", oldText: "one", newText: "two" }));
      const undo = await flushes(() => run("undo", { last: 1 }));
      expect(edit).toBeGreaterThan(0);
      expect(undo).toBe(edit);
      expect(ground.get("a.txt").toString()).toBe("one\n");
    });

    test("of more files or with new folders is recorded first", async () => {
      for (const name of ["a.txt", "b.txt"]) ground.put(name, "one\n");
      const patch = (...paths: string[]): string =>
        ["*** Begin Patch", ...paths.flatMap((path) => [`*** Add File: ${path}`, "+x"]), "*** End Patch", ""].join(
          "\n",
        );
      const one = await flushes(() => run("patch", { patch: patch("new.txt") }));
      expect(await flushes(() => run("patch", { patch: patch("c.txt", "d.txt") }))).toBeGreaterThan(one + 1);
      expect(await flushes(() => run("patch", { patch: patch("deep/new.txt") }))).toBeGreaterThan(one + 1);
    });

    test("leaves nothing behind where it fails", async () => {
      ground.put("a.txt", "one\n");
      await run("edit", { path: "a.txt", oldText: "one", newText: "two" });
      const fsync = jest.spyOn(pool, "fsync");
      fsync.mockImplementationOnce(fsync.getMockImplementation() ?? (() => Promise.resolve()));
      fsync.mockImplementationOnce(() =>
        Promise.reject(Object.assign(new Error("io"), { code: "EIO", syscall: "fsync" })),
      );
      await expect(run("undo", { last: 1 })).rejects.toMatchObject({ code: "IO_ERROR" });
      fsync.mockRestore();
      expect(ground.get("a.txt").toString()).toBe("two\n");
      await run("undo", { last: 1 });
      expect(ground.get("a.txt").toString()).toBe("one\n");
      const left = (): string[] =>
        readdirSync(join(ground.dir, ".venue-files")).filter((name) => name.startsWith("patch-"));
      // Folders are removed after the answer.
      while (left().length > 0) await new Promise((resolve) => setImmediate(resolve));
    });
  });

  describe("a group of one file that is replaced, without flushes", () => {
    const quick = useGround({ journal: true, root: { durability: "none" } });

    test("is one write: it makes no folder and leaves nothing behind, and the permissions come back", async () => {
      quick.put("a.txt", "one\n");
      chmodSync(join(quick.dir, "a.txt"), 0o640);
      const { mtimeMs } = statSync(join(quick.dir, "a.txt"));
      await quick.run("edit", { path: "a.txt", oldText: "one", newText: "two" });
      const mkdir = jest.spyOn(fs, "mkdirSync");
      await quick.run("undo", { last: 1 });
      expect(mkdir).not.toHaveBeenCalled();
      expect(quick.get("a.txt").toString()).toBe("one\n");
      const stat = statSync(join(quick.dir, "a.txt"));
      expect([stat.mode & 0o777, Math.floor(stat.mtimeMs)]).toEqual([0o640, Math.floor(mtimeMs)]);
    });
  });
});
