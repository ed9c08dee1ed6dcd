import { existsSync, lstatSync, readdirSync, readFileSync } from "node:fs";
import { join } from "node:path";
import { setTimeout } from "node:timers/promises";
import { beforeAll, describe, expect, test } from "@jest/globals";
import { DEFAULT_SHELL, type ShellConfig } from "../../../src/core/ports/sandbox.js";
import { openProfile, type ProfileInstance } from "../../../src/profiles/create-profile.js";
import { openShell } from "../../../src/profiles/shell.js";
import { createSandbox } from "../../../src/sandbox/create.js";
import { describeWhere } from "../../needs.js";
import { bwrapHere, type ShellGroundOptions, useShell } from "../../sandbox/ground.js";

const { possible, reason } = await bwrapHere();
const rejected = (text: string) => ({ error: `Jettson Shell rejected the command: ${text}` });
const ESCAPES = { error: "Jettson Files rejected the operation: path escapes /workspace or is empty." };
const MB = 1_048_576;

function useJettson(options: ShellGroundOptions & { prefix?: string } = {}) {
  const { prefix, ...others } = options;
  const ground = useShell(others);
  let jettson: ProfileInstance | undefined;
  beforeAll(async () => {
    const binding = { profile: "jettson", root: "r", ...(prefix === undefined ? {} : { prefix }) };
    const shell = openShell(async () => ground.sandbox);
    jettson = openProfile(ground.adapter, binding, { shell });
    await jettson.ready;
  });
  const call = async (tool: string, args: object, context = {}) => jettson?.call(tool, args, context) ?? {};
  return {
    ground,
    tools: () => jettson?.tools ?? [],
    sh: (command: string, more: object = {}, context = {}) =>
      call("jettson_shell_run", { command, ...more }, context) as Promise<Record<string, unknown>>,
    files: (tool: string, args: object) => call(`jettson_files_${tool}`, args),
  };
}

const ran = (stdout: string, more: object = {}) => ({
  ...{ stdout, stderr: "", exit_code: 0, truncated: false, timed_out: false },
  ...more,
});

const withBwrap = describeWhere(possible, reason);

