import { mkdirSync, symlinkSync } from "node:fs";
import { join } from "node:path";
import { afterAll, beforeAll, beforeEach, describe, expect, test } from "@jest/globals";
import { ERROR_CODES, type ErrorCode, FileAdapterError } from "../../../src/core/errors/errors.js";
import type { Log } from "../../../src/core/ports/log.js";
import { AcpClientFs } from "../../../src/surfaces/acp/client-fs.js";
import type { AcpAdapter } from "../../../src/surfaces/acp/files/files.js";
import type { AcpAuditRecord } from "../../../src/surfaces/acp/review/audit.js";
import { useGround } from "../../ops/ground.js";
import { connectAgent, SDKS, type TestAgent } from "./stage.js";

const ground = useGround({
  root: { deny: ["secret"] },
  roots: { ro: { temp: true, readOnly: true }, small: { temp: true, quota: { bytes: 4 } } },
  limits: { maxReadBytes: 1000 },
});

describe.each(SDKS)("an agent on SDK %s is refused", (sdk) => {
  let agent: TestAgent;
  let session: string;
  const audit: AcpAuditRecord[] = [];

  beforeAll(async () => {
    const acp = new AcpClientFs({
      adapter: ground.adapter,
      mounts: [{ root: "r" }, { root: "ro", prefix: "/read-only" }, { root: "small", prefix: "/small" }],
      onAudit: (record) => audit.push(record),
    });
    agent = connectAgent(acp, sdk);
    session = await agent.newSession({
      cwd: join(ground.dir, "work"),
      additionalDirectories: ["/read-only", "/small"],
    });
  });
  afterAll(() => agent.stop());
  beforeEach(() => {
    audit.splice(0);
    ground.put("work/file", "text");
    ground.put("work/secret", "s");
    ground.put("work/bytes", Buffer.from([0xff, 0xfe, 0x00, 0x01]));
    ground.put("work/large", "x".repeat(1001));
    ground.put("other/file", "of another session");
    mkdirSync(join(ground.dir, "work/dir"));
    symlinkSync(ground.outside, join(ground.dir, "work/out"));
    symlinkSync("../other", join(ground.dir, "work/beside"));
    symlinkSync("../other/file", join(ground.dir, "work/beside-file"));
    symlinkSync("nothing", join(ground.dir, "work/dangling"));
  });

  const at = (path: string): string => (path.startsWith("/") || path === "" ? path : `${ground.dir}/work/${path}`);
  const outside = (path: string) => ({
    code: -32602,
    message: expect.stringContaining(path),
    data: { path, reason: "outside_roots" },
  });
  const reason =
    (code: number, why: string, message = /./) =>
    (path: string) => ({
      code,
      message: expect.stringMatching(message),
      data: { path, reason: why },
    });

  const READS: readonly [string, (path: string) => object][] = [
    ["", outside],
    ["work", outside],
    ["/", outside],
    ["/etc/passwd", outside],
    ["/read-onlyx/file", outside],
    ["out/file", outside],
    ["beside/file", outside],
    ["beside/nothing", outside],
    ["beside-file", outside],
    ["dangling", outside],
    ["a\\b", outside],
    ["nothing", (uri) => ({ code: -32002, message: expect.any(String), data: { uri } })],
    ["dir", reason(-32602, "is_directory")],
    ["file/x", (uri) => ({ code: -32002, message: expect.any(String), data: { uri } })],
    ["file/", reason(-32602, "not_a_directory")],
    ["file//", reason(-32602, "not_a_directory")],
    ["file/.", reason(-32602, "not_a_directory")],
    ["dir/", reason(-32602, "is_directory")],
    ["out/", outside],
    ["bytes", reason(-32602, "not_text")],
    ["large", reason(-32602, "too_large")],
    ["secret", reason(-32003, "policy")],
  ];
  test.each(READS)("reading %j", async (path, expected) => {
    // Not joined: the path is to arrive as it is.
    const sent = path === "work" ? "work" : at(path);
    const { error } = await agent.ask(session, "fs/read_text_file", { path: sent });
    expect(error).toEqual(expected(sent));
    expect(audit).toHaveLength(1);
  });

  test.each(["/../etc/passwd", "/work/../other/file", "/..", "/./../x"])("a path with ..: %s", async (path) => {
    const sent = `${ground.dir}${path}`;
    const { error } = await agent.ask(session, "fs/read_text_file", { path: sent });
    expect(error).toEqual(outside(sent));
  });

  test("a range of a large file is read, one that is too large is not", async () => {
    ground.put("work/lines", `${"y".repeat(600)}\n${"z".repeat(600)}\n`);
    const read = (range: object) => agent.ask(session, "fs/read_text_file", { path: at("lines"), ...range });
    expect(await read({ limit: 1 })).toEqual({ result: { content: `${"y".repeat(600)}\n` } });
    expect((await read({ line: 1 })).error).toEqual(reason(-32602, "too_large")(at("lines")));
  });

  const WRITES: readonly [string, (path: string) => object][] = [
    ["/etc/venue-files-test", outside],
    ["out/file", outside],
    ["beside/file", outside],
    ["beside/new/file", outside],
    ["beside-file", outside],
    ["dangling", outside],
    ["dir", reason(-32602, "is_directory")],
    ["file/x", reason(-32602, "not_a_directory")],
    ["file/", reason(-32602, "not_a_directory")],
    ["new/", reason(-32602, "not_a_directory")],
    ["secret", reason(-32003, "policy")],
    ["/read-only/file", reason(-32003, "read_only", /^Permission denied$/)],
    ["/small/file", reason(-32603, "quota")],
  ];
  test.each(WRITES)("writing %j", async (path, expected) => {
    const { error } = await agent.ask(session, "fs/write_text_file", { path: at(path), content: "12345" });
    expect(error).toEqual(expected(at(path)));
    expect(ground.get("other/file").toString()).toBe("of another session");
    expect(ground.names("other")).toEqual(["file"]);
    expect(ground.names("work")).not.toContain("nothing");
    expect(audit).toMatchObject([{ outcome: expect.not.stringMatching(/^OK$/), bytes: 0 }]);
  });

  test("a session that is not there, and methods that nobody offered", async () => {
    const none = { code: -32002, message: expect.any(String), data: { sessionId: "none" } };
    const path = at("file");
    expect((await agent.ask(session, "fs/read_text_file", { sessionId: "none", path })).error).toEqual(none);
    expect(audit).toMatchObject([{ sessionId: "none", outcome: "UNKNOWN_SESSION" }]);
    for (const method of ["terminal/create", "terminal/output", "fs/delete", "session/request_permission"]) {
      expect((await agent.ask(session, method, { command: "x" })).error).toMatchObject({ code: -32601 });
    }
  });

  test("a message of whatever shape", async () => {
    for (const params of [{ sessionId: 1 }, { sessionId: null }, { path: 1 }, { path: null }, { sessionId: session }]) {
      expect((await agent.ask(session, "fs/read_text_file", params)).error?.code).toBe(-32602);
    }
    expect(audit.map(({ outcome }) => outcome)).toEqual(Array(5).fill("INVALID_PARAMS"));
  });
});

