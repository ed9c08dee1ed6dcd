import { execFileSync } from "node:child_process";
import { mkdirSync, readdirSync, symlinkSync } from "node:fs";
import { join } from "node:path";
import { beforeEach, describe, expect, test } from "@jest/globals";
import { notFound } from "../../src/core/errors/texts.js";
import { NO_PRECONDITION } from "../../src/dispatch/call/parts.js";
import { failure, failureOf, useGround } from "../ops/ground.js";
import { dispatchOn } from "./fake.js";

describe("the order of checks", () => {
  const ground = useGround({ roots: { fixed: { temp: true, readOnly: true } }, limits: { maxReadBytes: 10 } });

  beforeEach(() => {
    ground.put("file", "content");
    ground.put("dir/file");
    ground.put("large", Buffer.alloc(11, 0xff));
    symlinkSync("/etc", join(ground.dir, "out"));
    symlinkSync("nothing", join(ground.dir, "dangling"));
    execFileSync("mkfifo", [join(ground.dir, "pipe")]);
  });

  const NONE = { caps: [] };
  const ELSEWHERE = { caps: [{ with: "file://r/dir", can: "crud" }] };
  const BAD_BYTES = { bytes: "?" };

  /** Each input is wrong in at least two ways; what is checked first is answered. */
  const ORDER: readonly [string, string, object, object, string][] = [
    ["the operation before its input", "file:raed", { root: 1, nonsense: true }, NONE, "UNKNOWN_OPERATION"],
    ["the input before the path", "file:delete", { root: "r", path: "../x", recursive: "yes" }, {}, "INVALID_INPUT"],
    ["the input before the grant", "file:read", { root: "r" }, NONE, "INVALID_INPUT"],
    ["an unknown field before the path", "file:read", { root: "r", path: "../x", pth: "" }, {}, "INVALID_INPUT"],
    ["the sources before the path", "file:write", { root: "r", path: "../x" }, {}, "INVALID_INPUT"],
    [
      "the sources before the grant",
      "file:write",
      { root: "r", path: "x", value: 1, content: "" },
      NONE,
      "INVALID_INPUT",
    ],
    [
      "a range for JSON before the path",
      "file:read",
      { root: "r", path: "../x", mode: "json", offset: 0 },
      {},
      "INVALID_INPUT",
    ],
    ["the path before the grant", "file:read", { root: "r", path: "a\u0000" }, NONE, "INVALID_PATH"],
    ["the way out before the grant", "file:read", { root: "r", path: "../x" }, NONE, "PATH_ESCAPES_ROOT"],
    ["the path before the root", "file:read", { root: "nope", path: "//x" }, {}, "PATH_NOT_RELATIVE"],
    ["the grant before the root", "file:read", { root: "nope", path: "x" }, NONE, "CAPABILITY_DENIED"],
    [
      "the grant before the read-only root",
      "file:write",
      { root: "fixed", path: "x", content: "" },
      NONE,
      "CAPABILITY_DENIED",
    ],
    ["the grant before the link", "file:read", { root: "r", path: "out/x" }, ELSEWHERE, "CAPABILITY_DENIED"],
    ["the grant before what is there", "file:read", { root: "r", path: "none" }, ELSEWHERE, "CAPABILITY_DENIED"],
    ["the root before what it holds", "file:write", { root: "nope", path: "x", ...BAD_BYTES }, {}, "UNKNOWN_ROOT"],
    ["read-only before the root itself", "file:delete", { root: "fixed", path: "" }, {}, "READ_ONLY_ROOT"],
    ["read-only before the parent", "file:write", { root: "fixed", path: "a/b", content: "" }, {}, "READ_ONLY_ROOT"],
    ["read-only before the content", "file:write", { root: "fixed", path: "a", ...BAD_BYTES }, {}, "READ_ONLY_ROOT"],
    ["the root itself before what it holds", "file:delete", { root: "r", path: "/" }, {}, "ROOT_DELETE"],
    ["the parent before the content", "file:write", { root: "r", path: "no/x", ...BAD_BYTES }, {}, "PARENT_MISSING"],
    [
      "the file in the way before the content",
      "file:write",
      { root: "r", path: "file/x", ...BAD_BYTES },
      {},
      "NOT_A_DIRECTORY",
    ],
    [
      "the link out before the content",
      "file:append",
      { root: "r", path: "out/x", ...BAD_BYTES },
      {},
      "SYMLINK_ESCAPE",
    ],
    [
      "the link to nothing before the content",
      "file:write",
      { root: "r", path: "dangling", ...BAD_BYTES },
      {},
      "DANGLING_SYMLINK",
    ],
    [
      "the kind of target before the content",
      "file:write",
      { root: "r", path: "dir", ...BAD_BYTES },
      {},
      "IS_A_DIRECTORY",
    ],
    [
      "the special file before the content",
      "file:append",
      { root: "r", path: "pipe", content: "\ud800" },
      {},
      "NOT_A_FILE",
    ],
    [
      "the parents' grants before the content",
      "file:write",
      { root: "r", path: "a/b/c", parents: true, ...BAD_BYTES },
      { caps: [{ with: "file://r/a/b", can: "crud" }] },
      "CAPABILITY_DENIED",
    ],
    ["the size before the text", "file:read", { root: "r", path: "large", mode: "text" }, {}, "TOO_LARGE"],
  ];

  describe("the order of checks", () => {
    test.each(ORDER)("%s", async (_, operation, input, context, code) => {
      expect((await failureOf(ground.adapter.invoke(operation, input, context))).code).toBe(code);
      expect(ground.names()).toEqual(["dangling", "dir", "file", "large", "out", "pipe"]);
      expect(ground.get("file").toString()).toBe("content");
    });
  });

  describe("an operation that is none", () => {
    const read = { root: "r", path: "file" };
    test.each([
      ["file:raed", "file:raed"],
      ["read", "read"],
      ["file_read", "file_read"],
      ["FILE:READ", "FILE:READ"],
      ["file:read ", "file:read "],
      ["", ""],
      ["__proto__", "__proto__"],
      ["constructor", "constructor"],
      ["file:\nread\u202e", "file:\\u{a}read\\u{202e}"],
    ])("%j is named as it was asked for, in one line", async (operation, shown) => {
      expect(await failureOf(ground.adapter.invoke(operation, read))).toEqual({
        code: "UNKNOWN_OPERATION",
        message: `Unknown file operation: ${shown}`,
        data: {},
      });
    });
  });

  describe("a root that is none", () => {
    const stat = (root: string, context = {}) =>
      failureOf(ground.adapter.invoke("file:stat", { root, path: "" }, context));

    test.each([["nope"], ["R"], ["r "], ["r/dir"], ["__proto__"], ["constructor"], [""]])(
      "is refused with those that there are: %j",
      async (root) => {
        expect(await stat(root)).toEqual({
          code: "UNKNOWN_ROOT",
          message: `Unknown root '${root}'. Configured: [r, fixed]`,
          data: { root },
        });
      },
    );

    test("is shown in one line", async () => {
      expect((await stat("a\nb\u2028")).message).toBe("Unknown root 'a\\u{a}b\\u{2028}'. Configured: [r, fixed]");
      const escaped = failureOf(ground.adapter.invoke("file:stat", { root: "a\nb", path: "../x" }));
      expect((await escaped).message).toBe("Path escapes root 'a\\u{a}b': ../x");
    });

    test("is told only with the roots in which the caller holds something", async () => {
      const grants = (...names: string[]) => ({
        caps: names.map((name) => ({ with: `file://${name}`, can: "crud/read" })),
      });
      expect((await stat("nope", grants("nope", "r/dir"))).message).toBe("Unknown root 'nope'. Configured: [r]");
      expect((await stat("nope", grants("nope"))).message).toBe("Unknown root 'nope'. Configured: []");
      expect((await stat("nope", grants(""))).message).toBe("Unknown root 'nope'. Configured: [r, fixed]");
    });

    test("is denied just as one that is there, to whoever holds nothing in it", async () => {
      const caps = { caps: [{ with: "file://r/dir", can: "crud" }] };
      const [missing, existing] = [await stat("nope", caps), await stat("fixed", caps)];
      expect(JSON.parse(JSON.stringify(existing).replaceAll("fixed", "nope"))).toEqual(missing);
    });
  });

  describe("a read-only root", () => {
    test.each([
      ["write", { path: "a", content: "" }],
      ["write", { path: "a", content: "", parents: true }],
      ["append", { path: "a", content: "" }],
      ["mkdir", { path: "a" }],
      ["mkdir", { path: "" }],
      ["delete", { path: "a" }],
      ["delete", { path: "none", recursive: true }],
    ])("refuses %s %j", async (name, input) => {
      const call = ground.adapter.invoke(`file:${name}`, { root: "fixed", ...input });
      expect(await failureOf(call)).toEqual({
        code: "READ_ONLY_ROOT",
        message: "Root 'fixed' is read-only",
        data: { root: "fixed", path: input.path },
      });
    });

    test("answers what only looks", async () => {
      const { invoke } = ground.adapter;
      expect(await invoke("file:list", { root: "fixed" })).toMatchObject({ total: 0 });
      expect(await invoke("file:tree", { root: "fixed" })).toMatchObject({ tree: "fixed/\n" });
      expect(await invoke("file:stat", { root: "fixed", path: "" })).toMatchObject({ exists: true });
      expect((await failureOf(invoke("file:read", { root: "fixed", path: "x" }))).code).toBe("NOT_FOUND");
    });
  });
});

