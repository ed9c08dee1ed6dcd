import { createHash } from "node:crypto";
import {
  chmodSync,
  existsSync,
  readdirSync,
  readFileSync,
  readlinkSync,
  statSync,
  symlinkSync,
  utimesSync,
  writeFileSync,
} from "node:fs";
import { join } from "node:path";
import { describe, expect, jest, test } from "@jest/globals";
import { TreeSnapshot } from "../../src/backend/host/runs/snapshot.js";
import { aborted } from "../../src/core/errors/texts.js";
import { RootJournal } from "../../src/journal/journal.js";
import { openProfile } from "../../src/profiles/create-profile.js";
import { AcpClientFs } from "../../src/surfaces/acp/client-fs.js";
import { localAgent } from "../surfaces/acp/local.js";
import { type RunPatch, useShell } from "./ground.js";
import { type Change, changesBy, told } from "./run-history.js";

const ground = useShell({ journal: true, shell: { unsafe: true } });

const run = (command: string, patch: RunPatch = {}): Promise<readonly Change[]> =>
  changesBy(ground, () => ground.sh(command, { snapshot: true, ...patch }));
const undo = (changes: readonly Change[]) => ground.adapter.invoke("file:undo", { group: changes[0]?.group ?? "" });
const trash = (): string[] => {
  const folder = join(ground.dir, ".venue-files/trash");
  return existsSync(folder) ? readdirSync(folder) : [];
};

/** Everything in the root with what it holds, its mode and its time in milliseconds. */
function seen(folder = ground.dir): Readonly<Record<string, string>> {
  const all: Record<string, string> = {};
  for (const entry of readdirSync(folder, { withFileTypes: true, recursive: true })) {
    const path = join(entry.parentPath, entry.name);
    if (path.includes("/.venue-files")) continue;
    const { mode, mtimeMs, uid } = entry.isSymbolicLink() ? { mode: 0, mtimeMs: 0, uid: 0 } : statSync(path);
    const content = entry.isSymbolicLink()
      ? readlinkSync(path)
      : entry.isFile()
        ? createHash("sha256").update(readFileSync(path)).digest("hex")
        : "";
    // What is put into a folder gives it another time.
    const time = entry.isFile() ? Math.floor(mtimeMs) : 0;
    all[path.slice(folder.length + 1)] = `${mode.toString(8)} ${uid} ${time} ${content}`;
  }
  return all;
}

