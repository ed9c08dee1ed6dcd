import { spawn, spawnSync } from "node:child_process";
import { once } from "node:events";
import {
  chmodSync,
  chownSync,
  existsSync,
  mkdirSync,
  mkdtempSync,
  openSync,
  readdirSync,
  readFileSync,
  realpathSync,
  rmSync,
  statSync,
  utimesSync,
  writeFileSync,
} from "node:fs";
import { release, tmpdir } from "node:os";
import { join } from "node:path";
import { setTimeout as sleep } from "node:timers/promises";
import { fileURLToPath } from "node:url";
import { afterAll, afterEach, test as anywhere, beforeAll, beforeEach, describe, expect, jest } from "@jest/globals";
import { sweepRuns } from "../../src/backend/host/runs/run-mark.js";
import { runIo } from "../../src/core/io.js";
import { DEFAULT_SHELL } from "../../src/core/ports/sandbox.js";
import { createFileAdapter } from "../../src/index.js";
import { Jail } from "../../src/jail/jail.js";
import { Locks } from "../../src/jail/staging/locks.js";
import { ownIdentity, type ProcessIdentity, printIdentity } from "../../src/process/identity.js";
import { createSandbox } from "../../src/sandbox/create.js";
import { needs } from "../needs.js";
import { stagedIn } from "../staged.js";
import { until } from "../until.js";
import { bwrapHere, isRoot, OWNER, processesWith, useShell } from "./ground.js";
import { changesBy, changesIn, told } from "./run-history.js";

const { possible, reason } = await bwrapHere();
const test = needs(possible, reason);

const groupsOf = (changes: readonly { readonly group?: string }[]): (string | undefined)[] => [
  ...new Set(changes.map(({ group }) => group)),
];