describe("the audit", () => {
  const ground = useGround({
    publicCaps: [{ with: "file://", can: "crud/read" }],
    roots: { fixed: { temp: true, readOnly: true } },
  });

  beforeEach(() => {
    ground.put("dir/file", "grüße");
    ground.put("binary", Buffer.of(0, 255));
    symlinkSync(ground.outside, join(ground.dir, "out"));
  });

  const SECRET = "content that nobody may log";
  const SIZE = SECRET.length;

  const missing = (resource: string, can: string) => ({ required: { with: resource, can }, have: [] });
  const outcomes: readonly [
    string,
    object,
    object,
    { outcome: string; resource: string; bytes?: number; denied?: object },
  ][] = [
    ["roots", {}, {}, { outcome: "OK", resource: "file://" }],
    [
      "roots",
      {},
      { caps: [] },
      { outcome: "CAPABILITY_DENIED", resource: "file://", denied: missing("file://", "crud/read") },
    ],
    ["list", { root: "r" }, {}, { outcome: "OK", resource: "file://r/" }],
    ["tree", { root: "r", path: "/dir/./" }, {}, { outcome: "OK", resource: "file://r/dir" }],
    ["stat", { root: "r", path: "x/../none" }, {}, { outcome: "OK", resource: "file://r/none" }],
    ["read", { root: "r", path: "dir/file" }, {}, { outcome: "OK", resource: "file://r/dir/file", bytes: 7 }],
    [
      "read",
      { root: "r", path: "dir/file", length: 3 },
      {},
      { outcome: "OK", resource: "file://r/dir/file", bytes: 2 },
    ],
    ["read", { root: "r", path: "binary" }, {}, { outcome: "OK", resource: "file://r/binary", bytes: 2 }],
    ["read", { root: "r", path: "out/x" }, {}, { outcome: "SYMLINK_ESCAPE", resource: "file://r/out/x" }],
    ["write", { root: "r", path: "a", content: SECRET }, {}, { outcome: "OK", resource: "file://r/a", bytes: SIZE }],
    ["append", { root: "r", path: "a", value: SECRET }, {}, { outcome: "OK", resource: "file://r/a", bytes: SIZE + 2 }],
    [
      "write",
      { root: "r", path: "no/a", content: SECRET },
      {},
      { outcome: "PARENT_MISSING", resource: "file://r/no/a" },
    ],
    [
      "write",
      { root: "fixed", path: "a", content: SECRET },
      {},
      { outcome: "READ_ONLY_ROOT", resource: "file://fixed/a" },
    ],
    ["mkdir", { root: "r", path: "dir" }, {}, { outcome: "OK", resource: "file://r/dir" }],
    ["delete", { root: "r", path: "dir" }, {}, { outcome: "NOT_EMPTY", resource: "file://r/dir" }],
    [
      "delete",
      { root: "r", path: "dir" },
      { caps: [] },
      { outcome: "CAPABILITY_DENIED", resource: "file://r/dir", denied: missing("file://r/dir", "crud/delete") },
    ],
    ["read", { root: "nope", path: "a" }, {}, { outcome: "UNKNOWN_ROOT", resource: "file://nope/a" }],
    ["read", { root: "r", path: "../a" }, {}, { outcome: "PATH_ESCAPES_ROOT", resource: "file://r/" }],
    ["read", { root: "r", path: "a\u0000" }, {}, { outcome: "INVALID_PATH", resource: "file://r/" }],
    ["read", { root: "r", path: 1 }, {}, { outcome: "INVALID_INPUT", resource: "" }],
    ["write", { root: "r", path: "a" }, {}, { outcome: "INVALID_INPUT", resource: "" }],
    ["read", { root: "r", path: "a" }, { signal: AbortSignal.abort() }, { outcome: "ABORTED", resource: "file://r/a" }],
  ];
  test.each(outcomes)("has one record of file:%s %j", async (name, input, context, expected) => {
    await ground.adapter.invoke(`file:${name}`, input, context).catch(() => {});
    expect(ground.audit).toEqual([
      {
        time: expect.any(Number),
        caller: "operator",
        operation: `file:${name}`,
        bytes: 0,
        ms: expect.any(Number),
        via: expect.stringMatching(/^p[0-9a-f]{16}$/),
        ...expected,
      },
    ]);
    const written = JSON.stringify(ground.audit);
    expect(written).not.toContain(SECRET);
    expect(written).not.toContain(ground.dir);
    expect(written).not.toContain(ground.outside);
  });

  test("has one record of an operation that is none, without its text", async () => {
    await failureOf(ground.adapter.invoke(`file:${SECRET}`, { root: "r" }));
    expect(ground.audit).toMatchObject([
      { operation: "unknown", outcome: "UNKNOWN_OPERATION", resource: "", bytes: 0 },
    ]);
    expect(JSON.stringify(ground.audit)).not.toContain(SECRET);
  });

  test("names the caller and the job", async () => {
    const callerDID = "did:key:z6MkSomebody";
    await ground.run("stat", { path: "" }, { callerDID, jobId: "0f" });
    await ground.fail("mkdir", { path: "x" }, { callerDID });
    expect(ground.audit).toMatchObject([
      { caller: callerDID, job: "0f", outcome: "OK" },
      { caller: callerDID, outcome: "CAPABILITY_DENIED", resource: "file://r/x" },
    ]);
    expect(ground.audit[1]?.job).toBeUndefined();
  });

  test("says which right was missing and what was held, the first few, and of other failures neither", async () => {
    const grants = Array.from({ length: 7 }, (_, index) => ({ with: `file://r/d${index}`, can: "crud/read" }));
    await ground.fail("write", { path: "d1/x", content: SECRET }, { caps: grants });
    await ground.fail("write", { path: "x", content: SECRET }, { caps: grants.slice(0, 1) });
    await ground.fail("read", { path: "missing" });
    expect(ground.audit.map(({ denied }) => denied)).toEqual([
      { required: { with: "file://r/d1/x", can: "crud/write" }, have: grants.slice(0, 5), more: true },
      { required: { with: "file://r/x", can: "crud/write" }, have: grants.slice(0, 1) },
      undefined,
    ]);
  });

  test("keeps a link's target to itself", async () => {
    symlinkSync("dir", join(ground.dir, "link"));
    await ground.run("read", { path: "link/file" });
    expect(ground.audit).toMatchObject([{ resource: "file://r/link/file" }]);
  });

  test("has as many records as there were calls, when they run at the same time", async () => {
    const paths = Array.from({ length: 20 }, (_, index) => `file${index}`);
    await Promise.all(paths.map((path) => ground.run("write", { path, content: path })));
    expect(ground.audit.map(({ resource }) => resource).sort()).toEqual(paths.map((path) => `file://r/${path}`).sort());
  });

  test("tells when a call ended, and how long it took to the microsecond", async () => {
    let monotonicMs = 100;
    const { call, audit } = dispatchOn({
      clock: { nowMs: () => 1_700_000_000_000, monotonicMs: () => monotonicMs },
      backend: {
        stat() {
          monotonicMs = 112.345_678;
          return undefined;
        },
      },
    });
    await call("stat");
    expect(audit).toMatchObject([{ time: 1_700_000_000_000, ms: 12.346 }]);
  });

  test("that cannot be written fails no call, and is reported", async () => {
    const broken = new Error("disk full");
    const { call, internal } = dispatchOn({
      onRecord: () => {
        throw broken;
      },
    });
    expect(await call("write", { content: "x" })).toMatchObject({ written: 1, created: true });
    expect((await failureOf(call("read", { path: "none" }))).code).toBe("NOT_FOUND");
    expect(internal.map(({ error }) => error)).toEqual([broken, broken]);
  });
});

