import { symlinkSync } from "node:fs";
import { join } from "node:path";
import { beforeEach, describe, expect, test } from "@jest/globals";
import { failureOf, useGround } from "../ops/ground.js";
import { dispatchOn } from "./fake.js";

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

describe("the audit", () => {
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