describe("what a command has changed", () => {
  const ground = useShell({ journal: true, root: { deny: [".env"], protect: ["@git"] } });

  test("is one group, with what can be taken back", async () => {
    for (const name of ["edited", "deleted", "renamed", "same", "d/x", "d/y/z"]) ground.put(name, name);
    const context = { session: "s1", surface: "mcp" };
    const changes = await changesBy(ground, () =>
      ground.sh("echo more >> edited; rm -r deleted d; mv renamed moved; mkdir -p t/u; echo 1 > t/u/v; echo 2 > w", {
        context,
      }),
    );
    expect(changes.map(told).sort()).toEqual(
      ["now edited", "was deleted", "was d", "renamed > moved", "new t", "new w"].sort(),
    );
    expect(groupsOf(changes)).toEqual([expect.stringMatching(/^g/)]);
    for (const one of changes) {
      expect(one).toMatchObject({ op: "exec", actor: "operator", via: "s1", surface: "mcp", mayInclude: "external" });
      const isUndoable = one.before === null || one.from !== undefined;
      expect(one).toMatchObject(isUndoable ? { undoable: true } : { undoable: false, reason: "not_kept" });
    }
    expect(changes.find(({ path }) => path === "d")).toMatchObject({ kind: "directory", files: 2 });
    expect(changes.find(({ path }) => path === "t")).toMatchObject({ kind: "directory", files: 1 });
    expect(changes.find(({ path }) => path === "edited")).toMatchObject({ before: { size: 6 }, after: { size: 11 } });
  });

  test("is taken back as a whole where nothing was replaced, and made again", async () => {
    ground.put("a/k/old", "old");
    ground.put("b", "b");
    const changes = await changesBy(ground, () =>
      ground.sh("mv a c; mkdir -p n/m; mv b n/m/b2; echo x > n/x; mkdir e; echo y > c/k/y"),
    );
    expect(changes.map(told)).toEqual(expect.arrayContaining(["a > c", "new c/k/y", "b > n/m/b2", "new n", "new e"]));
    const group = changes[0]?.group ?? "";
    const undone = await ground.adapter.invoke("file:undo", { group });
    expect(
      readdirSync(ground.dir)
        .filter((name) => name !== ".venue-files")
        .sort(),
    ).toEqual(["a", "b"]);
    expect(readFileSync(join(ground.dir, "a/k/old"), "utf8")).toBe("old");
    expect(readFileSync(join(ground.dir, "b"), "utf8")).toBe("b");
    await ground.adapter.invoke("file:undo", { id: undone.group ?? undone.id ?? "" });
    expect(readFileSync(join(ground.dir, "n/m/b2"), "utf8")).toBe("b");
    expect(readFileSync(join(ground.dir, "n/x"), "utf8")).toBe("x\n");
    expect(readFileSync(join(ground.dir, "c/k/y"), "utf8")).toBe("y\n");
  });

  test("is not taken back as a whole where something was replaced, and nothing changes then", async () => {
    ground.put("edited", "1");
    const changes = await changesBy(ground, () => ground.sh("echo 2 > edited; echo 3 > made"));
    const group = changes[0]?.group ?? "";
    await expect(ground.adapter.invoke("file:undo", { group })).rejects.toMatchObject({ code: "NOT_SUPPORTED" });
    expect(existsSync(join(ground.dir, "made"))).toBe(true);
    const made = changes.find(({ path }) => path === "made")?.id ?? "";
    await ground.adapter.invoke("file:undo", { id: made });
    expect(existsSync(join(ground.dir, "made"))).toBe(false);
  });

  test("leaves out what is denied, what calls made meanwhile, and what looks only", async () => {
    ground.put(".env", "SECRET");
    ground.put("file", "1");
    expect(await changesBy(ground, () => ground.sh("cat file; ls; true"))).toEqual([]);
    const context = { caps: [{ with: "file://r/", can: "exec/run" }] };
    expect(await changesBy(ground, () => ground.sh("echo x > y", { context }))).toEqual([]);
    const changes = await changesBy(ground, async () => {
      // The command waits for the file that a call writes.
      const running = ground.sh("echo 1 > mine; until [ -e go/x ]; do sleep 0.05; done; echo 2 >> mine");
      await ground.adapter.invoke("file:write", { root: "r", path: "go/x", content: "theirs", parents: true });
      await running;
    });
    expect(changes.map((one) => [one.op, told(one)])).toEqual([
      ["write", "new go/x"],
      ["exec", "new mine"],
    ]);
  });

  test("leaves a folder that a call made meanwhile to that call, and says where both have changed a file", async () => {
    const changes = await changesBy(ground, async () => {
      const command = "until [ -e go ]; do sleep 0.05; done; echo 1 > theirs/mine; echo 2 >> both";
      const running = await ground.adapter.exec(ground.request(command));
      await ground.adapter.invoke("file:mkdir", { root: "r", path: "theirs" });
      await ground.adapter.invoke("file:write", { root: "r", path: "both", content: "1" });
      await ground.adapter.invoke("file:write", { root: "r", path: "go", content: "" });
      await running.exited;
    });
    expect(changes.map((one) => [one.op, told(one), one.reason])).toEqual([
      ["mkdir", "new theirs", undefined],
      ["write", "new both", undefined],
      ["write", "new go", undefined],
      ["exec", "new both", "concurrent"],
      ["exec", "new theirs/mine", undefined],
    ]);
  });

  test("has paths of the root where a directory in it is mounted, which is part of it where it was made", async () => {
    const mounts = [{ root: "r", prefix: "deep/er", at: "/workspace" }];
    const changes = await changesBy(ground, () => ground.sh("echo 1 > f", { mounts }));
    expect(changes.map((one) => [one.op, told(one), one.made])).toEqual([
      ["exec", "new deep/er", ["deep"]],
      ["exec", "new deep/er/f", undefined],
    ]);
    expect(groupsOf(changes)).toHaveLength(1);
    await ground.adapter.invoke("file:undo", { group: changes[0]?.group ?? "" });
    expect(existsSync(join(ground.dir, "deep"))).toBe(false);
  });

  test("is known of a command that was killed too", async () => {
    const changes = await changesBy(ground, async () => {
      const process = await ground.adapter.exec(ground.request("echo 1 > f; echo ready; sleep 100"));
      while (!Buffer.from(process.output().stdout).includes("ready")) await new Promise((next) => setImmediate(next));
      await process.kill();
    });
    expect(changes.map(told)).toEqual(["new f"]);
  });

  test("blocks its undo where somebody has changed it since", async () => {
    const changes = await changesBy(ground, () => ground.sh("echo 1 > f; mkdir t; echo 1 > t/g"));
    const [file, newest] = [join(ground.dir, "t/g"), Math.max(...changes.map(({ time }) => time))];
    // The clock of file times goes by ticks of some milliseconds.
    do writeFileSync(file, "theirs");
    while (statSync(file).ctimeMs <= newest + 1);
    const group = changes[0]?.group ?? "";
    await expect(ground.adapter.invoke("file:undo", { group })).rejects.toMatchObject({ code: "CONFLICT" });
    expect(readFileSync(join(ground.dir, "f"), "utf8")).toBe("1\n");
    expect(await changesIn(ground)).toEqual(expect.arrayContaining([...changes]));
  });

  test("is said to be incomplete in a tree that is too large to be looked at, and is not taken back as a whole", async () => {
    mkdirSync(join(ground.dir, "z"));
    for (let count = 0; count <= 50_000; count++) writeFileSync(join(ground.dir, "z", `${count}`), "");
    ground.put("a/b", "1");
    const changes = await changesBy(ground, () => ground.sh("echo 1 > a/c; echo 2 > a/b"));
    expect(changes.map((one) => [told(one), one.reason])).toEqual([
      ["now a/b", "visited"],
      ["new a/c", "visited"],
      ["now ", "visited"],
    ]);
    const page = await ground.adapter.invoke("file:history", { root: "r" });
    expect(page).toMatchObject({ complete: false, reason: "visited" });
    const group = changes[0]?.group ?? "";
    await expect(ground.adapter.invoke("file:undo", { group })).rejects.toMatchObject({
      code: "NOT_SUPPORTED",
      message: expect.stringContaining("too large to see all that the command has changed"),
    });
  });

  test("comes back where the tree was cloned before, without what is denied, and no command sees the clone", async () => {
    for (const name of ["edited", "d/x", "d/y"]) ground.put(name, name);
    ground.put("secret/.env", "SECRET");
    let output = "";
    const changes = await changesBy(ground, async () => {
      const command = "echo 2 > edited; rm -r d; ls -A .venue-files; cat .venue-files/trash/*/edited";
      const ran = await ground.sh(command, { snapshot: true });
      output = ran.stdout;
    });
    expect(output).toBe("");
    expect(changes.map((one) => [told(one), one.undoable])).toEqual([
      ["now edited", true],
      ["was d", true],
    ]);
    const kept = readdirSync(join(ground.dir, ".venue-files/trash"), { recursive: true }).map(String);
    expect(kept.filter((name) => name.endsWith(".env"))).toEqual([]);
    await ground.adapter.invoke("file:undo", { group: changes[0]?.group ?? "" });
    expect(["edited", "d/x", "d/y"].map((name) => readFileSync(join(ground.dir, name), "utf8"))).toEqual([
      ...["edited", "d/x", "d/y"],
    ]);
  });

  test("has no set-id file in it, wherever the command hid it, nor is one left", async () => {
    const hidden = ["x/.env/c/e", ".env/f", "s/.venue-files/g", "back\\slash/h", "$(printf '\\377')/i"];
    for (const place of [...hidden, "a", "d/b"]) {
      const changes = await changesBy(ground, () =>
        ground.sh(`f="${place}"; mkdir -p "$(dirname "$f")"; cp /bin/true "$f"; chmod 6755 "$f"; echo made`),
      );
      const left = (...how: string[]) =>
        spawnSync("find", [ground.dir, "-type", "f", ...how], { encoding: "latin1" }).stdout;
      expect([place, left("-perm", "/6000")]).toEqual([place, ""]);
      expect(left("-perm", "755", "-name", place.slice(-1))).toMatch(/\n$/);
      for (const { after } of changes) expect((after?.mode ?? 0) & 0o6000).toBe(0);
    }
  });
});