/** The caller here may know the pattern, and is told where it is the path itself that is denied. */
const denied = (verb: string, path: string) => {
  const plain = path.replace(/[.*/]/g, "\\$&");
  const by = String.raw`(?: \("(?:\.env|private/\*\*|links/hidden)" in file\.roots\.r\.deny\))?`;
  const message = new RegExp(`^Cannot ${verb} "${plain}": denied by policy of root "r"${by}\\. Do not retry$`);
  return failure("DENIED_BY_POLICY", expect.stringMatching(message) as never, path);
};

/** Every operation on one path, and what it needs beside it. */
const CALLS: readonly [string, object][] = [
  ["read", {}],
  ["stat", {}],
  ["list", {}],
  ["tree", {}],
  ["write", { content: "x" }],
  ["write", { content: "x", parents: true }],
  ["append", { content: "x" }],
  ["mkdir", {}],
  ["mkdir", { parents: true }],
  ["delete", {}],
  ["delete", { recursive: true }],
];

const PATHS = [
  ".env",
  "none/.env",
  "dir/.env",
  "private",
  "private/a",
  "private/none",
  "dir/./../.env",
  "dir/sub/.env/x",
];

describe("what the policy of a root denies", () => {
  const ground = useGround({
    root: { deny: [".env", "private/**", "links/hidden"] },
    roots: { fixed: { temp: true, readOnly: true, deny: ["x"] } },
  });

  beforeEach(() => {
    ground.put(".env", "KEY=1");
    ground.put("private/a", "a");
    ground.put("dir/.env", "KEY=2");
    ground.put("dir/file", "f");
    ground.put("dir/sub/.env/deep", "d");
    ground.put("plain/file", "f");
    symlinkSync("../dir/.env", join(ground.dir, "plain/to-env"));
    symlinkSync("private", join(ground.dir, "to-private"));
    symlinkSync("plain", join(ground.dir, "links"));
    ground.put("plain/hidden", "only by its other name");
  });

  test.each([
    [".env", '".env"'],
    ["private/none/deep", '"private/**"'],
    ["to-private", '"private/**"'],
    ["plain/to-env", '".env"'],
  ])("%s: whoever decides for the root is told the pattern and its key, nobody else", async (path, pattern) => {
    const by = (await ground.fail("read", { path })).message;
    expect(by).toBe(
      `Cannot read "${path}": denied by policy of root "r" (${pattern} in file.roots.r.deny). Do not retry`,
    );
    const caps = [{ with: "file://r/", can: "crud" }];
    const other = (await ground.fail("read", { path }, { caps })).message;
    expect(other).toBe(`Cannot read "${path}": denied by policy of root "r". Do not retry`);
  });

  test.each(PATHS.flatMap((path) => CALLS.map(([name, more]) => [name, path, more] as const)))(
    "is the same answer whether it exists: %s of %s, %j",
    async (name, path, more) => {
      const canonical = path === "dir/./../.env" ? ".env" : path;
      expect(await ground.fail(name, { path, ...more })).toEqual(denied(name, canonical));
    },
  );

  test.each(CALLS)("is not reached through links by %s %j", async (name, more) => {
    if (name === "delete") return;
    for (const path of ["plain/to-env", "to-private", "to-private/a", "to-private/none", "to-private/none/deeper"]) {
      expect(await ground.fail(name, { path, ...more })).toEqual(denied(name, path));
    }
  });

  test("is judged by the requested path too, where another name of the same file is allowed", async () => {
    expect(await ground.fail("read", { path: "links/hidden" })).toEqual(denied("read", "links/hidden"));
    expect((await ground.run("read", { path: "plain/hidden" })).content).toBe("only by its other name");
    expect((await ground.run("list", { path: "links" })).entries.map(({ name }) => name)).toEqual(["file", "to-env"]);
    expect((await ground.run("list", { path: "plain" })).total).toBe(3);
  });

  test("lets a link itself be removed whose target is denied", async () => {
    expect(await ground.run("delete", { path: "to-private" })).toEqual({ deleted: true, existed: true });
    expect(ground.names("private")).toEqual(["a"]);
  });

  test("is left out of lists, their totals and pages", async () => {
    const all = await ground.run("list", { path: "" });
    expect(all.entries.map(({ name }) => name)).toEqual(["dir", "links", "plain", "to-private"]);
    expect(all.total).toBe(4);
    const page = await ground.run("list", { path: "", offset: 1, limit: 2 });
    expect(page.entries.map(({ name }) => name)).toEqual(["links", "plain"]);
    expect(page).toMatchObject({ total: 4, truncated: true });
  });

  test("is left out of trees, with all below", async () => {
    const { tree } = await ground.run("tree", { path: "dir" });
    expect(tree).toBe("r/dir/\n\tfile\n\tsub/\n");
  });

  test("is not a directory made on the way", async () => {
    expect(await ground.fail("mkdir", { path: "new/.env/deep", parents: true })).toEqual(
      denied("mkdir", "new/.env/deep"),
    );
    symlinkSync("plain", join(ground.dir, "via"));
    expect(ground.names()).not.toContain("new");
  });

  test.each(["dir", "dir/sub"])("keeps a directory that holds some of it from being removed: %s", async (path) => {
    expect(await ground.fail("delete", { path, recursive: true })).toEqual(denied("delete", path));
    expect(ground.get("dir/.env").toString()).toBe("KEY=2");
    expect(ground.get("dir/sub/.env/deep").toString()).toBe("d");
    expect(ground.get("dir/file").toString()).toBe("f");
  });

  test("lets a directory be removed that holds nothing of it", async () => {
    expect(await ground.run("delete", { path: "plain", recursive: true })).toMatchObject({ deleted: true });
    expect(readdirSync(ground.dir)).not.toContain("plain");
  });

  test("comes after the grant and after a read-only root", async () => {
    const none = { caps: [] };
    expect(await ground.fail("read", { path: ".env" }, none)).toMatchObject({ code: "CAPABILITY_DENIED" });
    expect(await ground.fail("write", { root: "fixed", path: "x", content: "" })).toMatchObject({
      code: "READ_ONLY_ROOT",
    });
    expect(await ground.fail("read", { root: "fixed", path: "x" })).toMatchObject({ code: "DENIED_BY_POLICY" });
  });

  test("is not told by a link whose end is denied, whether that is there", async () => {
    symlinkSync("private/none", join(ground.dir, "dangling"));
    symlinkSync("private/a/none", join(ground.dir, "through-file"));
    symlinkSync("private/../../outside", join(ground.dir, "out"));
    for (const path of ["dangling", "through-file"]) {
      expect(await ground.fail("read", { path })).toEqual(denied("read", path));
    }
    mkdirSync(join(ground.dir, "private/dir"));
    expect(await ground.fail("read", { path: "out" })).toMatchObject({ code: "SYMLINK_ESCAPE" });
  });
});