withBwrap("jettson_shell_run", () => {
  const { ground, tools, sh, files } = useJettson({ prefix: "ws" });

  test("runs in a shell, with pipes, redirects and chains, in /workspace, and says how it ended", async () => {
    expect(await sh("pwd && printf 'b\\na\\n' | sort > out; cat out; echo err >&2; exit 3")).toEqual(
      ran("/workspace\na\nb\n", { stderr: "err\n", exit_code: 3 }),
    );
    expect(await sh("kill -9 $$")).toMatchObject({ exit_code: 137, timed_out: false });
    expect(await sh("cat; readlink /proc/self/fd/0")).toMatchObject({ stdout: "/dev/null\n" });
    expect(await files("read", { path: "out" })).toMatchObject({ content: "a\nb\n" });
    expect(ground.audit.at(-2)).toMatchObject({ operation: "file:exec", outcome: "OK" });
  });

  test("keeps nothing from one call to the next, and gives nothing of the server's environment on", async () => {
    await sh("mkdir d; cd d; A=1; f() { echo f; }; export B=2");
    expect(await sh("pwd; echo $A$B; f")).toMatchObject({ stdout: "/workspace\n\n", exit_code: 127 });
    const { stdout } = await sh("env | sort");
    expect(String(stdout).replace(/^PATH=.*\n/m, "")).toBe(
      "HOME=/workspace\nLANG=C.UTF-8\nPIP_BREAK_SYSTEM_PACKAGES=1\nPWD=/workspace\n",
    );
  });

  test("sees the files of the tools, and they see its files at once", async () => {
    await files("write", { path: "in/a.csv", content: "id\n1\n2\n" });
    expect(await sh("wc -l < in/a.csv > n; cat n")).toEqual(ran("3\n"));
    expect(await files("list", {})).toMatchObject({
      entries: expect.arrayContaining([{ name: "n", size_bytes: 2, is_dir: false }]),
    });
    expect(await files("delete", { path: "in" })).toMatchObject({ error: expect.stringContaining("rmdir") });
    expect(await sh("rm in/a.csv && rmdir in")).toEqual(ran(""));
  });

  test("makes links that no file tool follows out", async () => {
    ground.put("../outside/secret", "secret");
    await sh(
      `mkdir -p d; ln -s ${ground.outside}/secret evil; ln -s / d/up; ln -s ../other sibling; ln -s /workspace/d/f in`,
    );
    for (const path of ["evil", "d/up", "d/up/etc/passwd", "sibling", "sibling/x", "in"]) {
      for (const [tool, more] of Object.entries({ read: {}, write: { content: "x" }, list: {}, delete: {} })) {
        expect([tool, path, await files(tool, { path, ...more })]).toEqual([tool, path, ESCAPES]);
      }
    }
    expect(await files("list", {})).toEqual({ path: ".", entries: [{ name: "d", size_bytes: 0, is_dir: true }] });
    expect(await files("list", { path: "d" })).toEqual({ path: "d", entries: [] });
    expect(readFileSync(join(ground.outside, "secret"), "utf8")).toBe("secret");
  });

  test("is ended in time, with all that it has started, and what it wrote is kept", async () => {
    const command = "echo before; (setsid sh -c 'sleep 60; touch late' &) ; sleep 60 & sleep 60";
    // Time enough to begin on a busy machine.
    expect(await sh(command, { timeout_seconds: 8 })).toEqual(ran("before\n", { exit_code: 124, timed_out: true }));
    await gone("sleep 60");
    expect(await sh("sleep 61 >/dev/null 2>&1 & echo on; touch made")).toEqual(ran("on\n"));
    await gone("sleep 61");
    expect(existsSync(join(ground.dir, "ws/made"))).toBe(true);
  });

  test("keeps 10 MB of both outputs together, and the exit code", async () => {
    const result = await sh(`echo first >&2; head -c ${11 * MB} /dev/zero | tr '\\0' x; echo late >&2; exit 5`);
    const marker = "\n... [output truncated: combined output exceeded 10 MB] ...";
    expect(result).toMatchObject({ stderr: "first\n", exit_code: 5, truncated: true, timed_out: false });
    expect(String(result["stdout"]).length).toBe(10 * MB - "first\n".length + marker.length);
    expect(String(result["stdout"]).endsWith(`x${marker}`)).toBe(true);
    const most = await sh(`head -c ${10 * MB} /dev/zero | tr '\\0' x`);
    expect([String(most["stdout"]).length, most["truncated"]]).toEqual([10 * MB, false]);
  });

  test("gives bytes that are no text as U+FFFD, and characters whole however they came", async () => {
    expect(await sh("printf 'a\\377b'; printf '\\342\\202'; sleep 0.05; printf '\\254'")).toEqual(ran("a\ufffdb€"));
  });

  test("refuses times that are none, and takes longer ones for 60 seconds", async () => {
    for (const timeout_seconds of [0, -1, Number.NaN, Number.POSITIVE_INFINITY, "5", null]) {
      expect(await sh("touch no", { timeout_seconds })).toEqual(rejected("invalid timeout_seconds."));
    }
    expect(await sh("echo yes", { timeout_seconds: 1e9 })).toEqual(ran("yes\n"));
    expect(existsSync(join(ground.dir, "ws/no"))).toBe(false);
  });

  test("refuses what is on the list, and starts nothing", async () => {
    const text = "command matches a blocked pattern (destructive or escape attempt).";
    expect(await sh("touch no; rm -rf /")).toEqual(rejected(text));
    expect(existsSync(join(ground.dir, "ws/no"))).toBe(false);
  });

  test.each<[object, string]>([
    [{}, "'command' is required"],
    [{ command: 5 }, "'command' must be a string"],
    [{ command: "ls", cwd: "/" }, "Unknown field 'cwd'. Known fields: command, timeout_seconds"],
    [{ command: "a\0b" }, "the command holds a Nul character"],
    [{ command: "x".repeat(200_000) }, "the command is too long"],
  ])("%#: refuses arguments that are none", async (args, what) => {
    const { command, ...more } = { command: undefined, ...args };
    expect(await sh(command as never, command === undefined ? { command } : more)).toEqual(
      rejected(`invalid argument: ${what}`),
    );
  });

  test("needs the right to run commands on the whole root, and to change it what changes it", async () => {
    const caps = (...all: string[]) => ({ caps: all.map((can) => ({ with: "file://r/", can })) });
    const denied = rejected("permission denied: requires exec/run on file://r/");
    expect(await sh("id", {}, caps("crud"))).toEqual(denied);
    expect(await sh("id", {}, { caps: [{ with: "file://r/ws/", can: "*" }] })).toEqual(denied);
    expect(await sh("echo run", {}, caps("exec/run", "crud/read"))).toEqual(ran("run\n"));
    expect(await sh("touch x", {}, caps("exec/run", "crud/write"))).toMatchObject({ exit_code: 1 });
    expect(await sh("touch x", {}, caps("*"))).toEqual(ran(""));
  });

  test("is among the tools, and says what an agent should know", () => {
    const tool = tools().find(({ name }) => name === "jettson_shell_run");
    expect(tool?.description).toMatch(/Programs are those of the host. There is no network.$/);
  });

  test("ends when its caller gives up", async () => {
    const stop = new AbortController();
    const running = sh("touch begun; sleep 62", {}, { signal: stop.signal });
    while (!existsSync(join(ground.dir, "ws/begun"))) await setTimeout(5);
    stop.abort();
    expect(await running).toEqual(rejected("cancelled"));
    await gone("sleep 62");
  });

  test("what the list would block leaves the host unharmed without it", async () => {
    const before = readdirSync("/").sort();
    for (const command of [
      "cd /; rm -rf bin dev etc lib* proc root sbin tmp usr/bin/[a-d]* workspace",
      "dd if=/dev/zero of=/dev/sda count=1",
      "reboot -f",
      "mkfs /dev/sda",
    ]) {
      const { exitCode } = await ground.sh(`${command}; true`);
      expect(exitCode).toBe(0);
    }
    expect(readdirSync("/").sort()).toEqual(before);
    expect(lstatSync("/etc/passwd").size).toBeGreaterThan(0);
  });
});

