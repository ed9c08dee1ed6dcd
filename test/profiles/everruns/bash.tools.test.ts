import { afterAll, test as always, beforeAll, describe, expect } from "@jest/globals";
import { createFileAdapter, createProfile, type FileAdapter, type ToolProfile } from "../../../src/index.js";
import { needs } from "../../needs.js";
import { bwrapHere } from "../../sandbox/ground.js";
import { hashOf } from "./bed.js";

const { possible, reason } = await bwrapHere();
const test = needs(possible, reason);

describe("bash", () => {
  let adapter: FileAdapter;
  let profile: ToolProfile;
  let other: ToolProfile;
  const call = (tool: string, args: object, context = {}) => profile.call(tool, args, context);

  beforeAll(async () => {
    adapter = await createFileAdapter({ roots: { r: { temp: true } } });
    profile = createProfile(adapter, { profile: "everruns", root: "r", prefix: "s", shell: {} });
    other = createProfile(adapter, { profile: "everruns", root: "r", prefix: "s", alias: "/home/agent", shell: {} });
    await Promise.all([profile.ready, other.ready]);
  });
  afterAll(() => adapter.close());

  test("works on the same files as the tools", async () => {
    await call("write_file", { path: "/workspace/src/a.txt", content: "one\n" });
    const command = "cat /workspace/src/a.txt; echo two >> src/a.txt; pwd; echo oops >&2; exit 3";
    expect(await call("bash", { command })).toEqual({ stdout: "one\n/workspace\n", stderr: "oops\n", exit_code: 3 });
    expect(await call("read_file", { path: "src/a.txt" })).toMatchObject({
      content: "one\ntwo\n",
      content_hash: hashOf("one\ntwo\n"),
    });
  });

  test("is a bash, in a directory of the session, and keeps nothing", async () => {
    await call("write_file", { path: "a 'dir'/f", content: "" });
    const command = "[[ $PWD == *dir* ]] && X=1 && ls";
    expect(await call("bash", { command, working_dir: "/workspace/a 'dir'" })).toMatchObject({ stdout: "f\n" });
    expect(await call("bash", { command: "pwd; echo $X" })).toMatchObject({ stdout: "/workspace\n\n" });
    expect(await call("bash", { command: "true", working_dir: "none" })).toMatchObject({ exit_code: 1 });
    expect(await call("bash", { command: "true", working_dir: "../x" })).toEqual({
      error: "path traversal rejected: ../x",
    });
  });

  test("stands where the alias says", async () => {
    expect(await other.call("bash", { command: "pwd; echo $HOME", working_dir: "/home/agent" })).toEqual({
      ...{ stdout: "/home/agent\n/home/agent\n", stderr: "", exit_code: 0 },
    });
    expect(await other.call("bash", { command: "mkdir -p d && cd d && pwd" })).toMatchObject({
      stdout: "/home/agent/d\n",
    });
  });

  test("answers what a model can read", async () => {
    const colour = "printf '\\033[31mred\\033[0m\\n10%%\\r20%%\\n'; printf 'x\\r\\n' >&2";
    expect(await call("bash", { command: colour })).toEqual({ stdout: "red\n20%\n", stderr: "x\n", exit_code: 0 });
    const { stdout, stderr } = await call("bash", { command: "seq 1 20000; seq 1 20000 >&2" });
    for (const [text, most] of [
      [String(stdout), 16_384],
      [String(stderr), 4096],
    ] as const) {
      expect(text).toMatch(/^1\n2\n/);
      expect(text).toMatch(/\n20000\n$/);
      expect(text).toMatch(/\n\.\.\. \[\d+ bytes left out\] \.\.\.\n/);
      expect(text.length - most).toBeLessThan(50);
    }
  });

  test("ends at its timeout", async () => {
    // Time enough to begin on a busy machine.
    expect(await call("bash", { command: "echo begun; sleep 60", timeout: 8.5 })).toEqual({
      ...{ stdout: "begun\n", stderr: "Command timed out after 8.5 seconds", exit_code: 124 },
    });
    for (const timeout of [0, -1]) {
      expect(await call("bash", { command: "true", timeout })).toEqual({
        error: "Invalid parameter timeout: must be a number above 0",
      });
    }
    expect(await call("bash", { command: "kill -9 $$" })).toMatchObject({ exit_code: 137 });
  });

  test("needs exec/run on the whole root, and writes with the rights to", async () => {
    const caps = [{ with: "file://r/", can: "crud" }];
    const denied = "permission denied: requires exec/run on file://r/";
    expect(await call("bash", { command: "true" }, { caps })).toEqual({ error: denied });
    const below = [{ with: "file://r/s/", can: "exec/run" }];
    expect(await call("bash", { command: "true" }, { caps: below })).toEqual({ error: denied });
    const looks = [{ with: "file://r/", can: "exec/run" }];
    const command = "touch /workspace/new 2>/dev/null || echo no";
    expect(await call("bash", { command }, { caps: looks })).toMatchObject({ stdout: "no\n" });
  });

  test("a link that it makes is refused by every tool", async () => {
    const command = "ln -sf /etc/passwd evil; ln -sfn /etc evil-dir; ln -sfn src inside";
    expect(await call("bash", { command })).toMatchObject({ exit_code: 0 });
    for (const path of ["evil", "evil-dir/passwd", "inside/a.txt"]) {
      const edit = { expected_hash: "", old_text: "a", new_text: "b" };
      for (const [tool, args] of [
        ["read_file", {}],
        ["write_file", { content: "x" }],
        ["edit_file", edit],
        ["list_directory", {}],
        ["grep_files", { pattern: "root" }],
        ["stat_file", {}],
        ["delete_file", {}],
      ] as const) {
        expect(await call(tool, { path, ...args })).toEqual({ error: expect.stringContaining("symlink") });
      }
    }
    expect(JSON.stringify(await call("grep_files", { pattern: "root:" }))).not.toContain("passwd");
  });
});

describe("without a sandbox", () => {
  always("there is no bash", async () => {
    const adapter = await createFileAdapter({ roots: { r: { temp: true } } });
    const none = createProfile(adapter, { profile: "everruns", root: "r", shell: { driver: "none" } });
    await none.ready;
    expect(none.tools.map(({ name }) => name)).not.toContain("bash");
    expect(await none.call("bash", { command: "true" })).toEqual({ error: "no sandbox available" });
    await adapter.close();
  });
});

describe("bash by just-bash on a drive", () => {
  const OWNER = "did:key:z6MkhaXgBZDvotDkL5257faiztiGiC2QtKLGpbnnEGta2doK";
  const context = { callerDID: OWNER, authentication: "identity" } as const;

  always("works on the caller's own files", async () => {
    const adapter = await createFileAdapter({ roots: { r: { dlfs: "notes" } } });
    try {
      const profile = createProfile(adapter, { profile: "everruns", root: "r", shell: { driver: "just-bash" } });
      await profile.ready;
      await profile.call("write_file", { path: "src/a.txt", content: "one\n" }, context);
      const command = "cat a.txt; echo two >> a.txt; pwd; echo oops >&2; exit 3";
      expect(await profile.call("bash", { command, working_dir: "src" }, context)).toEqual({
        ...{ stdout: "one\n/workspace/src\n", stderr: "oops\n", exit_code: 3 },
      });
      expect(await profile.call("read_file", { path: "src/a.txt" }, context)).toMatchObject({ content: "one\ntwo\n" });
    } finally {
      await adapter.close();
    }
  });
});