describe("what nobody foresaw", () => {
  const SECRET = "/etc/host/path of token s3cret";
  const system = Object.assign(new Error(`EIO: i/o error, open '${SECRET}'`), {
    code: "EIO",
    syscall: "open",
    path: SECRET,
  });

  const thrown: readonly [string, unknown][] = [
    ["an error of the language", new TypeError(SECRET)],
    ["a system error that no backend named", system],
    ["a text", SECRET],
    ["an object that looks like ours", { name: "FileAdapterError", code: "NOT_FOUND", message: SECRET, data: {} }],
    ["nothing", undefined],
    ["null", null],
  ];
  for (const how of ["throws", "rejects"] as const) {
    test.each(thrown)(
      `is INTERNAL without detail, and told to the operator: a backend ${how} %s`,
      async (_, reason) => {
        const stat = () => {
          if (how === "rejects") return Promise.reject(reason);
          throw reason;
        };
        const { call, internal, audit } = dispatchOn({ backend: { stat } });
        const { code, message, data } = await failureOf(call("stat"));
        expect(code).toBe("INTERNAL");
        expect(message).toMatch(/^Internal error \([0-9a-f]{8}(-[0-9a-f]{4}){3}-[0-9a-f]{12}\)$/);
        expect(data).toEqual({});
        expect(internal).toEqual([{ error: reason, requestId: message.slice("Internal error (".length, -1) }]);
        expect(audit).toMatchObject([{ outcome: "INTERNAL", resource: "file://r/file" }]);
      },
    );
  }

  test("has another id each time", async () => {
    const { call, internal } = dispatchOn({
      backend: {
        stat() {
          throw new Error("x");
        },
      },
    });
    await failureOf(call("stat"));
    await failureOf(call("stat"));
    expect(new Set(internal.map(({ requestId }) => requestId)).size).toBe(2);
  });

  test("leaves the next call alone", async () => {
    let broken = true;
    const { call } = dispatchOn({
      limits: { maxConcurrent: 1 },
      backend: {
        stat() {
          if (broken) throw new Error("x");
          return undefined;
        },
      },
    });
    expect((await failureOf(call("stat"))).code).toBe("INTERNAL");
    broken = false;
    expect(await call("stat")).toEqual({ exists: false });
  });

  test("in a source of content is the same", async () => {
    const { call, internal } = dispatchOn();
    const resolveAsset = async () => {
      throw system;
    };
    expect((await failureOf(call("write", { asset: "x" }, { resolveAsset }))).code).toBe("INTERNAL");
    expect(internal).toEqual([{ error: system, requestId: expect.any(String) }]);
    expect(await call("stat")).toEqual({ exists: false });
  });
});