describe("the end of a run", () => {
  const ground = useShell({ shell: { limits: { ...DEFAULT_SHELL.limits, nproc: 64 } } });

  /** Waits for what the system does in a moment; the time of the test bounds it. */
  async function gone(text: string): Promise<string[]> {
    while (processesWith(text).length > 0) await sleep(20);
    return [];
  }

  function countsByRun(): boolean {
    const [major = 0, minor = 0] = release().split(".").map(Number);
    return major > 5 || (major === 5 && minor >= 14);
  }

  const mounts = (): string => readFileSync("/proc/self/mountinfo", "utf8");

  describe("when a command ends", () => {
    test("what it left in the background ends too, in another session also", async () => {
      const before = mounts();
      const command = "(sleep 71.25 &) ; setsid sleep 71.25 & setsid -f sleep 71.25; echo done";
      expect(await ground.sh(command)).toMatchObject({ stdout: "done\n", exitCode: 0, timedOut: false });
      expect(processesWith("71.25")).toEqual([]);
      expect(mounts()).toBe(before);
    });

    test("by running out of time, all of it does, and what it wrote is kept", async () => {
      const command = "echo early; setsid -f sh -c 'trap \"\" TERM HUP; sleep 72.25'; sleep 72.25";
      expect(await ground.overtime(command)).toEqual({
        ...{ stdout: "early\n", stderr: "", exitCode: null, signal: "SIGKILL", timedOut: true, truncated: false },
      });
      expect(await gone("72.25")).toEqual([]);
    });

    test("by being killed, all of it does, and its changes have been made", async () => {
      const process = await ground.adapter.exec(ground.request("echo a > made; echo ready; sleep 73.25"));
      while (process.output().stdout.length === 0) await sleep(5);
      await process.kill();
      expect(await process.exited).toMatchObject({ exitCode: null, signal: "SIGKILL", timedOut: false });
      await process.kill();
      expect(await gone("73.25")).toEqual([]);
      expect(await ground.adapter.invoke("file:read", { root: "r", path: "made" })).toMatchObject({ content: "a\n" });
    });

    test("a fork bomb is over, and was no larger than it may be", async () => {
      const bomb = "exec 2>&1; bomb() { trap 'exec sleep 74.25' EXIT; bomb & bomb & exit; }; bomb";
      let most = 0;
      // Its first output is that of a shell at the limit.
      const ended = await ground.overtime(bomb, async () => {
        const look = () => {
          most = Math.max(most, processesWith("74.25").length);
          return most > 32;
        };
        await until(look, 40);
        for (let looks = 0; looks < 10; looks++) {
          await sleep(40);
          look();
        }
      });
      expect(ended).toMatchObject({ stdout: expect.stringMatching(/fork/i), signal: "SIGKILL", timedOut: true });
      expect(most).toBeLessThanOrEqual(80);
      expect(await gone("74.25")).toEqual([]);
      expect((await ground.sh("echo fine")).stdout).toBe("fine\n");
    });

    needs(possible && countsByRun(), "before Linux 5.14 processes are counted by user, not by run")(
      "in the middle of a fork bomb, others can still start theirs",
      async () => {
        const forks = "$| = 1; while (defined($pid = fork)) { if (!$pid) { sleep 60; exit } $n++ } print $n; sleep 60";
        const bomb = await ground.adapter.exec(ground.request("", { argv: ["/usr/bin/perl", "-e", forks] }));
        while (bomb.output().stdout.length === 0) await sleep(5);
        const children = Number(Buffer.from(bomb.output().stdout));
        const others = await Promise.all([1, 2, 3].map(() => ground.sh("echo a | cat | cat")));
        await bomb.kill();
        expect(children).toBeGreaterThan(32);
        expect(children).toBeLessThan(64);
        expect(others.map(({ stdout, stderr }) => [stdout, stderr])).toEqual(Array(3).fill(["a\n", ""]));
      },
    );

    test("by a signal of its caller, and does not begin after one", async () => {
      const running = new AbortController();
      const process = await ground.adapter.exec(ground.request("sleep 75.25"), { signal: running.signal });
      running.abort();
      expect(await process.exited).toMatchObject({ signal: "SIGKILL", timedOut: false });
      expect(await gone("75.25")).toEqual([]);
      await expect(ground.sh("touch made", { signal: AbortSignal.abort() })).rejects.toMatchObject({ code: "ABORTED" });
      await expect(ground.sh("touch made", { context: { signal: AbortSignal.abort() } })).rejects.toMatchObject({
        code: "ABORTED",
      });
      await expect(ground.adapter.invoke("file:stat", { root: "r", path: "made" })).resolves.toMatchObject({
        exists: false,
      });
    });

    test("by the clock that it is given", async () => {
      let now = 0;
      const clock = { nowMs: () => now, monotonicMs: () => now };
      const sandbox = await createSandbox({ ...DEFAULT_SHELL, driver: "bwrap" }, { clock });
      const process = await ground.adapter.exec(
        ground.request("echo on; sleep 76.25", { sandbox, timeoutMs: 3_600_000 }),
      );
      now = 3_600_001;
      expect(await process.exited).toMatchObject({ timedOut: true });
      expect(await gone("76.25")).toEqual([]);
    });
  });

  describe("its output", () => {
    test("is cut at its limit and read on, so that it ends as it would have", async () => {
      const ran = await ground.sh("yes é | head -c 3000000; echo late >&2; exit 5", { outputBytes: 1000 });
      expect(ran).toMatchObject({ exitCode: 5, truncated: true, stderr: "" });
      expect(ran.stdout).toBe(`${"é\n".repeat(333)}`);
      const tail = await ground.sh("yes é | head -c 3000000; echo end; exit 6", { outputBytes: 1000, keep: "tail" });
      expect(tail).toMatchObject({ exitCode: 6, truncated: true });
      expect(tail.stdout).toBe(`${"é\n".repeat(332)}end\n`);
    });

    test("is whole, however large, below its limit", async () => {
      const ran = await ground.sh(
        "head -c 2000000 /dev/zero | tr '\\0' x; head -c 1000000 /dev/zero | tr '\\0' y >&2",
        {
          outputBytes: 3_000_000,
        },
      );
      expect([ran.stdout.length, ran.stderr.length, ran.truncated]).toEqual([2_000_000, 1_000_000, false]);
    });
  });
});

