import { createHash } from "node:crypto";
import {
  chmodSync,
  chownSync,
  existsSync,
  mkdirSync,
  mkdtempSync,
  readdirSync,
  readFileSync,
  readlinkSync,
  rmSync,
  statSync,
  symlinkSync,
  utimesSync,
  writeFileSync,
} from "node:fs";
import { release, tmpdir } from "node:os";
import { join } from "node:path";
import { afterAll, beforeAll, describe, expect, jest, test } from "@jest/globals";
import fc from "fast-check";
import { assembleAdapter } from "../../src/adapter/adapter.js";
import { TreeSnapshot } from "../../src/backend/host/runs/snapshot.js";
import { parseFileConfig } from "../../src/config/load.js";
import type { FileConfigInput } from "../../src/config/types.js";
import { aborted } from "../../src/core/errors/texts.js";
import { DEFAULT_SHELL, type Sandbox, type SandboxJob, type ShellConfig } from "../../src/core/ports/sandbox.js";
import { RootJournal } from "../../src/journal/journal.js";
import { openProfile } from "../../src/profiles/create-profile.js";
import { findDelegation } from "../../src/sandbox/bwrap/control-group.js";
import { networkTools } from "../../src/sandbox/bwrap/user-network.js";
import { createSandbox } from "../../src/sandbox/create.js";
import { createOutput, type StreamName } from "../../src/sandbox/output.js";
import { countsByRun, reportSandbox } from "../../src/sandbox/report.js";
import { AcpClientFs } from "../../src/surfaces/acp/client-fs.js";
import { createMemoryDrives } from "../../src/venue/start/drives.js";
import { anyCharacter } from "../any-character.js";
import { needs } from "../needs.js";
import { localAgent } from "../surfaces/acp/local.js";
import { bwrapHere, isRoot, OWNER, type RunPatch, useShell } from "./ground.js";
import { type Change, changesBy, told } from "./run-history.js";

describe("drivers", () => {
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
      const probe = {
        available: false,
        network: true,
        realBinaries: true,
        ...(reason === undefined ? {} : { reason }),
      };
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
});

const text = (bytes: Uint8Array): string => Buffer.from(bytes).toString("utf8");

const pieces = fc.array(
  fc.record({
    stream: fc.constantFrom<StreamName>("stdout", "stderr"),
    text: fc.string({ unit: anyCharacter, maxLength: 8 }),
  }),
  { maxLength: 20 },
);
/** Bytes of texts, in chunks that split characters. */
const chunksOf = (bytes: Buffer, size: number): Buffer[] =>
  Array.from({ length: Math.ceil(bytes.length / size) }, (_, index) =>
    bytes.subarray(index * size, (index + 1) * size),
  );

describe("output that is kept from its beginning", () => {
  test("is what came first of both streams together, without half a character", () => {
    fc.assert(
      fc.property(pieces, fc.nat(40), fc.integer({ min: 1, max: 3 }), (written, most, size) => {
        const output = createOutput("head", most);
        for (const piece of written) {
          for (const chunk of chunksOf(Buffer.from(piece.text), size)) output.add(piece.stream, chunk);
        }
        const { stdout, stderr, combined, truncated, cutStream } = output.output(true);
        const whole = (only?: StreamName) =>
          written
            .filter(({ stream }) => only === undefined || stream === only)
            .map((piece) => piece.text)
            .join("");
        const all = Buffer.from(whole());
        expect(truncated).toBe(all.length > most);
        expect(cutStream === undefined).toBe(!truncated);
        expect(stdout.length + stderr.length).toBeLessThanOrEqual(most);
        expect(whole("stdout").startsWith(text(stdout))).toBe(true);
        expect(whole("stderr").startsWith(text(stderr))).toBe(true);
        expect(combined.length).toBeGreaterThanOrEqual(Math.min(all.length, most) - 3);
        expect(all.subarray(0, combined.length).equals(Buffer.from(combined))).toBe(true);
      }),
    );
  });

  test("names the stream that there was no more room for first", () => {
    const output = createOutput("head", 4);
    output.add("stdout", Buffer.from("abc"));
    output.add("stderr", Buffer.from("dé"));
    output.add("stdout", Buffer.from("late"));
    expect(output.output(true)).toMatchObject({ cutStream: "stderr", truncated: true });
    expect([text(output.output(true).stdout), text(output.output(true).stderr)]).toEqual(["abc", "d"]);
  });
});

