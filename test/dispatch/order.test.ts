import { execFileSync } from "node:child_process";
import { symlinkSync } from "node:fs";
import { join } from "node:path";
import { beforeEach, describe, expect, test } from "@jest/globals";
import { failureOf, useGround } from "../ops/ground.js";

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
  ["the link out before the content", "file:append", { root: "r", path: "out/x", ...BAD_BYTES }, {}, "SYMLINK_ESCAPE"],
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