const bwrap = await bwrapHere();
const HOUR_MS = 3_600_000;

describe("commands of a process that was killed", () => {
  let root = "";
  const at = (path: string): string => join(root, path);
  const staged = (): string[] => stagedIn(at("")) ?? [];
  const setIds = (path: string): number => statSync(at(path)).mode & 0o6000;

  beforeEach(() => {
    root = realpathSync(mkdtempSync(join(tmpdir(), "venue-files-killed-")));
    if (isRoot) chownSync(root, OWNER, OWNER);
  });
  afterEach(() => rmSync(root, { recursive: true, force: true }));

  /** As the next start does, to its end. */
  async function start(): Promise<void> {
    const adapter = await createFileAdapter({ roots: { r: { path: root } } });
    await adapter.invoke("file:list", { root: "r" });
    await adapter.close();
  }

  function put(path: string, mode: number): void {
    mkdirSync(join(at(path), ".."), { recursive: true });
    writeFileSync(at(path), "");
    chmodSync(at(path), mode);
  }

  /** What a run of some process left in the staging directory. */
  function mark(owner: Partial<ProcessIdentity>, { path, ageMs = 0 }: { path: string; ageMs?: number }): string {
    mkdirSync(at(".venue-files"), { recursive: true, mode: 0o700 });
    const name = `run-${printIdentity({ ...ownIdentity(), ...owner }, "0123456789abcdef")}`;
    writeFileSync(at(`.venue-files/${name}`), path);
    const seconds = (Date.now() - ageMs) / 1000;
    utimesSync(at(`.venue-files/${name}`), seconds, seconds);
    return name;
  }

  needs(bwrap.possible, bwrap.reason)("leave no set-id bits beyond the next start", async () => {
    const command = "cp /bin/true a; mkdir -p d; cp a d/b; chmod 6755 a d/b; chmod 700 d; : > made; exec sleep 600";
    const script = fileURLToPath(new URL("./exec-child.mjs", import.meta.url));
    const child = spawn(process.execPath, [script, root, command], { stdio: ["ignore", "inherit", "inherit"] });
    const exited = once(child, "exit");
    while (!existsSync(at("made"))) {
      expect(child.exitCode).toBeNull();
      await new Promise((resolve) => setTimeout(resolve, 20));
    }
    expect([setIds("a"), setIds("d/b")]).toEqual([0o6000, 0o6000]);
    child.kill("SIGKILL");
    await exited;
    expect(staged().filter((name) => name.startsWith("run-"))).toHaveLength(1);
    await start();
    expect([setIds("a"), setIds("d/b")]).toEqual([0, 0]);
    expect(staged()).toEqual([]);
  });

  anywhere("are known by a mark, which goes when what they left is clean", async () => {
    put("work/a", 0o4755);
    put("other/b", 0o4755);
    mark({ start: 1 }, { path: '["work"]' });
    await start();
    // What no command could reach is left as it is.
    expect([setIds("work/a"), setIds("other/b")]).toEqual([0, 0o4000]);
    expect(staged()).toEqual([]);
  });

  anywhere.each([
    ["the directory has been moved", '["gone"]'],
    ["the mark was not written to its end", '["wo'],
    ["the mark names no path", '["..", "work"]'],
  ])("are cleaned up after in the whole root where %s", async (_, path) => {
    put("work/a", 0o2755);
    mark({ start: 1 }, { path });
    await start();
    expect([setIds("work/a"), staged()]).toEqual([0, []]);
  });

  anywhere("leave files alone that have not changed since, and those of a process that runs", async () => {
    put("a", 0o4755);
    mark({ start: 1 }, { path: "[]", ageMs: -HOUR_MS });
    await start();
    expect([setIds("a"), staged()]).toEqual([0o4000, []]);
    mark({}, { path: "[]" });
    await start();
    expect([setIds("a"), staged()]).toEqual([0o4000, [expect.stringMatching(/^run-/)]]);
  });

  anywhere("in another container, which may run still, are cleaned up after at each start of a day", async () => {
    put("a", 0o4755);
    const name = mark({ namespace: 1 }, { path: "[]" });
    await start();
    expect([setIds("a"), staged()]).toEqual([0, [name]]);
    chmodSync(at("a"), 0o4755);
    mark({ namespace: 1 }, { path: "[]", ageMs: 25 * HOUR_MS });
    await start();
    expect([setIds("a"), staged()]).toEqual([0, []]);
  });

  anywhere("cost a start without a mark no walk", async () => {
    for (let index = 0; index < 50; index++) put(`d${index}/f`, 0o4755);
    mkdirSync(at(".venue-files"), { mode: 0o700 });
    const jail = new Jail({ path: root, readOnly: false, crossDevice: false, io: "auto" }, new Locks());
    const entered = jest.spyOn(jail.handles, "enter");
    await runIo(sweepRuns(jail));
    expect(entered.mock.calls.map(([, name]) => name)).toEqual([".venue-files"]);
    mark({ start: 1 }, { path: "[]" });
    await runIo(sweepRuns(jail));
    expect(entered.mock.calls.length).toBeGreaterThan(50);
    await jail.close();
  });
});

