import {
  existsSync,
  mkdirSync,
  mkdtempSync,
  readdirSync,
  readFileSync,
  readlinkSync,
  realpathSync,
  rmSync,
  writeFileSync,
} from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { afterAll, afterEach, beforeAll, beforeEach, describe, expect, jest, test } from "@jest/globals";
import { assembleAdapter, type HostedFileAdapter } from "../../src/adapter/adapter.js";
import { parseFileConfig } from "../../src/config/load.js";
import type { ChangeRecord } from "../../src/core/ports/changes/change.js";
import {
  type AuditRecord,
  ConfigError,
  createFileAdapter,
  ERROR_CODES,
  type FileAdapter,
  type FileAdapterConfig,
  FileAdapterError,
  RootsError,
} from "../../src/index.js";
import { OPERATIONS } from "../../src/ops/registry.js";
import { createMemoryDrives } from "../../src/venue/start/drives.js";
import { recordsOf } from "../audit/records.js";
import { needs } from "../needs.js";
import { failureOf } from "../ops/ground.js";

describe("the adapter", () => {
  let home = "";
  const opened: FileAdapter[] = [];

  async function open(config: FileAdapterConfig = {}): Promise<FileAdapter> {
    const adapter = await createFileAdapter(config);
    opened.push(adapter);
    return adapter;
  }

  beforeEach(() => {
    home = realpathSync(mkdtempSync(join(tmpdir(), "venue-files-adapter-")));
    mkdirSync(join(home, "docs"));
  });
  afterEach(async () => {
    await Promise.all(opened.splice(0).map((adapter) => adapter.close()));
    rmSync(home, { recursive: true });
  });

  describe("a file adapter", () => {
    test("has a name, a description, and its operations in their order", async () => {
      const adapter = await open();
      expect([adapter.name, adapter.warnings]).toEqual(["file", []]);
      expect(adapter.description).toMatch(/^Files in jailed roots/);
      const names = [
        "roots",
        "list",
        "tree",
        "read",
        "readMany",
        "stat",
        "hash",
        "glob",
        "grep",
        "create",
        "write",
        "edit",
        "patch",
        "append",
        "mkdir",
        "move",
        "copy",
        "delete",
        "du",
        "history",
        "undo",
        "restore",
        "trash",
        "purge",
        "watch",
        "transfer",
      ];
      expect(adapter.operations.map(({ name }) => name)).toEqual(names.map((name) => `file:${name}`));
      expect(adapter.operations.map(({ toolName }) => toolName)).toEqual(names.map((name) => `file_${name}`));
    });

    test("tells what each operation does to the world", async () => {
      const adapter = await open();
      const hints = Object.fromEntries(
        adapter.operations.map(({ name, ability, changes, annotations, hidden, render }) => [
          name.slice("file:".length),
          [ability, changes, ...Object.values(annotations), hidden.length > 0, render !== undefined],
        ]),
      );
      // ability, changes; readOnly, destructive, idempotent, openWorld; hides content, has a body
      expect(hints).toEqual({
        roots: ["crud/read", false, true, false, true, false, false, false],
        list: ["crud/read", false, true, false, true, false, false, true],
        tree: ["crud/read", false, true, false, true, false, false, true],
        read: ["crud/read", false, true, false, true, false, false, true],
        readMany: ["crud/read", false, true, false, true, false, false, true],
        stat: ["crud/read", false, true, false, true, false, false, false],
        hash: ["crud/read", false, true, false, true, false, false, false],
        glob: ["crud/read", false, true, false, true, false, false, true],
        grep: ["crud/read", false, true, false, true, false, false, true],
        du: ["crud/read", false, true, false, true, false, false, true],
        create: ["crud/write", true, false, false, false, false, true, false],
        write: ["crud/write", true, false, true, true, false, true, false],
        edit: ["crud/write", true, false, true, false, false, true, true],
        append: ["crud/write", true, false, false, false, false, true, false],
        mkdir: ["crud/write", true, false, false, true, false, false, false],
        move: ["crud/write", true, false, true, false, false, false, false],
        copy: ["crud/write", true, false, true, false, false, false, false],
        delete: ["crud/delete", true, false, true, true, false, false, false],
        patch: ["crud/write", true, false, true, false, false, true, true],
        undo: ["crud/write", true, false, true, false, false, false, true],
        restore: ["crud/write", true, false, true, false, false, false, false],
        trash: ["crud/read", false, true, false, true, false, false, false],
        purge: ["crud/delete", true, false, true, true, false, false, false],
        history: ["crud/read", false, true, false, true, false, false, true],
        watch: ["crud/read", false, true, false, true, false, false, true],
        transfer: ["crud/read", false, false, false, false, false, false, false],
      });
      expect(adapter.operations).toHaveLength(OPERATIONS.length);
    });

    test("reads and writes in the directories it was given, also by relative paths", async () => {
      writeFileSync(join(home, "docs/a.txt"), "hello");
      const relative = join(".", "node_modules");
      const adapter = await open({ roots: { docs: join(home, "docs"), here: relative } });
      expect(await adapter.invoke("file:read", { root: "docs", path: "a.txt" })).toMatchObject({ content: "hello" });
      const { roots } = await adapter.invoke("file:roots", {});
      expect(roots.map(({ path }) => path)).toEqual([join(home, "docs"), realpathSync(relative)]);
    });

    test("fails with an error of the exported class, whose codes are exported", async () => {
      const adapter = await open();
      const failed = adapter.invoke("file:read", { root: "tmp", path: "none" });
      await expect(failed).rejects.toBeInstanceOf(FileAdapterError);
      expect(Object.keys(ERROR_CODES)).toContain((await failureOf(failed)).code);
    });

    test("warns of roots inside each other", async () => {
      mkdirSync(join(home, "docs/inner"));
      const { warnings } = await open({ roots: { outer: join(home, "docs"), inner: join(home, "docs/inner") } });
      expect(warnings).toContain("Root 'inner' lies inside root 'outer' and can be reached through it");
    });
  });

  describe("the caller", () => {
    const write = (adapter: FileAdapter, context?: object) =>
      adapter.invoke("file:write", { root: "tmp", path: "a", content: "x" }, context);

    test.each([[undefined], [{}], [{ callerDID: undefined }]])(
      "is the operator with the context %p",
      async (context) => {
        expect(await write(await open(), context)).toMatchObject({ written: 1, created: true });
      },
    );

    test.each([["did:key:z6MkSomebody"], [""], [null]])(
      "may do nothing as %p, whom nobody gave anything",
      async (callerDID) => {
        const failed = await failureOf(write(await open(), { callerDID }));
        expect(failed).toMatchObject({ code: "CAPABILITY_DENIED", data: { denied_by: ["authority"], have: [] } });
      },
    );

    test("gains nothing by bringing a list", async () => {
      const context = { callerDID: "did:key:z6MkSomebody", caps: [{ with: "file://", can: "*" }] };
      expect((await failureOf(write(await open(), context))).code).toBe("CAPABILITY_DENIED");
    });

    test("is narrowed by caps, the operator too", async () => {
      const adapter = await open();
      const caps = [{ with: "file://tmp/", can: "crud/read" }];
      expect(await failureOf(write(adapter, { caps }))).toMatchObject({
        code: "CAPABILITY_DENIED",
        data: { denied_by: ["agent_caps"], have: caps },
      });
      expect(await adapter.invoke("file:list", { root: "tmp" }, { caps })).toMatchObject({ total: 0 });
      expect((await failureOf(write(adapter, { caps: [] }))).code).toBe("CAPABILITY_DENIED");
      expect((await failureOf(write(adapter, { caps: "all" }))).code).toBe("CAPABILITY_DENIED");
      expect(await write(adapter, { caps: null })).toMatchObject({ created: true });
    });

    test("may cancel a call", async () => {
      const failed = await failureOf(write(await open(), { signal: AbortSignal.abort() }));
      expect(failed.code).toBe("ABORTED");
    });
  });

  describe("close", () => {
    test("removes temp roots with everything in them, and leaves host roots", async () => {
      const adapter = await open({ roots: { a: { temp: true }, b: { temp: true }, docs: join(home, "docs") } });
      const { roots } = await adapter.invoke("file:roots", {});
      for (const { name } of roots)
        await adapter.invoke("file:write", { root: name, path: "x/y", value: 1, parents: true });
      const paths = roots.map(({ path }) => path);
      expect(paths.map(existsSync)).toEqual([true, true, true]);
      await adapter.close();
      expect(paths.map(existsSync)).toEqual([false, false, true]);
      expect(readdirSync(join(home, "docs"))).toEqual(["x"]);
    });

    test("may be called again, and nothing works afterwards", async () => {
      const adapter = await open({ roots: { docs: join(home, "docs") } });
      await Promise.all([adapter.close(), adapter.close()]);
      await adapter.close();
      const failed = await failureOf(adapter.invoke("file:write", { root: "docs", path: "a", content: "x" }));
      expect(failed.code).toBe("ABORTED");
      expect(readdirSync(join(home, "docs"))).toEqual([]);
    });

    test("closes once what it was given to close", async () => {
      const close = jest.fn(async () => {});
      const audit = { write: () => {}, close };
      const adapter = await assembleAdapter(parseFileConfig({}, { baseDir: home }), { discloseHostPaths: true, audit });
      await Promise.all([adapter.close(), adapter.close()]);
      expect(close).toHaveBeenCalledTimes(1);
    });

    test("waits for what is being done", async () => {
      const adapter = await open({ roots: { docs: join(home, "docs") } });
      let give: (asset: { content: Buffer }) => void = () => {};
      let write: Promise<object> = Promise.resolve({});
      await new Promise<void>((onAsked) => {
        const resolveAsset = () => {
          onAsked();
          return new Promise<{ content: Buffer }>((resolve) => (give = resolve));
        };
        write = adapter.invoke("file:write", { root: "docs", path: "a", asset: "x" }, { resolveAsset });
      });
      let closed = false;
      const closing = adapter.close().then(() => (closed = true));
      await new Promise((resolve) => setImmediate(resolve));
      expect(closed).toBe(false);
      give({ content: Buffer.from("whole") });
      expect(await write).toMatchObject({ written: 5, created: true });
      await closing;
      expect(readFileSync(join(home, "docs/a"), "utf8")).toBe("whole");
    });
  });

  describe("a mistake in the configuration", () => {
    const refusalOf = (config: unknown): Promise<unknown> =>
      open(config as FileAdapterConfig).then(
        () => "accepted",
        (error: unknown) => error,
      );

    test("is named with its key path, together with all others", async () => {
      const error = await refusalOf({
        rootz: {},
        limits: { maxReadBytes: "8" },
        roots: { docs: { path: home, readOnly: 1 } },
      });
      expect(error).toBeInstanceOf(ConfigError);
      const { problems, exitStatus, message } = error as ConfigError;
      expect(problems).toHaveLength(3);
      expect(problems).toContain("Unknown config key 'rootz' - did you mean 'roots'?");
      expect(problems.filter((problem) => /limits\.maxReadBytes|roots\.docs\.readOnly/.test(problem))).toHaveLength(2);
      expect([exitStatus, message]).toEqual([78, problems.join("\n")]);
    });

    test("in the directories is named for every root, and nothing stays open", async () => {
      writeFileSync(join(home, "file"), "");
      const error = await refusalOf({
        roots: { none: join(home, "none"), tmp: { temp: true }, file: join(home, "file") },
      });
      expect(error).toBeInstanceOf(RootsError);
      expect((error as RootsError).problems).toEqual([
        `Root 'none' does not exist or cannot be reached: ${join(home, "none")}`,
        `Root 'file' is not a directory: ${join(home, "file")}`,
      ]);
    });

    test.each([["a text"], [null], [5], [{}], [{ file: "" }], [{ file: 1 }], [{ write: "log" }]])(
      "in the audit is named: %j",
      async (audit) => {
        expect(await refusalOf({ audit })).toMatchObject({
          name: "ConfigError",
          problems: ["'audit' must be { file: <path> }, or a sink with a write method"],
        });
      },
    );

    const descriptors = "/proc/self/fd";
    needs(existsSync(descriptors), "there is no /proc here")("leaves no audit file open", async () => {
      const file = join(home, "audit.jsonl");
      await refusalOf({ audit: { file }, roots: { none: join(home, "none") } });
      expect(existsSync(file)).toBe(true);
      const targets = readdirSync(descriptors).map((fd) => {
        try {
          return readlinkSync(join(descriptors, fd));
        } catch {
          return "closed by now";
        }
      });
      expect(targets).not.toContain(file);
    });

    test("in the path of the audit is an error of the system", async () => {
      expect(await refusalOf({ audit: { file: join(home, "none/audit") } })).toMatchObject({ code: "ENOENT" });
    });
  });

  describe("the audit", () => {
    test("goes to a file, complete when the adapter is closed", async () => {
      const file = join(home, "audit.jsonl");
      const adapter = await open({ audit: { file } });
      await adapter.invoke("file:write", { root: "tmp", path: "a", content: "secret" });
      await failureOf(adapter.invoke("file:read", { root: "tmp", path: "b" }));
      await adapter.close();
      const text = readFileSync(file, "utf8");
      expect(text).not.toContain("secret");
      expect(recordsOf(text)).toMatchObject([
        { operation: "file:write", resource: "file://tmp/a", outcome: "OK", bytes: 6 },
        { operation: "file:read", resource: "file://tmp/b", outcome: "NOT_FOUND", bytes: 0 },
      ]);
    });

    test("goes to a sink of the embedder's own, who closes it", async () => {
      const records: AuditRecord[] = [];
      const close = jest.fn(async () => {});
      const adapter = await open({ audit: { write: (record) => void records.push(record), close } });
      await adapter.invoke("file:stat", { root: "tmp", path: "" });
      await adapter.close();
      expect(records).toMatchObject([{ operation: "file:stat", caller: "operator", outcome: "OK" }]);
      expect(close).not.toHaveBeenCalled();
    });

    test("that throws fails no call", async () => {
      const write = () => {
        throw new Error("full");
      };
      const adapter = await open({ audit: { write, close: async () => {} } });
      expect(await adapter.invoke("file:mkdir", { root: "tmp", path: "a" })).toEqual({ created: true, path: "a" });
    });
  });
});

