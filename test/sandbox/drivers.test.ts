import { existsSync } from "node:fs";
import { join } from "node:path";
import { describe, expect, test } from "@jest/globals";
import { DEFAULT_SHELL, type Sandbox, type SandboxJob, type ShellConfig } from "../../src/core/ports/sandbox.js";
import { createSandbox } from "../../src/sandbox/create.js";
import { needs } from "../needs.js";
import { isRoot, useShell } from "./ground.js";

const ground = useShell({ shell: { unsafe: true }, roots: { denied: { temp: true, deny: ["x"] } } });

const open = async (config: Partial<ShellConfig>) => {
  const warnings: string[] = [];
  const sandbox = await createSandbox(
    { ...DEFAULT_SHELL, ...config },
    { onWarning: (text) => void warnings.push(text) },
  );
  return { sandbox, warnings };
};

describe("no sandbox", () => {
  test("runs nothing, whoever asks", async () => {
    const { sandbox, warnings } = await open({ driver: "none" });
    expect([sandbox.name, warnings]).toEqual(["none", []]);
    expect(await sandbox.probe()).toMatchObject({ available: false });
    const failure = ground.sh("touch made", { sandbox });
    await expect(failure).rejects.toMatchObject({
      code: "NOT_SUPPORTED",
      message: "Not supported by this venue: no sandbox available",
    });
    expect(existsSync(join(ground.dir, "made"))).toBe(false);
  });

  test.each([
    [
      "pasta: Failed to open tun socket in namespace\n",
      /no sandbox available: its network needs \/dev\/net\/tun \(or set shell/,
    ],
    ['slirp4netns: open("/dev/net/tun"): Permission denied\nchild failed(1)\n', /needs \/dev\/net\/tun/],
    ["/home/op/secret: something else", /no sandbox available$/],
    [undefined, /no sandbox available$/],
  ])("says as much of the reason as a caller may know: %j", async (reason, message) => {
    const probe = { available: false, network: true, realBinaries: true, ...(reason === undefined ? {} : { reason }) };
    const run = () => {
      throw new Error("It is not available");
    };
    const sandbox: Sandbox = { name: "bwrap", shows: "host", probe: async () => probe, run };
    const failure = ground.sh("true", { sandbox });
    await expect(failure).rejects.toMatchObject({ code: "NOT_SUPPORTED", message: expect.stringMatching(message) });
  });

  test("is what there is where the driver does not work, and the operator is told why", async () => {
    const limits = { ...DEFAULT_SHELL.limits, data: 4096 };
    const broken = { limits, uid: 54_321, gid: 54_321 };
    for (const driver of ["auto", "bwrap"] as const) {
      const { sandbox, warnings } = await open({ ...broken, driver });
      expect((await sandbox.probe()).available).toBe(false);
      expect(sandbox.name).toBe(driver === "auto" ? "none" : "bwrap");
      expect(warnings).toEqual([expect.stringMatching(/^there is no sandbox for commands: ./)]);
    }
  });
});

describe("plain processes of the host", () => {
  test("are run only where the operator says so, and are warned of", async () => {
    const { sandbox, warnings } = await open({ unsafe: true });
    expect([sandbox.name, warnings]).toEqual(["unsafe", [expect.stringContaining("shell.unsafe is set")]]);
  });

  test("work in the directory that is mounted", async () => {
    ground.put("a/b", "content");
    const ran = await ground.sh("cat a/b; pwd; echo $HOME; echo made > a/c; kill -9 $$");
    expect(ran).toMatchObject({ stdout: `content${ground.dir}\n${ground.dir}\n`, exitCode: null, signal: "SIGKILL" });
    expect(await ground.adapter.invoke("file:read", { root: "r", path: "a/c" })).toMatchObject({ content: "made\n" });
  });

  test("are ended with their time", async () => {
    const ran = await ground.overtime("echo on; sleep 60 & sleep 60");
    expect(ran).toMatchObject({ stdout: "on\n", timedOut: true, signal: "SIGKILL" });
  });

  test("take with them what they left in the background", async () => {
    const ran = await ground.sh("sleep 60 & echo on");
    expect(ran).toMatchObject({ stdout: "on\n", exitCode: 0, timedOut: false });
  });

  test("are not run where something would have to be kept from them", async () => {
    const context = { caps: [{ with: "file://r/", can: "exec/run" }] };
    await expect(ground.sh("true", { context })).rejects.toMatchObject({ code: "NOT_SUPPORTED" });
    await ground.sh("touch x", { mounts: [{ root: "denied", at: "/workspace" }] });
    const denied = ground.sh("true", { mounts: [{ root: "denied", at: "/workspace" }] });
    await expect(denied).rejects.toMatchObject({ code: "NOT_SUPPORTED" });
    expect(ground.warnings.join()).toContain("without a sandbox nothing");
  });
});

describe("in a directory of root's", () => {
  needs(isRoot, "this process is not root")("root runs nothing, and the answer names the keys", async () => {
    const host = { descriptor: 0, path: "/", uid: 0, gid: 0, masks: [] };
    const files = { invoke: () => Promise.reject(new Error("There are none")) };
    const mounts = [{ root: "r", at: "/workspace", writable: true, host, files }];
    const job: SandboxJob = { mounts, argv: ["true"], cwd: "/", env: {}, outputBytes: 1, keep: "head" };
    for (const shell of [{ unsafe: true }, { driver: "bwrap" as const }]) {
      const { sandbox, warnings } = await open(shell);
      const failure = { code: "NOT_SUPPORTED", message: expect.stringContaining("(set shell.uid and shell.gid)") };
      expect(() => sandbox.run(job)).toThrow(expect.objectContaining(failure));
      expect(warnings.at(-1)).toContain("commands never run as root");
    }
  });
});
