import {
  chmodSync,
  chownSync,
  mkdirSync,
  mkdtempSync,
  readdirSync,
  readFileSync,
  rmSync,
  writeFileSync,
} from "node:fs";
import { release, tmpdir } from "node:os";
import { join } from "node:path";
import { afterAll, beforeAll, describe, expect, test } from "@jest/globals";
import { parseFileConfig } from "../../src/config/load.js";
import type { FileConfigInput } from "../../src/config/types.js";
import { DEFAULT_SHELL } from "../../src/core/ports/sandbox.js";
import { findDelegation } from "../../src/sandbox/bwrap/control-group.js";
import { networkTools } from "../../src/sandbox/bwrap/user-network.js";
import { countsByRun, reportSandbox } from "../../src/sandbox/report.js";
import { needs } from "../needs.js";
import { bwrapHere, isRoot, OWNER, useShell } from "./ground.js";

const bwrap = await bwrapHere();
const here = needs(bwrap.possible, bwrap.reason);
const asRoot = needs(bwrap.possible && isRoot, isRoot ? bwrap.reason : "only root runs commands as somebody else");
const temp = { file: parseFileConfig({ roots: { r: { temp: true } } }, { baseDir: "/" }), root: "r" };
const NOT_AS_ROOT = "commands never run as root: set shell.uid and shell.gid";

describe("what keeps commands in", () => {
  test.each([
    ["5.13.19-generic", false],
    ["5.14.0", true],
    ["5.4.0-1", false],
    ["4.19.0", false],
    ["6.1.0-56-amd64", true],
    ["10.0", true],
    ["", false],
  ])("counts processes by run: %j %j", (kernel, expected) => expect(countsByRun(kernel)).toBe(expected));

  test("is told where there is nothing, a thread, or no guard", async () => {
    expect(await reportSandbox({ ...DEFAULT_SHELL, driver: "none" }, temp)).toEqual({
      sandbox: "none: shell.driver is none",
      network: "no commands",
    });
    expect(await reportSandbox({ ...DEFAULT_SHELL, driver: "just-bash" }, temp)).toEqual({
      sandbox: "just-bash",
      network: "no network",
    });
    expect(await reportSandbox({ ...DEFAULT_SHELL, unsafe: true }, temp)).toEqual({
      sandbox: "WITHOUT A GUARD",
      network: "network of the host",
    });
  });

  here("is told of bubblewrap, and nothing is moved for that", async () => {
    const before = readFileSync("/proc/self/cgroup", "utf8");
    const { reason } = findDelegation();
    const processes = countsByRun(release()) ? "processes counted by run" : expect.stringContaining("5.14");
    const group = reason === undefined ? "a control group for each run" : `no control groups: ${reason}`;
    const about = { sandbox: "bubblewrap", processes, group };
    expect(await reportSandbox(DEFAULT_SHELL, temp)).toEqual({ ...about, network: "no network" });
    expect(readFileSync("/proc/self/cgroup", "utf8")).toBe(before);
    const connected = await reportSandbox({ ...DEFAULT_SHELL, network: true }, temp);
    const none = { sandbox: expect.stringMatching(/^none: /), network: "no commands" };
    const by = networkTools().map(({ name }) => ({ ...about, network: `network by ${name}` }));
    expect([...by, none]).toContainEqual(connected);
  });
});

describe("the trial is a command in the root itself", () => {
  let home = "";
  beforeAll(() => {
    home = mkdtempSync(join(tmpdir(), "venue-files-report-"));
    chmodSync(home, 0o755);
    for (const name of ["mine", "theirs", "closed/inner", "full"]) mkdirSync(join(home, name), { recursive: true });
    chmodSync(join(home, "closed"), 0o700);
    for (const name of ["theirs", "closed/inner", "full"]) if (isRoot) chownSync(join(home, name), OWNER, OWNER);
    for (let index = 0; index <= 1000; index++) writeFileSync(join(home, "full", `${index}.key`), "");
  });
  afterAll(() => rmSync(home, { recursive: true }));
  const report = (root: NonNullable<FileConfigInput["roots"]>[string], shell = {}, prefix?: string) =>
    reportSandbox(
      { ...DEFAULT_SHELL, ...shell },
      { file: parseFileConfig({ roots: { r: root } }, { baseDir: home }), root: "r", prefix },
    );

  asRoot.each(["auto", "bwrap"] as const)("a root of root needs the two keys (%s)", async (driver) => {
    expect(await report("mine", { driver })).toEqual({ sandbox: `none: ${NOT_AS_ROOT}`, network: "no commands" });
    expect(await report("theirs", { driver, uid: 0 })).toMatchObject({ sandbox: `none: ${NOT_AS_ROOT}` });
    expect(await report("mine", { driver, uid: OWNER, gid: OWNER })).toMatchObject({ sandbox: "bubblewrap" });
    expect(await report("theirs", { driver })).toMatchObject({ sandbox: "bubblewrap" });
    expect(await report({ temp: true }, { driver })).toMatchObject({ sandbox: "bubblewrap" });
    expect(await report("mine", { unsafe: true })).toMatchObject({ sandbox: `none: ${NOT_AS_ROOT}` });
    expect(await report("theirs", { unsafe: true })).toMatchObject({ sandbox: "WITHOUT A GUARD" });
  });

  asRoot("a directory that their user cannot reach is told", async () => {
    expect(await report("closed/inner")).toMatchObject({
      sandbox: expect.stringMatching(/^none: bwrap: .*Permission/),
    });
  });

  here("too many denied entries are told, and nothing is left in the root", async () => {
    const full = { path: "full", deny: ["*.key"] };
    expect(await report(full)).toMatchObject({ sandbox: expect.stringMatching(/^none: .*1001/) });
    expect(await report({ ...full, deny: ["1.key"] }, {}, "not/there")).toMatchObject({ sandbox: "bubblewrap" });
    expect(await report({ ...full, deny: ["1.key"] })).toMatchObject({ sandbox: "bubblewrap" });
    expect(readdirSync(join(home, "full")).filter((name) => !name.endsWith(".key"))).toEqual([]);
  });

  here("a drive needs another driver", async () => {
    const file = parseFileConfig({ roots: { d: { dlfs: "main" } } }, { baseDir: home });
    const place = { file, root: "d" };
    expect(await reportSandbox(DEFAULT_SHELL, place)).toMatchObject({
      sandbox: expect.stringContaining('"just-bash"'),
    });
    expect(await reportSandbox({ ...DEFAULT_SHELL, driver: "just-bash" }, place)).toMatchObject({
      sandbox: "just-bash",
    });
  });
});

describe("a command that is refused", () => {
  const ground = useShell({ roots: { tmp: { temp: true } } });

  asRoot("is told the keys", async () => {
    chownSync(ground.dir, 0, 0);
    try {
      await expect(ground.sh("true")).rejects.toMatchObject({
        code: "NOT_SUPPORTED",
        message: expect.stringMatching(/no sandbox available: .*set shell.uid and shell.gid/),
      });
      expect((await ground.sh("id -u", { mounts: [{ root: "tmp", at: "/workspace" }] })).stdout).toBe("65534\n");
    } finally {
      chownSync(ground.dir, OWNER, OWNER);
    }
  });
});