describe("the host path of a root that agents know under another name", () => {
  test("is in no message, whatever they ask", async () => {
    const acp = new AcpClientFs({
      adapter: ground.adapter,
      mounts: [{ root: "r", prefix: "/w" }],
      onAudit: () => {
        throw new Error(ground.dir);
      },
    });
    const agent = connectAgent(acp, "2");
    try {
      ground.put("file", "text");
      ground.put("bytes", Buffer.from([0xff]));
      ground.put("large", "x".repeat(1001));
      symlinkSync(join(ground.dir, "file"), join(ground.dir, "absolute"));
      symlinkSync(ground.outside, join(ground.dir, "out"));
      const session = await agent.newSession({ cwd: "/w" });
      const paths = [
        "file",
        "bytes",
        "large",
        "absolute",
        "out/x",
        "none",
        "none/x",
        "file/x",
        "secret",
        "",
        "a\\b",
        "..",
      ];
      for (const path of paths) {
        await agent.ask(session, "fs/read_text_file", { path: `/w/${path}` });
        await agent.ask(session, "fs/write_text_file", { path: `/w/${path}`, content: "x" });
      }
      await agent.ask(session, "terminal/create", { command: "x" });
      expect(await agent.ask(session, "fs/read_text_file", { path: "/w/absolute" })).toEqual({
        result: { content: "x" },
      });
      const received = agent.received.join("");
      expect(received).toContain("/w/none");
      expect(received).not.toContain(ground.dir.split("/").at(-2));
    } finally {
      await agent.stop();
    }
  });
});

/** Adapters that fail as they should never: what they say must not reach an agent. */
describe("nothing that an agent did not send leaks", () => {
  const SECRET = "/host/path/of/the/root";
  const failures: readonly [string, () => unknown][] = [
    ["an error", () => new Error(`ENOENT: ${SECRET}`)],
    ["an error whose text is JSON", () => new Error(JSON.stringify({ path: SECRET }))],
    ["a text", () => SECRET],
    ["nothing", () => undefined],
    [
      "an abort that nobody asked for",
      () => Object.assign(new Error(SECRET), { name: "AbortError", code: "ABORT_ERR" }),
    ],
    [
      "a schema error",
      () => Object.assign(new Error(SECRET), { name: "ZodError", issues: [], format: () => ({ SECRET }) }),
    ],
    ...Object.keys(ERROR_CODES).map((code): [string, () => unknown] => [
      code,
      () =>
        new FileAdapterError(code as ErrorCode, `Failed in ${SECRET}`, {
          ...{ path: SECRET, root: SECRET, systemCode: SECRET, limit: SECRET },
        }),
    ]),
  ];
  let failure: () => unknown = () => undefined;
  const logged: unknown[] = [];
  const log: Log = { debug() {}, info() {}, warn() {}, error: (fields) => logged.push(fields["err"]) };
  const adapter: AcpAdapter = {
    invoke: async (operation) => {
      if (operation !== "file:roots") throw failure();
      return { roots: [{ name: "r", path: "/seen", kind: "host", readOnly: false }] };
    },
  };
  let agent: TestAgent;
  let session: string;
  beforeAll(async () => {
    agent = connectAgent(new AcpClientFs({ adapter, mounts: [{ root: "r" }], log }), "2");
    session = await agent.newSession({ cwd: "/seen" });
  });
  afterAll(() => agent.stop());

  test.each(failures)("%s", async (name, make) => {
    failure = make;
    logged.splice(0);
    agent.received.splice(0);
    for (const method of ["fs/read_text_file", "fs/write_text_file"]) {
      const { error } = await agent.ask(session, method, { path: "/seen/file", content: "x" });
      expect(JSON.stringify(error)).not.toContain("host/path");
      if (name in ERROR_CODES) expect(error?.code).toBe(ERROR_CODES[name as ErrorCode].rpc);
      else expect(error).toEqual({ code: -32603, message: "Internal error" });
    }
    expect(agent.received.join("")).not.toContain("host/path");
    if (!(name in ERROR_CODES)) expect(logged).toEqual([make(), make()]);
  });
});