describe("output that is kept from its end", () => {
  test("is what came last, without half a character", () => {
    fc.assert(
      fc.property(pieces, fc.integer({ min: 0, max: 40 }), fc.integer({ min: 1, max: 50 }), (written, most, size) => {
        const output = createOutput("tail", most);
        const all = Buffer.from(written.map((piece) => piece.text).join(""));
        for (const chunk of chunksOf(all, size)) output.add("stdout", chunk);
        const { combined, stdout, truncated } = output.output(true);
        expect(truncated).toBe(all.length > most);
        expect(combined.length).toBeLessThanOrEqual(most);
        expect(combined.length).toBeGreaterThanOrEqual(Math.min(all.length, most) - 3);
        expect(all.subarray(all.length - combined.length).equals(Buffer.from(combined))).toBe(true);
        expect(Buffer.from(stdout).equals(Buffer.from(combined))).toBe(true);
        expect(Buffer.from(text(combined)).equals(Buffer.from(combined))).toBe(true);
      }),
    );
  });

  test("keeps both streams in the order in which they came", () => {
    const output = createOutput("tail", 6);
    for (const [stream, bytes] of [
      ["stdout", "ab"],
      ["stderr", "cd"],
      ["stdout", "ef"],
      ["stderr", "gh"],
    ] as const) {
      output.add(stream, Buffer.from(bytes));
    }
    expect(text(output.output(false).combined)).toBe("cdefgh");
  });
});

test("a character that is still coming is not shown until it is there", () => {
  for (const keep of ["head", "tail"] as const) {
    const output = createOutput(keep, 100);
    output.add("stdout", Buffer.from("é").subarray(0, 1));
    expect(output.output(false).stdout).toHaveLength(0);
    expect(output.output(true).stdout).toHaveLength(1);
    output.add("stdout", Buffer.from("é").subarray(1));
    expect(text(output.output(false).stdout)).toBe("é");
  }
});

test("what is no text is kept as it is", () => {
  const bytes = Buffer.of(0xff, 0xc0, 0x80, 0xfe);
  const output = createOutput("head", 100);
  output.add("stdout", bytes);
  expect(Buffer.from(output.output(false).stdout).equals(bytes)).toBe(true);
});

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

describe("what a shell in JavaScript has changed", () => {
  const ground = useShell({ journal: true, shell: { driver: "just-bash" } });

  test("is one group of the operations that it called, and is taken back whole", async () => {
    ground.put("edited", "1\n");
    ground.put("deleted", "2");
    const context = { session: "s1", surface: "mcp" };
    const changes = await changesBy(ground, () =>
      ground.sh("echo 2 >> edited; echo 3 >> edited; rm deleted; mkdir d; echo x > d/y", { context }),
    );
    expect(changes.map(told)).toEqual(expect.arrayContaining(["now edited", "was deleted", "new d", "new d/y"]));
    expect(new Set(changes.map(({ op }) => op)).has("delete")).toBe(true);
    expect([...new Set(changes.map(({ group }) => group))]).toEqual([expect.stringMatching(/^g/)]);
    expect([...new Set(changes.map(({ via, undoable }) => `${via} ${undoable}`))]).toEqual(["s1 true"]);
    await ground.adapter.invoke("file:undo", { last: 1 }, context);
    expect(readFileSync(join(ground.dir, "edited"), "utf8")).toBe("1\n");
    expect(readFileSync(join(ground.dir, "deleted"), "utf8")).toBe("2");
    expect(existsSync(join(ground.dir, "d"))).toBe(false);
  });

  test("is another group for each command", async () => {
    const changes = await changesBy(ground, async () => {
      await ground.sh("echo 1 > a");
      await ground.sh("echo 1 > b");
    });
    expect(new Set(changes.map(({ group }) => group)).size).toBe(2);
  });
});

describe("snapshots of a run", () => {
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
      const read = await ground.adapter.invoke("file:read", {
        root: "r",
        path: "file",
        version: `${change?.id}:before`,
      });
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
});

