import { spawn } from "node:child_process";
import { once } from "node:events";
import {
  chmodSync,
  chownSync,
  existsSync,
  mkdirSync,
  mkdtempSync,
  realpathSync,
  rmSync,
  statSync,
  utimesSync,
  writeFileSync,
} from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { fileURLToPath } from "node:url";
import { afterEach, beforeEach, describe, expect, jest, test } from "@jest/globals";
import { sweepRuns } from "../../src/backend/host/runs/run-mark.js";
import { runIo } from "../../src/core/io.js";
import { createFileAdapter } from "../../src/index.js";
import { Jail } from "../../src/jail/jail.js";
import { Locks } from "../../src/jail/staging/locks.js";
import { ownIdentity, type ProcessIdentity, printIdentity } from "../../src/process/identity.js";
import { needs } from "../needs.js";
import { stagedIn } from "../staged.js";
import { bwrapHere, isRoot, OWNER } from "./ground.js";

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

  test("are known by a mark, which goes when what they left is clean", async () => {
    put("work/a", 0o4755);
    put("other/b", 0o4755);
    mark({ start: 1 }, { path: '["work"]' });
    await start();
    // What no command could reach is left as it is.
    expect([setIds("work/a"), setIds("other/b")]).toEqual([0, 0o4000]);
    expect(staged()).toEqual([]);
  });

  test.each([
    ["the directory has been moved", '["gone"]'],
    ["the mark was not written to its end", '["wo'],
    ["the mark names no path", '["..", "work"]'],
  ])("are cleaned up after in the whole root where %s", async (_, path) => {
    put("work/a", 0o2755);
    mark({ start: 1 }, { path });
    await start();
    expect([setIds("work/a"), staged()]).toEqual([0, []]);
  });

  test("leave files alone that have not changed since, and those of a process that runs", async () => {
    put("a", 0o4755);
    mark({ start: 1 }, { path: "[]", ageMs: -HOUR_MS });
    await start();
    expect([setIds("a"), staged()]).toEqual([0o4000, []]);
    mark({}, { path: "[]" });
    await start();
    expect([setIds("a"), staged()]).toEqual([0o4000, [expect.stringMatching(/^run-/)]]);
  });

  test("in another container, which may run still, are cleaned up after at each start of a day", async () => {
    put("a", 0o4755);
    const name = mark({ namespace: 1 }, { path: "[]" });
    await start();
    expect([setIds("a"), staged()]).toEqual([0, [name]]);
    chmodSync(at("a"), 0o4755);
    mark({ namespace: 1 }, { path: "[]", ageMs: 25 * HOUR_MS });
    await start();
    expect([setIds("a"), staged()]).toEqual([0, []]);
  });

  test("cost a start without a mark no walk", async () => {
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
