import { existsSync, lstatSync, readFileSync, symlinkSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { afterAll, beforeAll, beforeEach, describe, expect, test } from "@jest/globals";
import { createFileAdapter, createProfile, type FileAdapter, type ToolProfile } from "../../../src/index.js";
import { openProfile } from "../../../src/profiles/create-profile.js";
import { openShell } from "../../../src/profiles/shell.js";
import { png } from "../../ops/rendering/images.js";
import { testFixed, whileFixed } from "../../ops/rights.js";
import { hashOf, KINDS, useBed, useBed050 } from "./bed.js";

describe("rights", () => {
  const EDIT = { expected_hash: hashOf("x"), old_text: "x", new_text: "y" };
  const CALLS = [
    ["read_file", {}, "crud/read"],
    ["write_file", { content: "y" }, "crud/write"],
    ["edit_file", EDIT, "crud/write"],
    ["list_directory", {}, "crud/read"],
    ["grep_files", { pattern: "x" }, "crud/read"],
    ["delete_file", {}, "crud/delete"],
    ["stat_file", {}, "crud/read"],
  ] as const;

  describe.each(KINDS)("a caller on a %s root", (kind) => {
    const bed = useBed({ kind, binding: { prefix: "s" } });
    const { call, fail } = bed;
    const holding = (...abilities: string[]) => ({
      ...bed.context,
      caps: abilities.map((can) => ({ with: "file://r/s/", can })),
    });

    test.each(CALLS)("%s with %j needs %s, and the refusal tells nothing of what is there", async (tool, args, can) => {
      await call("write_file", { path: "there", content: "x" });
      const all = ["crud/read", "crud/write", "crud/delete"];
      for (const name of ["there", "not-there"]) {
        expect(await fail(tool, { path: name, ...args }, holding(...all.filter((one) => one !== can)))).toBe(
          `permission denied: requires ${can} on file://r/…/${name}`,
        );
      }
      const path = tool === "list_directory" || tool === "grep_files" ? "" : "there";
      expect(await call(tool, { path, ...args }, holding(can))).not.toHaveProperty("error");
    });

    test("one who may write and not read is told nothing of the content by an edit", async () => {
      await call("write_file", { path: "f", content: "x secret\n" });
      const blind = holding("crud/write");
      expect(await fail("edit_file", { path: "f", ...EDIT }, blind)).toBe(
        `File '/workspace/f' changed since the last read. Expected ${EDIT.expected_hash}. Read the file again before editing.`,
      );
      const expected_hash = hashOf("x secret\n");
      expect(await fail("edit_file", { path: "f", expected_hash, old_text: "x sekret", new_text: "" }, blind)).toBe(
        "Could not find an exact match for old_text: 'x sekret'",
      );
      expect(await call("edit_file", { path: "f", expected_hash, old_text: "x", new_text: "y" }, blind)).toEqual({
        ...{ path: "/workspace/f", size_bytes: 9, applied_edits: 1 },
      });
    });

    test("files outside the prefix are out of reach, for every caller", async () => {
      await bed.adapter.invoke("file:write", { root: "r", path: "beside", content: "x" }, bed.context);
      expect(await fail("read_file", { path: "/beside" })).toBe("File not found: /workspace/beside");
      expect(await fail("read_file", { path: "/../beside" })).toContain("path traversal rejected");
      expect(JSON.stringify(await call("grep_files", { pattern: "x" }))).not.toContain("beside");
    });
  });

  describe("read-only files", () => {
    const bed = useBed({ binding: { prefix: "s" } });
    const { call, fail } = bed;
    const changes = [
      ["write_file", { content: "y" }],
      ["edit_file", EDIT],
      ["delete_file", {}],
    ] as const;
    const seed = (...files: Parameters<NonNullable<typeof bed.profile.seed>>[0]) => bed.profile.seed?.(files);

    test("are put there by the host application, and stay as they are", async () => {
      await seed(
        { path: "/workspace/docs/guide.md", content: "x", readonly: true },
        { path: "docs/free", content: "x" },
      );
      await seed({ path: "bin", content: "AAE=", encoding: "base64" });
      const path = "/workspace/docs/guide.md";
      for (const [tool, args] of changes) {
        expect(await fail(tool, { path, ...args })).toBe(`Cannot modify readonly file: ${path}`);
      }
      for (const recursive of [true, false]) {
        expect(await fail("delete_file", { path: "docs", recursive })).toContain("Cannot modify readonly file");
      }
      expect(await call("read_file", { path })).toMatchObject({ content: "x" });
      expect(await call("read_file", { path: "bin" })).toMatchObject({ content: "AAE=" });
      expect(await call("stat_file", { path })).toMatchObject({ is_readonly: true });
      expect(await call("list_directory", { path: "docs" })).toMatchObject({
        entries: [
          { name: "free", is_readonly: false },
          { name: "guide.md", is_readonly: true },
        ],
      });
      expect(await call("edit_file", { path: "docs/free", ...EDIT })).toMatchObject({ applied_edits: 1 });
    });

    test("are told of only to callers with the right to change them", async () => {
      await seed({ path: "kept", content: "x", readonly: true });
      const caps = [{ with: "file://r/", can: "crud/read" }];
      for (const [tool, args] of changes) {
        expect(await fail(tool, { path: "kept", ...args }, { caps })).toMatch(/^permission denied: requires crud/);
      }
    });

    test("are free again when they are put there without the flag", async () => {
      await seed({ path: "again", content: "one", readonly: true });
      await seed({ path: "again", content: "two" });
      expect(await call("stat_file", { path: "again" })).toMatchObject({ is_readonly: false, size_bytes: 3 });
      expect(await call("delete_file", { path: "again" })).toMatchObject({ deleted: true });
    });

    test("a path that is none is not put there", async () => {
      await expect(seed({ path: "../x", content: "" })).rejects.toThrow();
      await expect(seed({ path: "b64", content: "@", encoding: "base64" })).rejects.toThrow();
    });
  });

  describe("a file that the process may not write", () => {
    const bed = useBed();

    testFixed("is refused by an edit, whatever it would have found or changed", async () => {
      bed.put("f", "x secret\n");
      const expected_hash = hashOf("x secret\n");
      const edits = [
        { expected_hash, old_text: "x", new_text: "y" },
        { expected_hash, old_text: "x", new_text: "x" },
        { expected_hash, old_text: "x sekret", new_text: "" },
        { expected_hash, old_text: "e", new_text: "" },
        EDIT,
      ];
      const refusals = await whileFixed(join(bed.dir, "f"), async () => {
        const all: string[] = [];
        for (const edit of edits) all.push(await bed.fail("edit_file", { path: "f", ...edit }));
        return all;
      });
      expect(new Set(refusals)).toEqual(new Set(["Cannot modify readonly file: /workspace/f"]));
      expect(bed.get("f")).toBe("x secret\n");
    });
  });

  describe("read-only files on a drive", () => {
    const bed = useBed({ kind: "drive" });

    test("are put there for their owner", async () => {
      await expect(bed.profile.seed?.([{ path: "f", content: "x" }])).rejects.toThrow();
      await bed.profile.seed?.([{ path: "f", content: "x", readonly: true }], bed.context);
      expect(await bed.fail("delete_file", { path: "f" })).toBe("Cannot modify readonly file: /workspace/f");
    });
  });

  describe("a read-only root", () => {
    const bed = useBed({ root: { readOnly: true } });

    test("makes every file read-only", async () => {
      bed.put("f", "x");
      expect(await bed.call("stat_file", { path: "f" })).toMatchObject({ is_readonly: true });
      expect(await bed.call("list_directory")).toMatchObject({ entries: [{ name: "f", is_readonly: true }] });
      expect(await bed.call("read_file", { path: "f" })).toMatchObject({ content: "x" });
      for (const [tool, args] of [
        ["write_file", { content: "y" }],
        ["edit_file", EDIT],
        ["delete_file", {}],
      ] as const) {
        expect(await bed.fail(tool, { path: "f", ...args })).toBe("Cannot modify readonly file: /workspace/f");
      }
      await expect(bed.profile.seed?.([{ path: "f", content: "y" }])).rejects.toThrow();
      expect(bed.get("f")).toBe("x");
    });
  });

  describe("what the operator denies or limits", () => {
    const denied = useBed({ root: { deny: [".env"] } });
    const limited = useBed({ root: { quota: { bytes: 10 } } });

    test("is told as such", async () => {
      denied.put(".env", "SECRET=1\n");
      const text = "/workspace/.env is denied by policy";
      for (const [tool, args] of CALLS) expect(await denied.fail(tool, { path: ".env", ...args })).toBe(text);
      expect(await denied.call("list_directory")).toMatchObject({ count: 0 });
      expect(await denied.call("grep_files", { pattern: "SECRET" })).toMatchObject({ match_count: 0 });
      expect(await limited.fail("write_file", { path: "f", content: "x".repeat(11) })).toContain("quota exceeded");
    });
  });

  test("files of two instances are out of each other's reach", async () => {
    const adapter = await createFileAdapter({ roots: { r: { temp: true } } });
    try {
      const [one, two] = ["one", "two"].map((prefix) =>
        createProfile(adapter, { profile: "everruns", root: "r", prefix }),
      );
      await one?.call("write_file", { path: "f", content: "mine" });
      expect(await two?.call("read_file", { path: "f" })).toEqual({ error: "File not found: /workspace/f" });
      expect(await two?.call("read_file", { path: "/workspace/../one/f" })).toMatchObject({
        error: expect.stringContaining("path traversal rejected"),
      });
    } finally {
      await adapter.close();
    }
  });

  test("an unknown tool is none", async () => {
    const adapter = await createFileAdapter({ roots: { r: { temp: true } } });
    const profile = createProfile(adapter, { profile: "everruns", root: "r" });
    await expect(profile.call("bash", { command: "true" })).rejects.toThrow();
    await adapter.close();
  });
});

describe("rights in variant 0.50", () => {
  const EDIT = { expected_hash: hashOf("x"), edits: [{ old_text: "x", new_text: "y" }] };
  const ON_PATHS = [
    ["read_file", {}, "crud/read"],
    ["write_file", { content: "y" }, "crud/write"],
    ["edit_file", EDIT, "crud/write"],
    ["list_directory", {}, "crud/read"],
    ["grep_files", { pattern: "x", after_context: 1 }, "crud/read"],
    ["delete_file", {}, "crud/delete"],
    ["stat_file", {}, "crud/read"],
  ] as const;
  const ON_ALL = [
    ["glob", { pattern: "*" }],
    ["grep", { pattern: "x" }],
  ] as const;
  const CHANGES = [
    ["write_file", { content: "y" }],
    ["edit_file", EDIT],
    ["delete_file", {}],
  ] as const;

  describe.each(KINDS)("a caller on a %s root", (kind) => {
    const bed = useBed050({ kind });
    const { call, fail } = bed;
    const holding = (path: string, ...abilities: string[]) => ({
      ...bed.context,
      caps: abilities.map((can) => ({ with: `file://r/s/${path}`, can })),
    });
    const allBut = (can: string) => ["crud/read", "crud/write", "crud/delete"].filter((one) => one !== can);

    test.each(ON_PATHS)(
      "%s with %j needs %s, and the refusal tells nothing of what is there",
      async (tool, args, can) => {
        await call("write_file", { path: "there", content: "x" });
        for (const path of ["there", "not-there"]) {
          expect(await fail(tool, { path, ...args }, holding("", ...allBut(can)))).toBe(
            `permission denied: requires ${can} on file://r/…/${path}`,
          );
        }
        const path = tool === "list_directory" || tool === "grep_files" ? "" : "there";
        expect(await call(tool, { path, ...args }, holding("", can))).not.toHaveProperty("error");
      },
    );

    test.each(ON_ALL)("%s needs crud/read on the session", async (tool, args) => {
      const text = await fail(tool, args, holding("", ...allBut("crud/read")));
      expect(text).toBe("permission denied: requires crud/read on file://r/…");
    });

    test("read_many_files tells of each file whether it may be read", async () => {
      await call("write_file", { path: "a/f", content: "mine" });
      await call("write_file", { path: "b/f", content: "theirs" });
      const paths = ["b/f", "a/f", "b/none"];
      const denied = (path: string) => ({
        ...{ path: `/workspace/${path}`, error: `permission denied: requires crud/read on file://r/…/${path}` },
      });
      const { results } = Object(await call("read_many_files", { paths }, holding("a/", "crud/read")));
      expect(results).toEqual([denied("b/f"), expect.objectContaining({ content: "1|mine" }), denied("b/none")]);
    });

    test("a part that may not be read is in no search", async () => {
      await call("write_file", { path: "a/f.txt", content: "x mine" });
      await call("write_file", { path: "b/f.txt", content: "x theirs" });
      const context = { ...bed.context, caps: [{ with: "file://r/s/a/", can: "crud/read" }] };
      for (const [tool, args] of ON_ALL) expect(await fail(tool, args, context)).toContain("permission denied");
      expect(JSON.stringify(await call("grep_files", { path: "a", pattern: "x" }, context))).toContain("mine");
      expect(await fail("grep_files", { path: "b", pattern: "x" }, context)).toContain("permission denied");
    });

    test("files of other sessions are out of reach", async () => {
      for (const path of ["beside.txt", "s-2/f.txt"]) {
        await bed.adapter.invoke("file:write", { root: "r", path, content: "x", parents: true }, bed.context);
      }
      const other = createProfile(bed.adapter, { profile: "everruns", root: "r", prefix: "s-2", variant: "0.50" });
      expect(await other.call("glob", { pattern: "*" }, bed.context)).toEqual({
        ...{ paths: ["/workspace/f.txt"], truncated: false },
      });
      for (const path of ["/beside.txt", "/s-2/f.txt", "/workspace/s-2/f.txt"]) {
        expect(await fail("read_file", { path })).toContain("File not found");
      }
      for (const path of ["../beside.txt", "/workspace/../s-2/f.txt"]) {
        expect(await fail("read_file", { path })).toContain("path traversal rejected");
      }
      const { paths } = Object(await call("glob", { pattern: "**" }));
      expect(paths.join()).not.toMatch(/beside|s-2/);
      expect(Object(await call("list_directory")).entries.map(({ name }: { name: string }) => name)).not.toContain(
        "s-2",
      );
      expect(await call("grep_files", { pattern: "x", path_pattern: "s-2" })).toMatchObject({ total_matches: 0 });
      const { results } = Object(await call("read_many_files", { paths: ["/s-2/f.txt", "../s-2/f.txt"] }));
      for (const result of results) expect(Object.keys(result)).toEqual(["path", "error"]);
    });
  });

  describe.each(["host", "temp"] as const)("on a read-only %s root", (kind) => {
    const bed = useBed050({ kind, root: { readOnly: true }, binding: { prefix: "" } });

    test("everything is read, and nothing changed", async () => {
      if (kind === "host") bed.put("f", "x");
      for (const [tool, args] of CHANGES) {
        expect(await bed.fail(tool, { path: "f", ...args })).toBe("Cannot modify readonly file: /workspace/f");
      }
      expect(await bed.call("glob", { pattern: "*" })).toMatchObject({ truncated: false });
      const listed = Object(await bed.call("list_directory"));
      expect(listed.entries).toEqual(
        kind === "host"
          ? [{ name: "f", path: "/workspace/f", is_directory: false, size_bytes: 1, is_readonly: true }]
          : [],
      );
      if (kind === "host") expect(await bed.call("read_file", { path: "f" })).toMatchObject({ content: "1|x" });
    });
  });

  describe("files of the host application", () => {
    const bed = useBed050();
    const { call, fail } = bed;

    test("are not changed by any tool, nor are stale edits of them made", async () => {
      await bed.profile.seed?.([{ path: "docs/guide", content: "x", readonly: true }]);
      const refused = "Cannot modify readonly file: /workspace/docs/guide";
      for (const [tool, args] of CHANGES) expect(await fail(tool, { path: "docs/guide", ...args })).toBe(refused);
      expect(await fail("edit_file", { path: "docs/guide", ...EDIT, expected_hash: "sha256:0" })).toBe(refused);
      const entries = [{ name: "guide", is_readonly: true }];
      expect(await call("list_directory", { path: "docs" })).toMatchObject({ entries });
      expect(await call("read_file", { path: "docs/guide" })).toMatchObject({ content: "1|x" });
    });
  });

  describe("links", () => {
    const bed = useBed050();
    const { call, fail } = bed;

    beforeEach(() => {
      bed.put("real/f.txt", "x\n");
      writeFileSync(join(bed.outside, "secret.txt"), "x\n");
      writeFileSync(join(bed.outside, "p.png"), png([1, 1]));
      for (const [target, name] of [
        ["real", "inside"],
        ["real/f.txt", "file.txt"],
        [bed.outside, "out"],
        [join(bed.outside, "secret.txt"), "secret.txt"],
        ["nowhere", "dangling.txt"],
      ] as const) {
        if (lstatSync(join(bed.dir, name), { throwIfNoEntry: false }) === undefined)
          symlinkSync(target, join(bed.dir, name));
      }
    });

    test.each([
      "inside/f.txt",
      "file.txt",
      "out",
      "out/secret.txt",
      "out/p.png",
      "out/new",
      "secret.txt",
      "dangling.txt",
    ])("no tool goes through %s", async (path) => {
      const refused = `path traversal rejected: /workspace/${path} goes through a symlink`;
      for (const [tool, args] of ON_PATHS) expect(await fail(tool, { path, ...args })).toBe(refused);
      expect(await call("read_many_files", { paths: [path, "real/f.txt"] })).toMatchObject({
        results: [{ path: `/workspace/${path}`, error: refused }, { content: "1|x" }],
      });
      expect(readFileSync(join(bed.outside, "secret.txt"), "utf8")).toBe("x\n");
      expect(existsSync(join(bed.outside, "new"))).toBe(false);
    });

    test("are in no list and no search", async () => {
      expect(await call("list_directory")).toMatchObject({ entries: [{ name: "real" }], total_count: 1 });
      for (const pattern of ["**", "*.txt", "out/*", "inside/*"]) {
        const { paths } = Object(await call("glob", { pattern }));
        expect(paths.filter((path: string) => path !== "/workspace/real/f.txt")).toEqual([]);
      }
      for (const tool of ["grep", "grep_files"]) {
        expect(await call(tool, { pattern: "x" })).toMatchObject({
          matches: [{ path: "/workspace/real/f.txt" }],
          total_matches: 1,
        });
      }
    });
  });
});

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

  /** What is told of a command that has written a text to both outputs. A thread of just-bash takes long to begin. */
  async function told(text: string, exitCode: number, args: object): Promise<Record<string, unknown>> {
    const [stdout, stderr] = [Buffer.from(text), Buffer.from(text)];
    const ran = {
      started: Promise.resolve(),
      exited: Promise.resolve({ exitCode, signal: null, timedOut: false, truncated: false }),
      output: () => ({ stdout, stderr, combined: stdout, truncated: false }),
      kill: async () => {},
    };
    const probe = async () => ({ available: true, network: false, realBinaries: false });
    const shell = openShell(async () => ({ name: "just-bash", shows: "files", probe, run: () => ran }));
    const host = { roots: [{ name: "r", readOnly: false }], exec: async () => ran };
    const opened = openProfile(host as never, { profile: "everruns", root: "r", variant: "0.50" }, { shell });
    await opened.ready;
    return { ...(await opened.call("bash", { commands: "say", ...args })) };
  }

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
    const long = `head ${"0123456789".repeat(10_000)} tail\n`;
    for (const [code, most] of [
      [0, success],
      [2, failure],
    ] as const) {
      const { stdout, stderr, exit_code } = await told(long, code, args);
      expect(exit_code).toBe(code);
      for (const text of [stdout, stderr]) {
        const [head = "", tail = ""] = String(text).split(/\n\.\.\. \[\d+ bytes left out\] \.\.\.\n/);
        expect([head.startsWith("head "), tail.endsWith(" tail\n")]).toEqual([true, true]);
        expect(head.length + tail.length).toBe(most);
      }
    }
    expect(await told("1234567890", 0, args)).toMatchObject({ stdout: "1234567890" });
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
