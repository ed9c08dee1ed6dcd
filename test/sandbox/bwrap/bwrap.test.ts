import { existsSync, mkdirSync, mkdtempSync, readdirSync, readFileSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { afterEach, beforeEach, describe, expect, test } from "@jest/globals";
import { DEFAULT_SHELL } from "../../../src/core/ports/sandbox.js";
import { delegationAt, findDelegation, groupDirectory } from "../../../src/sandbox/bwrap/control-group.js";
import { groupLimits, RunGroups } from "../../../src/sandbox/bwrap/run-groups.js";
import { syscallFilter } from "../../../src/sandbox/bwrap/seccomp.js";
import { withRemedy } from "../../../src/sandbox/bwrap/user-namespaces.js";
import { checkFilter, runFilter } from "./bpf.js";

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

const ALLOW = 0x7fff0000;
const KILL = 0x80000000;
const errno = (number: number) => 0x00050000 | number;
const [ENOSYS, EPROTONOSUPPORT, EAFNOSUPPORT] = [38, 93, 97].map(errno);

/** Written down again from the kernel's tables, so that a wrong number in the source does not agree with itself. */
const AUDIT = { x64: 0xc000003e, arm64: 0xc00000b7 };
const DENIED = {
  x64: {
    ...{ create_module: 174, init_module: 175, delete_module: 176, get_kernel_syms: 177, query_module: 178 },
    ...{ kexec_load: 246, add_key: 248, request_key: 249, keyctl: 250, perf_event_open: 298, finit_module: 313 },
    ...{ kexec_file_load: 320, bpf: 321, userfaultfd: 323 },
    ...{ io_uring_setup: 425, io_uring_enter: 426, io_uring_register: 427 },
  },
  arm64: {
    ...{ kexec_load: 104, init_module: 105, delete_module: 106, add_key: 217, request_key: 218, keyctl: 219 },
    ...{ perf_event_open: 241, finit_module: 273, bpf: 280, userfaultfd: 282, kexec_file_load: 294 },
    ...{ io_uring_setup: 425, io_uring_enter: 426, io_uring_register: 427 },
  },
};
const SOCKET = { x64: { socket: 41, socketpair: 53 }, arm64: { socket: 198, socketpair: 199 } };
/** What `gdb` and `strace` cannot do without among them. */
const PTRACE = { x64: 101, arm64: 117 };

describe.each(["x64", "arm64"] as const)("the filter of system calls on %s", (architecture) => {
  const filter = syscallFilter(architecture) ?? new Uint8Array();
  const audit = AUDIT[architecture];
  const denied = Object.entries(DENIED[architecture]);
  const decide = (number: number, ...args: bigint[]) => runFilter(filter, { number, audit, args });

  test("is one that the kernel takes", () => {
    expect(filter.length).toBeGreaterThan(0);
    expect(() => checkFilter(filter)).not.toThrow();
  });

  test.each(denied)("denies %s", (_name, number) => {
    expect(decide(number)).toBe(ENOSYS);
  });

  test("allows every other call that there is", () => {
    const named = new Set([...denied.map(([, number]) => number), ...Object.values(SOCKET[architecture])]);
    const others = Array.from({ length: 1000 }, (_, number) => number).filter((number) => !named.has(number));
    expect(others).toContain(PTRACE[architecture]);
    expect(others.filter((number) => decide(number) !== ALLOW)).toEqual([]);
  });

  test.each(Object.entries(SOCKET[architecture]))("allows %s of UNIX, IP and NETLINK_ROUTE only", (_name, number) => {
    const NETLINK = 16n;
    for (let family = 0n; family < 64n; family++) {
      if (family === NETLINK) continue;
      expect([family, decide(number, family, 1n, 0n)]).toEqual([
        family,
        [1n, 2n, 10n].includes(family) ? ALLOW : EAFNOSUPPORT,
      ]);
    }
    expect(decide(number, NETLINK, 3n, 0n)).toBe(ALLOW);
    for (let protocol = 1n; protocol < 32n; protocol++) {
      expect([protocol, decide(number, NETLINK, 3n, protocol)]).toEqual([protocol, EPROTONOSUPPORT]);
    }
  });

  test.each(Object.values(SOCKET[architecture]))(
    "judges an int of call %i as the kernel does: by its low half",
    (number) => {
      const high = 1n << 32n;
      expect(decide(number, high | 1n, 1n, 0n)).toBe(ALLOW);
      expect(decide(number, high | 40n, 1n, 0n)).toBe(EAFNOSUPPORT);
      expect(decide(number, 40n - high, 1n, 0n)).toBe(EAFNOSUPPORT);
      expect(decide(number, high | 16n, 3n, high)).toBe(ALLOW);
      expect(decide(number, high | 16n, 3n, high | 9n)).toBe(EPROTONOSUPPORT);
    },
  );

  test("ends a process that calls as another architecture does", () => {
    for (const other of [0x40000003, 0x40000028, 0xc000003e, 0xc00000b7, 0xc00000f3].filter((one) => one !== audit)) {
      for (const number of [1, 4, 41, 198]) expect(runFilter(filter, { number, audit: other })).toBe(KILL);
    }
  });
});

test("calls of x32 are not there", () => {
  const filter = syscallFilter("x64") ?? new Uint8Array();
  const x32 = 0x40000000;
  for (const number of [x32, x32 + 1, x32 + 41, x32 + 250, x32 + 512, 0xffffffff]) {
    expect(runFilter(filter, { number, audit: AUDIT.x64, args: [1n] })).toBe(ENOSYS);
  }
});

test("there is none for other architectures, whatever they are called", () => {
  for (const architecture of ["ia32", "arm", "riscv64", "ppc64", "s390x", "toString", "__proto__", ""]) {
    expect(syscallFilter(architecture)).toBeUndefined();
  }
});

const APPARMOR = "/proc/sys/kernel/apparmor_restrict_unprivileged_userns";
const UID_MAP = "bwrap: setting up uid map: Permission denied";

const on = (files: Readonly<Record<string, string>>) => ({
  exists: (path: string) => Object.hasOwn(files, path),
  read: (path: string) => {
    const text = files[path];
    if (text === undefined) throw new Error("ENOENT");
    return text;
  },
});

test.each([
  [UID_MAP, { [APPARMOR]: "1\n" }, /AppArmor .* \/etc\/apparmor\.d\/bwrap as docs\/sandbox\.md says/],
  ["bwrap: loopback: Failed RTM_NEWADDR: Operation not permitted", { [APPARMOR]: "1\n" }, /\/etc\/apparmor\.d\/bwrap/],
  [
    "bwrap: No permissions to create a new namespace",
    { "/proc/sys/kernel/unprivileged_userns_clone": "0\n" },
    /sysctl kernel\.unprivileged_userns_clone to 1/,
  ],
  [
    "bwrap: Creating new namespace failed: exceeded (ENOSPC)",
    { "/proc/sys/user/max_user_namespaces": "0\n", [APPARMOR]: "1\n" },
    /sysctl user\.max_user_namespaces/,
  ],
])("%s is followed by what to do", (said, files, remedy) => {
  const text = withRemedy(said, on(files));
  expect(text.startsWith(`${said}. `)).toBe(true);
  expect(text).toMatch(remedy);
});

test.each([
  ["no such setting", UID_MAP, {}],
  ["the setting is off", UID_MAP, { [APPARMOR]: "0\n" }],
  ["there is a profile", UID_MAP, { [APPARMOR]: "1\n", "/etc/apparmor.d/bwrap-userns-restrict": "" }],
  ["it is something else", "bwrap: Unknown option --bind-fd", { [APPARMOR]: "1\n" }],
])("nothing is advised where %s", (_, said, files) => {
  expect(withRemedy(said, on(files))).toBe(said);
});

test("the page that is named has the profile", () => {
  const page = readFileSync("docs/sandbox.md", "utf8");
  const [, profile = ""] = /`\/etc\/apparmor\.d\/bwrap`:\n\n```text\n([^`]*)```/.exec(page) ?? [];
  expect(profile).toMatch(/^abi <abi\/4\.0>,\n[\s\S]*profile bwrap \/usr\/bin\/bwrap [\s\S]*\n {2}userns,\n\}\n$/);
});