describe("what a command has replaced and deleted", () => {
  test("comes back, byte for byte and with modes and times, and goes again", async () => {
    for (const name of ["edited", "deleted", "renamed", "same", "d/x", "d/y/z", "m/in", "m/out"])
      ground.put(name, name);
    ground.put("large", "7".repeat(200_000));
    symlinkSync("same", join(ground.dir, "d/link"));
    chmodSync(join(ground.dir, "edited"), 0o751);
    utimesSync(join(ground.dir, "edited"), 1e9, 1e9 + 0.123);
    utimesSync(join(ground.dir, "d/y"), 1e9, 1e9);
    const before = seen();
    const changes = await run(
      "echo more >> edited; echo > large; rm -r deleted; mv d/x kept; rm -r d; mv renamed moved; mv m n; echo 1 > n/in; echo w > w",
    );
    expect(changes.map(told).sort()).toEqual([
      "d/x > kept",
      "m > n",
      "new w",
      "now edited",
      "now large",
      "now n/in",
      "renamed > moved",
      "was d",
      "was deleted",
    ]);
    expect(changes.filter(({ undoable }) => !undoable)).toEqual([]);
    const after = seen();
    const undone = await undo(changes);
    expect(seen()).toEqual(before);
    expect(Math.floor(statSync(join(ground.dir, "d/y")).mtimeMs)).toBe(1e12);
    await ground.adapter.invoke("file:undo", { group: undone.group ?? "" });
    expect(seen()).toEqual(after);
  });

  test("can be read as it was, and what is not needed of the snapshot is removed", async () => {
    for (let count = 0; count < 50; count++) ground.put(`many/${count}`, `${count}`);
    ground.put("file", "before");
    const before = trash().length;
    const [change] = await run("echo after > file");
    expect(trash()).toHaveLength(before + 1);
    const read = await ground.adapter.invoke("file:read", { root: "r", path: "file", version: `${change?.id}:before` });
    expect(read).toMatchObject({ content: "before" });
    await run("cat file");
    expect(trash()).toHaveLength(before + 1);
  });

  test("says where a call has changed the same", async () => {
    ground.put("both", "1");
    ground.put("tree/one", "1");
    const changes = await changesBy(ground, async () => {
      const command = "until [ -e go ]; do sleep 0.05; done; echo 2 >> both; rm -r tree";
      const running = await ground.adapter.exec(ground.request(command, { snapshot: true }));
      await ground.adapter.invoke("file:write", { root: "r", path: "both", content: "theirs" });
      await ground.adapter.invoke("file:write", { root: "r", path: "tree/one", content: "theirs" });
      await ground.adapter.invoke("file:write", { root: "r", path: "go", content: "" });
      await running.exited;
    });
    expect(changes.filter(({ op }) => op === "exec").map((one) => [told(one), one.reason])).toEqual([
      ["now both", "concurrent"],
      ["was tree", "concurrent"],
    ]);
  });

  test("is said to be too large where there is more than may be copied", async () => {
    ground.put("z/5", "x");
    for (let count = 6; count <= 2_006; count++) writeFileSync(join(ground.dir, "z", `${count}`), "x");
    const before = trash();
    const [change] = await run("echo 1 > z/5");
    expect(change).toMatchObject({ undoable: false, reason: "too_large" });
    expect(trash()).toEqual(before);
  });

  test("leaves no snapshot where the command could not be started", async () => {
    ground.put("file", "1");
    const before = trash();
    const request = ground.request("true", { snapshot: true, argv: ["/no/such/program"] });
    await ground.adapter.exec(request).then(
      (process) => process.exited,
      () => {},
    );
    expect(trash()).toEqual(before);
  });

  test("leaves no note of a command that ended before it began", async () => {
    ground.put("file", "1");
    const noted = new Set<string>();
    const { begin, cancel } = RootJournal.prototype;
    jest.spyOn(RootJournal.prototype, "begin").mockImplementation(function (this: RootJournal, id, planned) {
      noted.add(id);
      return begin.call(this, id, planned);
    });
    jest.spyOn(RootJournal.prototype, "cancel").mockImplementation(function (this: RootJournal, id) {
      noted.delete(id);
      cancel.call(this, id);
    });
    await ground.sh("true", { snapshot: true });
    expect([jest.mocked(RootJournal.prototype.begin).mock.calls.length, noted.size]).toEqual([1, 0]);
    jest.spyOn(TreeSnapshot.prototype, "fill").mockImplementation(() => {
      throw aborted();
    });
    await expect(ground.sh("true", { snapshot: true })).rejects.toMatchObject({ code: "ABORTED" });
    jest.restoreAllMocks();
    expect([...noted]).toEqual([]);
  });
});

describe("groups of commands", () => {
  const versions = async () => {
    const { entries } = await ground.adapter.invoke("file:history", { root: "r", path: "file", limit: 1 });
    return entries[0];
  };

  test("of a profile with snapshot: true are taken back whole", async () => {
    const probe = { available: true, network: true, realBinaries: true };
    const shell = { sandbox: Promise.resolve(ground.sandbox), probe, ready: Promise.resolve() };
    const binding = { profile: "everruns", root: "r", snapshot: true };
    const profile = openProfile(ground.adapter, binding, { name: "session", shell });
    ground.put("file", "before");
    await profile.call("bash", { command: "echo after > file; echo new > made" }, { session: "s9" });
    const change = await versions();
    expect(change).toMatchObject({
      op: "exec",
      via: "s9",
      surface: "session",
      undoable: true,
      group: expect.any(String),
    });
    await ground.adapter.invoke("file:undo", { last: 1 }, { session: "s9" });
    expect(readFileSync(join(ground.dir, "file"), "utf8")).toBe("before");
    expect(existsSync(join(ground.dir, "made"))).toBe(false);
  });

  test("of an ACP session whose host wants snapshots are taken back whole", async () => {
    const terminals = { sandbox: ground.sandbox, snapshot: true };
    const acp = new AcpClientFs({ adapter: ground.adapter, mounts: [{ root: "r", prefix: "/r" }], terminals });
    const agent = await localAgent(acp, "s10", { cwd: "/r" });
    ground.put("file", "before");
    const params = { command: "/bin/sh", args: ["-c", "echo after > file; rm -f none; echo new > made"] };
    const { result } = (await agent.ask("terminal/create", params)) as { result: { terminalId: string } };
    await agent.ask("terminal/wait_for_exit", { terminalId: result.terminalId });
    expect(await versions()).toMatchObject({ op: "exec", via: "s10", surface: "acp", undoable: true });
    await ground.adapter.invoke("file:undo", { last: 1 }, { session: "s10" });
    expect(readFileSync(join(ground.dir, "file"), "utf8")).toBe("before");
    expect(existsSync(join(ground.dir, "made"))).toBe(false);
    await acp.close();
  });
});
