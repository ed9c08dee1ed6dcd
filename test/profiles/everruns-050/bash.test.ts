import { afterAll, beforeAll, describe, expect, test } from "@jest/globals";
import { createFileAdapter, createProfile, type FileAdapter, type ToolProfile } from "../../../src/index.js";

describe("bash", () => {
  let adapter: FileAdapter;
  let profile: ToolProfile;
  const bash = async (args: object, context = {}) => ({ ...(await profile.call("bash", args, context)) });

  beforeAll(async () => {
    adapter = await createFileAdapter({ roots: { r: { temp: true } } });
    const shell = { driver: "just-bash" } as const;
    profile = createProfile(adapter, { profile: "everruns", root: "r", prefix: "s", variant: "0.50", shell });
    await profile.ready;
  });
  afterAll(() => adapter.close());

  test("runs a script on the files of the tools", async () => {
    await profile.call("write_file", { path: "d/a.txt", content: "one\n" });
    const commands = "cat a.txt\necho two >> a.txt\necho oops >&2\nexit 3";
    expect(await bash({ commands, working_dir: "/workspace/d" })).toEqual({
      stdout: "one\n",
      stderr: "oops\n",
      exit_code: 3,
    });
    expect(await profile.call("read_file", { path: "d/a.txt" })).toMatchObject({ content: "1|one\n2|two" });
  });

  test.each([
    [{}, 1024, 8192],
    [{ output: "auto" }, 1024, 8192],
    [{ output: "silent" }, 200, 200],
    [{ output: "concise" }, 2048, 2048],
    [{ output: "normal" }, 8192, 8192],
    [{ output: "verbose" }, 16_384, 16_384],
    [{ output: "full" }, 65_536, 65_536],
  ])("with %j keeps %d bytes after a success, %d after a failure", async (args, success, failure) => {
    const script =
      "x=0123456789; for i in 1 2 3 4; do x=$x$x$x$x$x$x$x$x$x$x; done; echo head $x tail; echo head $x tail >&2; exit ";
    for (const [code, most] of [
      [0, success],
      [2, failure],
    ] as const) {
      const { stdout, stderr, exit_code } = await bash({ commands: `${script}${code}`, ...args });
      expect(exit_code).toBe(code);
      for (const text of [stdout, stderr]) {
        const [head = "", tail = ""] = String(text).split(/\n\.\.\. \[\d+ bytes left out\] \.\.\.\n/);
        expect([head.startsWith("head "), tail.endsWith(" tail\n")]).toEqual([true, true]);
        expect(head.length + tail.length).toBe(most);
      }
    }
    expect(await bash({ commands: "printf 1234567890", ...args })).toMatchObject({ stdout: "1234567890" });
  });

  test("ends in time, which is told in milliseconds", async () => {
    const { stderr, exit_code } = await bash({ commands: "sleep 30", timeout_ms: 500 });
    expect([exit_code, String(stderr).endsWith("Command timed out after 0.5 seconds")]).toEqual([124, true]);
    for (const timeout_ms of [0, -1, Number.NaN]) {
      expect(await bash({ commands: "true", timeout_ms })).toHaveProperty("error");
    }
    expect(await bash({ commands: "echo ok", timeout_ms: 9_999_999 })).toMatchObject({ stdout: "ok\n" });
  });

  test.each([
    [{}, "Missing required parameter: commands"],
    [{ command: "true" }, "Missing required parameter: commands"],
    [
      { commands: "true", output: "loud" },
      "Invalid parameter output: must be one of: auto, silent, concise, normal, verbose, full",
    ],
    [{ commands: "true", working_dir: "../x" }, "path traversal rejected: ../x"],
    [{ commands: "true", timeout_ms: 0 }, "Invalid parameter timeout_ms: must be a number above 0"],
    [
      { commands: "true", credential_usage: ["github"] },
      "Invalid parameter credential_usage: unknown field 'credential_usage'. Known fields: commands, working_dir, timeout_ms, output",
    ],
  ])("refuses %j", async (args, text) => {
    expect(String((await bash(args))["error"])).toContain(text);
  });

  test("needs exec/run, which no right on files implies", async () => {
    const caps = ["crud", "crud/read", "crud/write"].map((can) => ({ with: "file://r/", can }));
    expect(await bash({ commands: "true" }, { caps })).toEqual({
      error: "permission denied: requires exec/run on file://r/",
    });
  });
});