const asRoot = needs(possible && isRoot, possible ? "only root can be somebody else" : reason);
const LIBRARY = new URL("../../dist/index.js", import.meta.url).href;

let home = "";
afterAll(() => rmSync(home, { recursive: true, force: true }));

interface Service {
  readonly command: string;
  readonly root: object;
  /** Whom it runs as. */
  readonly uid?: number;
  /** A descriptor that it is given and knows nothing of. */
  readonly given?: number;
}

/** A service of its own that runs one command in its only root, at `/workspace`. */
async function serve({ command, root, uid, given }: Service): Promise<unknown> {
  const text = `
    import { createFileAdapter, createSandbox, DEFAULT_SHELL } from ${JSON.stringify(LIBRARY)};
    const adapter = await createFileAdapter({ roots: { r: ${JSON.stringify(root)} } });
    await adapter.invoke("file:write", { root: "r", path: "of-adapter", content: "a" });
    const sandbox = await createSandbox({ ...DEFAULT_SHELL, driver: "bwrap" }, { onWarning: (text) => console.error(text) });
    const running = await adapter.exec({
      sandbox, mounts: [{ root: "r", at: "/workspace" }], argv: ["/bin/sh", "-c", ${JSON.stringify(command)}],
      cwd: "/workspace", env: { PATH: "/usr/bin:/bin" }, timeoutMs: 20000, outputBytes: 10000, keep: "head",
    }).catch((error) => ({ exited: error.code, output: () => ({ stdout: "" }) }));
    const exit = await running.exited;
    console.log(JSON.stringify([exit.exitCode ?? exit, Buffer.from(running.output().stdout).toString()]));
    await adapter.close();
  `;
  const child = spawn(process.execPath, ["--input-type=module", "--eval", text], {
    ...{ cwd: "/", env: { TMPDIR: join(home, "tmp"), SECRET: "in the environment" } },
    // Node itself closes the first few that it is given.
    stdio: [
      "ignore",
      "pipe",
      "inherit",
      ...(given === undefined ? [] : [...Array<"ignore">(37).fill("ignore"), given]),
    ],
    ...(uid === undefined ? {} : { uid, gid: uid }),
  });
  let stdout = "";
  child.stdout?.on("data", (chunk: Buffer) => {
    stdout += chunk.toString("utf8");
  });
  await once(child, "close");
  return JSON.parse(stdout);
}