const ALICE = "did:key:z6MkhaXgBZDvotDkL5257faiztiGiC2QtKLGpbnnEGta2doK";
let adapter: HostedFileAdapter;
const heard: ChangeRecord[] = [];
let isFaulty = false;

const hear = (record: ChangeRecord): void => {
  heard.push(record);
  if (isFaulty) throw new Error("a sink against its contract");
};

const invoke = (op: string, input: object, context = {}): Promise<unknown> =>
  adapter.invoke(`file:${op}` as string, { root: "docs", ...input }, context);

describe("changes", () => {
  let home = "";

  beforeAll(async () => {
    home = realpathSync(mkdtempSync(join(tmpdir(), "venue-files-changes-")));
    mkdirSync(join(home, "docs"));
    mkdirSync(join(home, "other"));
    writeFileSync(join(home, "docs", "a.txt"), "one\n");
    const roots = { docs: join(home, "docs"), other: join(home, "other"), own: { dlfs: "own" } };
    const config = parseFileConfig({ roots }, { baseDir: home });
    const capabilities = { operator: "did:key:z6MkOperator", publicCaps: [{ with: "file://", can: "*" }] };
    const parts = { drives: createMemoryDrives(), discloseHostPaths: false, capabilities, changeSinks: [hear] };
    adapter = await assembleAdapter(config, parts);
  });
  beforeEach(() => {
    heard.length = 0;
  });
  afterAll(async () => {
    await adapter.close();
    rmSync(home, { recursive: true });
  });

  test("are heard with operation, caller, surface and session, once each and in order", async () => {
    await invoke("write", { path: "b.txt", content: "x" });
    await invoke("edit", { path: "b.txt", oldText: "x", newText: "y" }, { surface: "mcp", session: "s1" });
    await invoke("move", { path: "b.txt", to: "c.txt" }, { callerDID: "did:key:z6MkOperator", surface: "http" });
    await invoke("delete", { path: "c.txt" }, { tool: "jettson:jettson_files_delete" });
    await invoke("delete", { path: "c.txt" });
    const origins = heard.map(({ op, actor, surface, path, action }) => [op, actor, surface, path.join("/"), action]);
    expect(origins).toEqual([
      ["write", "operator", "library", "b.txt", "created"],
      ["edit", "operator", "mcp", "b.txt", "modified"],
      ["move", "operator", "http", "c.txt", "moved"],
      ["delete", "operator", "jettson", "c.txt", "deleted"],
    ]);
    expect(heard[1]?.via).toBe("s1");
    expect(heard[0]?.via).toMatch(/^p[0-9a-f]{16}$/);
    expect(heard[0]?.via).toBe(heard[3]?.via);
  });

  test("of an append say where it begins, and hash what was added for a journal alone", async () => {
    await invoke("write", { path: "log", content: "one " });
    await invoke("append", { path: "log", content: "two" });
    expect(heard[1]).toMatchObject({ op: "append", action: "modified" });
    expect(heard[1]?.addition).toEqual({ offset: 4 });
    await invoke("delete", { path: "log" });
  });

  test("of a caller on its own drive name it, and the owner of the drive", async () => {
    const context = { callerDID: ALICE, credential: { kind: "identity", id: "token-1" } };
    await adapter.invoke("file:write" as string, { root: "own", path: "n.txt", content: "x" }, context as object);
    expect(heard).toMatchObject([{ root: "own", actor: ALICE, driveOwner: ALICE, via: "token-1", scheme: "file" }]);
  });

  test("by copy over two roots tell where they come from; a move over two roots is one group of two", async () => {
    await invoke("copy", { path: "a.txt", toRoot: "other", to: "copied.txt" });
    expect(heard).toMatchObject([{ op: "copy", root: "other", from: ["a.txt"], fromRoot: "docs" }]);
    expect(heard[0]?.group).toBeUndefined();
    heard.length = 0;
    await adapter.invoke("file:move", { root: "other", path: "copied.txt", toRoot: "docs", to: "back.txt" });
    expect(heard).toMatchObject([
      { root: "docs", path: ["back.txt"], action: "created" },
      { root: "other", path: ["copied.txt"], action: "deleted" },
    ]);
    expect(heard[0]?.group).toMatch(/^g[0-9a-hjkmnp-tv-z]{21}$/);
    expect(heard[1]?.group).toBe(heard[0]?.group);
  });

  test("stand although a listener throws", async () => {
    isFaulty = true;
    try {
      await expect(invoke("write", { path: "d.txt", content: "x" })).resolves.toMatchObject({ written: 1 });
    } finally {
      isFaulty = false;
    }
    expect(existsSync(join(home, "docs", "d.txt"))).toBe(true);
    expect(heard).toHaveLength(1);
  });

  test("that fail are not heard", async () => {
    await expect(invoke("write", { path: "a.txt/b", content: "x" })).rejects.toThrow();
    await expect(invoke("write", { path: "a.txt", content: "x", ifNoneMatch: "*" })).rejects.toThrow();
    expect(heard).toEqual([]);
  });
});