describe("a shell in JavaScript", () => {
  const ground = useShell({
    root: { deny: [".env"], protect: ["@git"], quota: { bytes: 50_000 } },
    roots: { fixed: { temp: true, readOnly: true } },
    shell: { driver: "just-bash" },
  });

  test("says that it has no programs of the host", async () => {
    expect(await ground.sandbox.probe()).toEqual({ available: true, network: false, realBinaries: false });
    expect(await ground.sh("git status")).toMatchObject({ exitCode: 127 });
  });

  test("works on the files of the root, each touch an operation", async () => {
    ground.put("a/b", "one\ntwo\n");
    const ran = await ground.sh(
      "cd a && grep -n two b | tee c && wc -l < b && mkdir -p d/e && mv c d/e/ && cp -r d f && rm b && ls -R . && pwd; exit 4",
    );
    expect(ran).toMatchObject({ exitCode: 4, signal: null, stderr: "", timedOut: false });
    expect(ran.stdout).toContain("2:two\n2\n");
    expect(ran.stdout).toContain("/workspace/a\n");
    expect(readFileSync(join(ground.dir, "a/f/e/c"), "utf8")).toBe("2:two\n");
    const operations = ground.audit.map(({ operation }) => operation);
    expect(operations.at(-1)).toBe("file:exec");
    expect(operations).toEqual(
      expect.arrayContaining(["file:read", "file:write", "file:move", "file:copy", "file:delete"]),
    );
  });

  test("makes a folder that is called as the root where it says", async () => {
    const ran = await ground.sh("mkdir -p r/in && echo a > r/in/x && cp r/in/x r/y && ls r");
    expect(ran).toMatchObject({ stdout: "in\ny\n", stderr: "" });
    expect(readFileSync(join(ground.dir, "r/y"), "utf8")).toBe("a\n");
  });

  test("says what went wrong as a system would", async () => {
    ground.put("a/b", "one");
    const ran = await ground.sh("cat none; rmdir a; ls nothing; ln -s /etc/passwd x; cd a/b; mkdir a; echo $?");
    expect(ran.stdout).toBe("1\n");
    const said = ran.stderr.toLowerCase();
    for (const text of [
      "cat: none: no such file",
      "not empty",
      "nothing: no such file",
      "ln: ",
      "a/b: not a dir",
      "exists",
    ]) {
      expect(said).toContain(text);
    }
  });

  test("goes no further than a redirection that is refused, and keeps what it has written", async () => {
    ground.put(".env", "SECRET");
    const ran = await ground.sh("echo before; echo x > .env; echo after");
    expect(ran).toMatchObject({ stdout: "before\n", exitCode: 1 });
    expect(ran.stderr).toContain("permission denied, open '/workspace/.env'");
    expect(readFileSync(join(ground.dir, ".env"), "utf8")).toBe("SECRET");
  });

  test("may read what is protected, and not change it", async () => {
    ground.put("a/.git/config", "[core]");
    const ran = await ground.sh("cat a/.git/config; rm -rf a; mv a b; echo x > a/.git/hook; ls -A a/.git");
    expect(ran.stdout).toBe("[core]");
    const last = await ground.sh("mv a/.git g; cp a/.git/config a/.git/copy; ls -A a/.git");
    expect(last.stdout).toBe("config\n");
    expect(readFileSync(join(ground.dir, "a/.git/config"), "utf8")).toBe("[core]");
  });

  test("sees nothing but what its caller may, and nothing of the host", async () => {
    ground.put(".env", "SECRET");
    ground.put("in/file", "there");
    writeFileSync(join(ground.outside, "file"), "SECRET");
    symlinkSync(join(ground.outside, "file"), join(ground.dir, "out"));
    const all = await ground.sh(`cat .env out ${ground.outside}/file /etc/passwd; ls -A; cat in/file`);
    expect(all.stdout).toBe("in\nout\nthere");
    const context = {
      caps: [
        { with: "file://r/", can: "exec/run" },
        { with: "file://r/in", can: "crud/read" },
      ],
    };
    const some = await ground.sh("cat in/file; echo x > in/file; echo y > z; ls", { context });
    expect([some.stdout, readFileSync(join(ground.dir, "in/file"), "utf8")]).toEqual(["there", "there"]);
  });

  test("changes nothing in a read-only root, and no more than there is room for", async () => {
    const mounts = [{ root: "fixed", at: "/workspace" }];
    expect(await ground.sh("echo x > a", { mounts })).toMatchObject({
      stdout: "",
      stderr: expect.stringMatching(/read-only/i),
    });
    const ran = await ground.sh("echo small > c; ls; printf '%60000s' x > b; echo after");
    expect(ran.stderr).toMatch(/quota/i);
    expect(ran.stdout).toBe("c\n");
  });

  test("keeps bytes as they are", async () => {
    const bytes = Buffer.from(Array.from({ length: 256 }, (_, index) => index));
    writeFileSync(join(ground.dir, "a"), bytes);
    expect(await ground.sh("cat a > b; cat a >> b; cp a c")).toMatchObject({ exitCode: 0, stderr: "" });
    expect(readFileSync(join(ground.dir, "b"))).toEqual(Buffer.concat([bytes, bytes]));
    expect(readFileSync(join(ground.dir, "c"))).toEqual(bytes);
  });

  test("takes a program and its arguments as they are", async () => {
    const argv = ["printf", "%s|", "a b", "$HOME", "'"];
    expect((await ground.sh("", { argv })).stdout).toBe("a b|$HOME|'|");
  });

  test("has the environment that it is given, and no memory of the command before", async () => {
    expect((await ground.sh("x=1; cd /tmp; echo $HOME $LANG; echo y > z; cat z")).stdout).toBe(
      "/workspace C.UTF-8\ny\n",
    );
    expect((await ground.sh("echo [$x]; pwd; ls /tmp")).stdout).toBe("[]\n/workspace\n");
  });

  test("is ended when its time is over, or its caller wants that, also in a loop without end", async () => {
    for (const command of ["echo on; sleep 60", "echo on; while true; do while true; do :; done; done"]) {
      const ran = await ground.sh(command, { timeoutMs: 300 });
      expect([ran.timedOut, ran.signal === "SIGKILL"]).toEqual([ran.exitCode === null, ran.exitCode === null]);
    }
    expect(await ground.sh("sleep 60", { timeoutMs: 200 })).toMatchObject({
      timedOut: true,
      exitCode: null,
      signal: "SIGKILL",
    });
    const process = await ground.adapter.exec(ground.request("sleep 60"));
    await process.kill();
    expect(await process.exited).toMatchObject({ timedOut: false, exitCode: null, signal: "SIGKILL" });
    await expect(ground.sh("true", { signal: AbortSignal.abort() })).rejects.toMatchObject({ code: "ABORTED" });
  });

  test("has its output cut at the limit", async () => {
    const ran = await ground.sh("for i in 1 2 3 4 5 6 7 8 9; do printf 'ééééé'; done", { outputBytes: 51 });
    expect([ran.stdout, ran.truncated]).toEqual(["é".repeat(25), true]);
  });

  test("works on drives, of whoever calls", async () => {
    const config = parseFileConfig({ roots: { d: { dlfs: "work" } } }, { baseDir: ground.home });
    const adapter = await assembleAdapter(config, {
      ...{ discloseHostPaths: false, drives: createMemoryDrives() },
      capabilities: { grants: [{ did: "did:key:zOne", with: "file://", can: "*" }] },
    });
    const context = { callerDID: "did:key:zOne" };
    const run = async (command: string, prefix?: string) => {
      const mounts = [{ root: "d", at: "/workspace", ...(prefix === undefined ? {} : { prefix }) }];
      const process = await adapter.exec(ground.request(command, { mounts }), context);
      const { exitCode } = await process.exited;
      return [
        exitCode,
        Buffer.from(process.output().stdout).toString(),
        Buffer.from(process.output().stderr).toString(),
      ];
    };
    try {
      expect(await run("mkdir a; echo one > a/b; cat a/b; ls -l a | wc -l")).toEqual([0, "one\n2\n", ""]);
      expect(await run("cat b; echo two > c", "a")).toEqual([0, "one\n", ""]);
      expect(await run("echo new > file; cat file", "made/here")).toEqual([0, "new\n", ""]);
      expect(await run("cat a/c made/here/file")).toEqual([0, "two\nnew\n", ""]);
    } finally {
      await adapter.close();
    }
  });
});