describe("a service", () => {
  beforeAll(() => {
    home = realpathSync(mkdtempSync(join(tmpdir(), "venue-files-service-")));
    chmodSync(home, 0o755);
    mkdirSync(join(home, "root"));
    mkdirSync(join(home, "tmp"), { mode: 0o777 });
    chmodSync(join(home, "tmp"), 0o1777);
    writeFileSync(join(home, "secret"), "SECRET");
    if (isRoot) chownSync(join(home, "root"), OWNER, OWNER);
  });

  asRoot("that is not root runs commands as itself, in roots of its own and temp roots", async () => {
    const command = "cat of-adapter; touch of-command && id -u";
    const root = { path: join(home, "root") };
    expect(await serve({ command, root, uid: OWNER })).toEqual([0, "a65534\n"]);
    expect(readdirSync(join(home, "root")).sort()).toEqual(["of-adapter", "of-command"]);
    expect(await serve({ command, root: { temp: true }, uid: OWNER })).toEqual([0, "a65534\n"]);
  });

  asRoot("that is root runs none where it would have to be as root", async () => {
    mkdirSync(join(home, "of-root"));
    const outcome = await serve({ command: "echo ran", root: { path: join(home, "of-root") } });
    expect(outcome).toEqual(["NOT_SUPPORTED", ""]);
  });

  test("that is killed takes its commands with it", async () => {
    const text = `
      import { createFileAdapter, createSandbox, DEFAULT_SHELL } from ${JSON.stringify(LIBRARY)};
      const adapter = await createFileAdapter({ roots: { r: { path: ${JSON.stringify(join(home, "root"))} } } });
      await adapter.exec({
        sandbox: await createSandbox({ ...DEFAULT_SHELL, driver: "bwrap" }), mounts: [{ root: "r", at: "/workspace" }],
        argv: ["setsid", "-w", "sleep", "78.25"], cwd: "/", env: { PATH: "/usr/bin:/bin" }, outputBytes: 1, keep: "head",
      });
      console.log("on");
    `;
    const child = spawn(process.execPath, ["--input-type=module", "--eval", text], {
      stdio: ["ignore", "pipe", "inherit"],
    });
    if (child.stdout !== null) await once(child.stdout, "data");
    expect(processesWith("78.25")).not.toEqual([]);
    child.kill("SIGKILL");
    while (processesWith("78.25").length > 0) await sleep(20);
  });

  test("gives on nothing that it was given itself", async () => {
    const given = openSync(home, "r");
    const command = "cat /proc/self/fd/*/secret /proc/*/fd/*/secret 2>/dev/null; cat /proc/*/environ | grep -c SECRET";
    expect(await serve({ command, root: { path: join(home, "root") }, given })).toEqual([1, "0\n"]);
  });
});
