import { existsSync, mkdirSync, mkdtempSync, readdirSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { afterEach, beforeEach, describe, expect, test } from "@jest/globals";
import { DEFAULT_SHELL } from "../../../src/core/ports/sandbox.js";
import { delegationAt, findDelegation, groupDirectory } from "../../../src/sandbox/bwrap/control-group.js";
import { groupLimits, RunGroups } from "../../../src/sandbox/bwrap/run-groups.js";

const SYSTEMD =
  "25 1 0:22 / /proc rw - proc proc rw\n35 24 0:30 / /sys/fs/cgroup rw,nosuid shared:9 - cgroup2 cgroup2 rw\n";
const HYBRID =
  "32 31 0:29 / /sys/fs/cgroup/pids rw - cgroup cgroup rw,pids\n41 31 0:38 / /sys/fs/cgroup/unified rw - cgroup2 cgroup2 rw\n";

describe("the control group of a process", () => {
  test.each([
    ["of a service", "0::/system.slice/venue.service\n", SYSTEMD, "/sys/fs/cgroup/system.slice/venue.service"],
    ["of the root", "0::/\n", SYSTEMD, "/sys/fs/cgroup"],
    ["beside those of version 1", "8:pids:/a\n4:memory:/b\n0::/c\n", HYBRID, "/sys/fs/cgroup/unified/c"],
    ["in a container that shows its own part", "0::/pod/x/y\n", "1 2 0:3 /pod/x /cg rw - cgroup2 c rw\n", "/cg/y"],
    ["with a blank in its path", "0::/a b\n", "1 2 0:3 / /mnt/c\\040g rw - cgroup2 c rw\n", "/mnt/c g/a b"],
    ["that a later mount shows", "0::/a/b\n", `1 2 0:3 /z /one rw - cgroup2 c rw\n${SYSTEMD}`, "/sys/fs/cgroup/a/b"],
    ["whose name is like that of what is mounted", "0::/pods\n", "1 2 0:3 /pod /cg rw - cgroup2 c rw\n", undefined],
    ["of version 1 alone", "8:pids:/a\n", HYBRID, undefined],
    ["that is not mounted", "0::/a\n", "25 1 0:22 / /proc rw - proc proc rw\n", undefined],
    ["above its namespace", "0::/../other\n", SYSTEMD, undefined],
    ["where a mount comes from above its namespace", "0::/a\n", "1 2 0:3 /.. /cg rw - cgroup2 c rw\n", undefined],
    ["where nothing is known", "", "", undefined],
  ])("%s", (_what, memberships, mounts, directory) => {
    expect(groupDirectory(memberships, mounts)).toBe(directory);
  });
});

describe("a control group", () => {
  let folder = "";
  beforeEach(() => {
    folder = mkdtempSync(join(tmpdir(), "venue-files-group-"));
  });
  afterEach(() => rmSync(folder, { recursive: true }));

  /** One as the kernel shows it, but for what it does. */
  function group(name: string, files: Readonly<Record<string, string>> = {}): string {
    const directory = join(folder, name);
    mkdirSync(directory);
    const all = {
      "cgroup.controllers": "cpu memory pids\n",
      "cgroup.procs": "77\n",
      "cgroup.subtree_control": "",
      "cgroup.type": "domain\n",
      ...files,
    };
    for (const [file, content] of Object.entries(all)) writeFileSync(join(directory, file), content);
    return directory;
  }

  test("is delegated where both controllers are, and no process but this one", () => {
    const directory = group("own");
    expect(delegationAt(directory, 77)).toEqual({ directory, isRoot: false });
    expect(delegationAt(group("empty", { "cgroup.procs": "" }), 77)).toMatchObject({ isRoot: false });
    const shared = group("shared", { "cgroup.procs": "77\n78\n" });
    expect(delegationAt(shared, 77)).toEqual({ reason: "other processes share its control group" });
    // The first of all may have processes beside groups.
    rmSync(join(shared, "cgroup.type"));
    expect(delegationAt(shared, 77)).toEqual({ directory: shared, isRoot: true });
  });

  test.each([
    ["cpu\n", "its control group has no controller for memory and pids"],
    ["cpu pids\n", "its control group has no controller for memory"],
    ["memory\n", "its control group has no controller for pids"],
  ])("is of no use with the controllers %j", (controllers, reason) => {
    expect(delegationAt(group("own", { "cgroup.controllers": controllers }), 77)).toEqual({ reason });
  });

  test("is not delegated where it cannot be written, or is not there", () => {
    const directory = group("own");
    rmSync(join(directory, "cgroup.subtree_control"));
    expect(delegationAt(directory, 77)).toEqual({
      reason: "its control group is not delegated to it (Delegate=yes)",
    });
    expect(delegationAt(join(folder, "none"), 77)).toEqual({ reason: "its control group cannot be read" });
  });

  test("is found by what procfs says", () => {
    const directory = group("own");
    const proc = join(folder, "proc");
    mkdirSync(proc);
    writeFileSync(join(proc, "cgroup"), "0::/own\n");
    writeFileSync(join(proc, "mountinfo"), `1 2 0:3 / ${folder} rw - cgroup2 c rw\n`);
    expect(findDelegation(77, proc)).toEqual({ directory, isRoot: false });
    const none = { reason: "there is no control group of version 2" };
    expect(findDelegation(77, join(folder, "nowhere"))).toEqual(none);
    // What another one has taken over already.
    writeFileSync(join(directory, "cgroup.procs"), "");
    group("own/venue-files", { "cgroup.controllers": "" });
    writeFileSync(join(proc, "cgroup"), "0::/own/venue-files\n");
    expect(findDelegation(77, proc)).toEqual({ directory, isRoot: false });
  });

  test("that refuses what runs need is left as it was", async () => {
    const directory = group("own");
    expect(await RunGroups.open({ reason: "there is none" })).toBe("there is none");
    // A plain directory has no `pids.max`, and a group of one kernel may lack what another has.
    const refused = await RunGroups.open({ directory, isRoot: true });
    expect(refused).toMatch(/^its control group cannot be used: ENOENT/);
    expect(readdirSync(directory).filter((name) => name.startsWith("venue-files"))).toEqual([]);
    expect(existsSync(join(directory, "cgroup.procs"))).toBe(true);
  });

  test("limits what the limits of a shell say, with what makes the sandbox and its temp directories", () => {
    expect(groupLimits(DEFAULT_SHELL)).toEqual({ pids: 256 + 16, memory: 1_073_741_824 + 2 * 67_108_864 });
  });
});
