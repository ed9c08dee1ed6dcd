import { readFileSync } from "node:fs";
import { release } from "node:os";
import { describe, expect, test } from "@jest/globals";
import { DEFAULT_SHELL } from "../../src/core/ports/sandbox.js";
import { findDelegation } from "../../src/sandbox/bwrap/control-group.js";
import { networkTools } from "../../src/sandbox/bwrap/user-network.js";
import { countsByRun, reportSandbox } from "../../src/sandbox/report.js";
import { needs } from "../needs.js";
import { bwrapHere, isRoot, OWNER } from "./ground.js";

const bwrap = await bwrapHere();
const OWNER_OF_ROOT = { uid: OWNER, gid: OWNER };

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
    expect(await reportSandbox({ ...DEFAULT_SHELL, driver: "none" }, OWNER_OF_ROOT)).toEqual({
      sandbox: "none: shell.driver is none",
      network: "no commands",
    });
    expect(await reportSandbox({ ...DEFAULT_SHELL, driver: "just-bash" }, OWNER_OF_ROOT)).toEqual({
      sandbox: "just-bash",
      network: "no network",
    });
    expect(await reportSandbox({ ...DEFAULT_SHELL, unsafe: true }, OWNER_OF_ROOT)).toEqual({
      sandbox: "WITHOUT A GUARD",
      network: "network of the host",
    });
  });

  needs(isRoot, "this process is not root")("is nothing where it would have to be root itself", async () => {
    const ofRoot = { uid: 0, gid: 0 };
    const none = { sandbox: "none: commands never run as root: set shell.uid and shell.gid", network: "no commands" };
    expect(await reportSandbox({ ...DEFAULT_SHELL, unsafe: true }, ofRoot)).toEqual(none);
    expect(await reportSandbox({ ...DEFAULT_SHELL, unsafe: true, uid: OWNER }, ofRoot)).not.toEqual(none);
    expect(await reportSandbox({ ...DEFAULT_SHELL, driver: "just-bash" }, ofRoot)).not.toEqual(none);
    if (bwrap.possible) expect(await reportSandbox(DEFAULT_SHELL, ofRoot)).toEqual(none);
  });

  needs(bwrap.possible, bwrap.reason)("is told of bubblewrap, and nothing is moved for that", async () => {
    const before = readFileSync("/proc/self/cgroup", "utf8");
    const { reason } = findDelegation();
    const processes = countsByRun(release()) ? "processes counted by run" : expect.stringContaining("5.14");
    const group = reason === undefined ? "a control group for each run" : `no control groups: ${reason}`;
    const about = { sandbox: "bubblewrap", processes, group };
    expect(await reportSandbox(DEFAULT_SHELL, OWNER_OF_ROOT)).toEqual({ ...about, network: "no network" });
    expect(readFileSync("/proc/self/cgroup", "utf8")).toBe(before);
    const connected = await reportSandbox({ ...DEFAULT_SHELL, network: true }, OWNER_OF_ROOT);
    const none = { sandbox: expect.stringMatching(/^none: /), network: "no commands" };
    const by = networkTools().map(({ name }) => ({ ...about, network: `network by ${name}` }));
    expect([...by, none]).toContainEqual(connected);
  });
});