describe("what a backend says itself", () => {
  test("arrives as it is, and is no surprise", async () => {
    const refusal = notFound({ root: "r", path: "file" });
    const { call, internal } = dispatchOn({
      backend: {
        stat() {
          throw refusal;
        },
      },
    });
    await expect(call("stat")).rejects.toBe(refusal);
    expect(internal).toEqual([]);
  });
});

describe("fields that are null", () => {
  const ground = useGround({ roots: { other: { temp: true } } });
  const call = (name: string, input: object, context = {}) =>
    ground.adapter.invoke(`file:${name}`, { root: "r", ...input } as never, context) as Promise<
      Record<string, unknown>
    >;

  describe("a precondition that is null", () => {
    test.each<[string, object]>([
      ["write", { path: "a", content: "x", ifMatch: null }],
      ["write", { path: "new", content: "x", ifNoneMatch: null }],
      ["append", { path: "a", content: "x", expectedSize: null }],
      ["edit", { path: "a", oldText: "one", newText: "two", ifMatch: null }],
      ["delete", { path: "a", ifMatch: null }],
      ["mkdir", { path: "d", ifNoneMatch: null }],
      ["move", { path: "a", to: "b", ifMatchTo: null }],
      ["copy", { path: "a", to: "b", ifNoneMatchTo: null }],
    ])("is none, and the answer of %s says so: %j", async (name, input) => {
      ground.put("a", "one\n");
      expect(await call(name, input)).toMatchObject({ hint: NO_PRECONDITION });
    });

    test("is nothing to speak of where it was never there, or is not null", async () => {
      ground.put("a", "one");
      expect(await call("write", { path: "a", content: "x", parents: null })).not.toHaveProperty("hint");
      const { etag } = await call("stat", { path: "a", hash: true });
      expect(await call("write", { path: "a", content: "y", ifMatch: etag })).not.toHaveProperty("hint");
    });

    test("is told to a model beside a diff", async () => {
      ground.put("a", "one\n");
      const input = { path: "a", oldText: "one", newText: "two", ifMatch: null } as never;
      expect(await ground.render("edit", input)).toMatchObject({ note: expect.stringMatching(`${NO_PRECONDITION}$`) });
    });
  });

  describe("an optional field that is null", () => {
    test("is left out, and null stays a JSON value", async () => {
      expect(await call("write", { path: "n.json", value: null, content: null, parents: null })).toMatchObject({
        written: 4,
      });
      expect(ground.get("n.json").toString()).toBe("null");
      expect(await call("tree", { path: null, maxDepth: null, info: null })).toMatchObject({ tree: "r/\n\tn.json\n" });
      expect(await call("list", { path: "", offset: null, limit: null })).toMatchObject({ total: 1 });
    });

    test("is still refused where something is required", async () => {
      expect(await ground.fail("stat", { path: null })).toMatchObject({
        code: "INVALID_INPUT",
        message: "'path' must be a string",
      });
    });
  });

  describe("a call without a root", () => {
    const missing = (context: object) => failureOf(ground.adapter.invoke("file:list", { path: "" } as never, context));

    test("is told which roots it may name: those in which the caller holds something", async () => {
      expect(await missing({})).toEqual({
        code: "INVALID_INPUT",
        message: "'root' is required. Configured: [r, other]",
        data: { pointer: "/root", expected: "a value" },
      });
      const caps = [{ with: "file://other/", can: "crud/read" }];
      expect(await missing({ caps })).toMatchObject({ message: "'root' is required. Configured: [other]" });
      expect(await missing({ caps: [] })).toMatchObject({ message: "'root' is required. Configured: []" });
      expect(await missing({ caps: "no list" })).toMatchObject({ message: "'root' is required. Configured: []" });
    });
  });
});