withBwrap("the shell of a read-only root", () => {
  const { ground, sh } = useJettson({ root: { readOnly: true } });
  test("runs, and changes nothing", async () => {
    ground.put("f", "x");
    expect(await sh("cat f; touch g")).toMatchObject({ stdout: "x", exit_code: 1 });
    expect(readdirSync(ground.dir)).toEqual(["f"]);
  });
});

/** As on Jettson's page; without a network its first step is a file that is there. */
withBwrap("Jettson's data-processing sample", () => {
  const csv = ["id,name,email", ...Array.from({ length: 200 }, (_, id) => `${id},n${id},n${id}@acme.io`)].join("\n");

  describe("without a network", () => {
    const { sh, files } = useJettson();
    test("runs, and its file is read", async () => {
      await files("write", { path: "source.csv", content: `${csv}\n` });
      const command = "cat source.csv | head -100 > data.csv && wc -l data.csv";
      expect(await sh(command)).toEqual(ran("100 data.csv\n"));
      const { content } = (await files("read", { path: "data.csv" })) as { content: string };
      expect(content.split("\n").length).toBe(101);
      expect(await sh("curl -sS -m 2 http://127.0.0.1:9/")).toMatchObject({ stdout: "" });
    });
  });
});

describe("without a sandbox", () => {
  const none: ShellConfig = { ...DEFAULT_SHELL, driver: "none" };
  const { tools, sh } = useJettson({ shell: none });
  test("the tool is in no list, and a call says so", async () => {
    expect(tools().map(({ name }) => name)).not.toContain("jettson_shell_run");
    expect(await sh("id")).toEqual(rejected("no sandbox available"));
    const { name } = await createSandbox(none);
    expect(name).toBe("none");
  });
});

/** Waits until what a run has started is dead; the time of the test bounds it. */
async function gone(commandLine: string): Promise<void> {
  while (processes(commandLine).length > 0) await setTimeout(10);
}

/** Processes of this machine with this command line. */
function processes(text: string): string[] {
  return readdirSync("/proc")
    .filter((name) => /^\d+$/.test(name))
    .map((pid) => {
      try {
        return readFileSync(`/proc/${pid}/cmdline`, "utf8").replaceAll("\0", " ").trim();
      } catch {
        return "";
      }
    })
    .filter((line) => line === text);
}
