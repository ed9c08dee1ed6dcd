import { chmodSync, rmSync, statSync, symlinkSync } from "node:fs";
import { join } from "node:path";
import { afterAll, beforeAll, beforeEach, describe, expect, test } from "@jest/globals";
import { ERROR_CODES, type ErrorCode, FileAdapterError } from "../../../src/core/errors/errors.js";
import type { Log } from "../../../src/core/ports/log.js";
import { AcpClientFs } from "../../../src/surfaces/acp/client-fs.js";
import type { AcpAdapter } from "../../../src/surfaces/acp/files/files.js";
import type { AcpAuditRecord } from "../../../src/surfaces/acp/review/audit.js";
import { useGround } from "../../ops/ground.js";
import { useAcp } from "./ground.js";
import { type LocalAgent, localAgent } from "./local.js";
import { directories, GROUND, layOut, MOUNTS, READS, type Why, WRITES } from "./refused.js";
import { connectAgent, SDKS, type TestAgent } from "./stage.js";
import { type Agent2Connection, connect2, WAYS } from "./versions/versions.js";

describe.each(SDKS)("an agent on SDK %s reads", (sdk) => {
  const { ground, newFs } = useAcp({ roots: { western: { temp: true, encoding: "latin1" } } });

  let acp: AcpClientFs;
  let agent: TestAgent;
  let session: string;

  beforeAll(async () => {
    const mounts = [{ root: "r" }, { root: "western", prefix: "/western" }];
    acp = newFs({ mounts });
    agent = connectAgent(acp, sdk);
    session = await agent.newSession({ cwd: ground.dir, additionalDirectories: ["/western"] });
  });
  afterAll(() => agent.stop());

  const read = (path: string, range: object = {}) =>
    agent.ask(session, "fs/read_text_file", { path: join(ground.dir, path), ...range });

  beforeEach(() => {
    ground.put("three", "one\ntwo\r\nthree");
    ground.put("ended", "one\ntwo\n");
    ground.put("empty", "");
    ground.put("marked", "\ufeffone\ntwo\n");
    ground.put("return", "one\rstill\ntwo");
  });

  const ranges: readonly [string, object, string][] = [
    ["three", {}, "one\ntwo\r\nthree"],
    ["three", { line: null, limit: null }, "one\ntwo\r\nthree"],
    ["three", { line: 0 }, "one\ntwo\r\nthree"],
    ["three", { line: 1, limit: 1 }, "one\n"],
    ["three", { line: 2, limit: 1 }, "two\r\n"],
    ["three", { line: 2 }, "two\r\nthree"],
    ["three", { limit: 2 }, "one\ntwo\r\n"],
    ["three", { line: 2, limit: null }, "two\r\nthree"],
    ["three", { line: 3, limit: 4_294_967_295 }, "three"],
    ["three", { limit: 0 }, ""],
    ["three", { line: 2, limit: 0 }, ""],
    ["three", { line: 4 }, ""],
    ["ended", { line: 3 }, ""],
    ["ended", { line: 2 }, "two\n"],
    ["empty", {}, ""],
    ["empty", { line: 1 }, ""],
    ["empty", { line: 1, limit: 5 }, ""],
    ["marked", {}, "one\ntwo\n"],
    ["marked", { line: 1, limit: 1 }, "one\n"],
    ["marked", { line: 2 }, "two\n"],
    ["return", { line: 2 }, "two"],
    ["three", { _meta: { a: 1 } }, "one\ntwo\r\nthree"],
  ];
  test.each(ranges)("%s %j", async (path, range, content) => {
    expect(await read(path, range)).toEqual({ result: { content } });
  });

  test("UTF-8 and nothing else, whatever is known of the file", async () => {
    ground.put("wide", Buffer.from("\ufeffone\n", "utf16le"));
    const { error } = await read("wide");
    expect(error).toMatchObject({ code: -32602, data: { reason: "not_text" } });
    const path = "/western/file";
    const put = (bytes: Buffer) =>
      ground.adapter.invoke("file:write", { root: "western", path: "file", bytes: bytes.toString("base64") });
    await put(Buffer.from("für"));
    expect(await agent.ask(session, "fs/read_text_file", { path })).toEqual({ result: { content: "für" } });
    await put(Buffer.from("für", "latin1"));
    expect((await agent.ask(session, "fs/read_text_file", { path })).error).toMatchObject({
      data: { reason: "not_text" },
    });
  });

  test.each([
    ["three", { line: 5 }],
    ["ended", { line: 4 }],
    ["empty", { line: 2 }],
    ["three", { line: 4_294_967_295 }],
    ["three", { line: -1 }],
    ["three", { line: 1.5 }],
    ["three", { limit: -1 }],
    ["three", { line: 4_294_967_296 }],
    ["three", { line: "1" }],
  ])("%s %j is an invalid parameter", async (path, range) => {
    const { error } = await read(path, range);
    expect(error).toEqual({ code: -32602, message: expect.stringMatching(/^Invalid params/) });
  });
});

describe("writes", () => {
  const { ground, newFs } = useAcp();
  const audit: AcpAuditRecord[] = [];

  describe.each(SDKS)("an agent on SDK %s writes", (sdk) => {
    let acp: AcpClientFs;
    let agent: TestAgent;
    let session: string;

    beforeAll(async () => {
      const { adapter } = ground;
      acp = new AcpClientFs({ adapter, mounts: [{ root: "r" }], onAudit: (record) => audit.push(record) });
      agent = connectAgent(acp, sdk);
      session = await agent.newSession({ cwd: ground.dir });
    });
    afterAll(() => agent.stop());
    beforeEach(() => {
      audit.splice(0);
    });

    const write = (path: string, content: unknown) =>
      agent.ask(session, "fs/write_text_file", { path: join(ground.dir, path), content });

    test("a new file, and the directories above it", async () => {
      expect(await write("a/b/c.txt", "one\n")).toEqual({ result: {} });
      expect(ground.get("a/b/c.txt").toString()).toBe("one\n");
    });

    test("in a new directory that is called as the root", async () => {
      expect(await write("r/c.txt", "one\n")).toEqual({ result: {} });
      expect(ground.get("r/c.txt").toString()).toBe("one\n");
    });

    test("over a file, whose permissions stay", async () => {
      ground.put("file", "old");
      chmodSync(join(ground.dir, "file"), 0o640);
      expect(await write("file", "new")).toEqual({ result: {} });
      expect(ground.get("file").toString()).toBe("new");
      expect(statSync(join(ground.dir, "file")).mode & 0o777).toBe(0o640);
      expect(ground.staged()).toEqual([]);
    });

    test.each([
      ["the mark is put back", "\ufeffold", "new", "\ufeffnew"],
      ["a mark that comes with the text is not doubled", "\ufeffold", "\ufeffnew", "\ufeffnew"],
      ["line endings are as given", "a\r\nb\r\n", "c\nd\n", "c\nd\n"],
      ["an empty text", "old", "", ""],
      ["the same text", "old", "old", "old"],
      ["over bytes that are no text", Buffer.from([0xff, 0xfe, 0x00]), "text", "text"],
    ])("%s", async (_, before, text, after) => {
      ground.put("file", before);
      expect(await write("file", text)).toEqual({ result: {} });
      expect(ground.get("file").toString()).toBe(after);
    });

    test("many times at once, and the last one stands", async () => {
      const texts = Array.from({ length: 20 }, (_, index) => `text ${index}`);
      const answers = await Promise.all(texts.map((text) => write("file", text)));
      expect(answers).toEqual(texts.map(() => ({ result: {} })));
      expect(ground.get("file").toString()).toBe("text 19");
      expect(acp.modified(session).find(({ path }) => path === join(ground.dir, "file"))).toMatchObject({
        newText: "text 19",
      });
    });

    test("what cannot be text is refused", async () => {
      ground.put("file", "old");
      expect(await write("file", "\ud800")).toEqual({
        error: { code: -32602, message: "Invalid params: 'content' is not well-formed Unicode" },
      });
      expect(await write("file", undefined)).toEqual({
        error: { code: -32602, message: "Invalid params: 'content' must be a string" },
      });
      expect(ground.get("file").toString()).toBe("old");
    });

    test("through a link that stays inside, to its target", async () => {
      ground.put("file", "old");
      symlinkSync("file", join(ground.dir, "link"));
      expect(await write("link", "new")).toEqual({ result: {} });
      expect(ground.get("file").toString()).toBe("new");
    });

    test("one audit record says what became of it", async () => {
      await write("audited", "one");
      await write("audited", "three");
      await write("../x", "no");
      const common = {
        sessionId: session,
        agent: `agent-${sdk}`,
        method: "fs/write_text_file",
        time: expect.any(Number),
      };
      const hashOne = "sha256:7692c3ad3540bb803c020b3aee66cd8887123234ea0c6e7143c0add73ff431ed";
      const hashThree = "sha256:8b5b9db0c13db24256c829aa364aa90c6d2eba318b9232a4ab9313b954d3555f";
      expect(audit).toEqual([
        {
          ...{ ...common, root: "r", path: "audited", bytes: 3, hashBefore: null, hashAfter: hashOne },
          ...{ outcome: "OK", ms: expect.any(Number) },
        },
        {
          ...{ ...common, root: "r", path: "audited", bytes: 5, hashBefore: hashOne, hashAfter: hashThree },
          ...{ outcome: "OK", ms: expect.any(Number) },
        },
        { ...common, path: join(ground.dir, "../x"), bytes: 0, outcome: "PATH_ESCAPES_ROOT", ms: expect.any(Number) },
      ]);
    });
  });

  describe("with newlines: keep", () => {
    let agent: TestAgent;
    let session: string;
    beforeAll(async () => {
      agent = connectAgent(newFs({ newlines: "keep" }), "2 in process");
      session = await agent.newSession({ cwd: ground.dir });
    });
    afterAll(() => agent.stop());

    test.each([
      ["most are CRLF", "a\r\nb\r\nc\n", "x\ny\r\n", "x\r\ny\r\n"],
      ["most are LF", "a\nb\nc\r\n", "x\r\ny\n", "x\ny\n"],
      ["as many of both: the first", "a\r\nb\n", "x\n", "x\r\n"],
      ["none", "a", "x\r\ny\n", "x\r\ny\n"],
    ])("line endings become those of the file: %s", async (_, before, text, after) => {
      ground.put("file", before);
      const path = join(ground.dir, "file");
      expect(await agent.ask(session, "fs/write_text_file", { path, content: text })).toEqual({ result: {} });
      expect(ground.get("file").toString()).toBe(after);
    });
  });

  describe("on a root with another encoding", () => {
    const latin = useGround({ root: { encoding: "latin1" } });
    let agent: TestAgent;
    let session: string;
    beforeAll(async () => {
      agent = connectAgent(new AcpClientFs({ adapter: latin.adapter, mounts: [{ root: "r" }] }), "2 in process");
      session = await agent.newSession({ cwd: latin.dir });
    });
    afterAll(() => agent.stop());

    test("text is UTF-8 all the same", async () => {
      const path = join(latin.dir, "file");
      for (const content of ["é日", "é日!"]) {
        expect(await agent.ask(session, "fs/write_text_file", { path, content })).toEqual({ result: {} });
        expect(latin.get("file").toString()).toBe(content);
        expect(await agent.ask(session, "fs/read_text_file", { path })).toEqual({ result: { content } });
      }
    });
  });
});

describe("refusals", () => {
  const { ground, newFs } = useAcp(GROUND);

  describe.each(SDKS)("an agent on SDK %s is refused", (sdk) => {
    let agent: TestAgent;
    let session: string;
    const audit: AcpAuditRecord[] = [];

    beforeAll(async () => {
      const onAudit = (record: AcpAuditRecord) => void audit.push(record);
      agent = connectAgent(newFs({ mounts: MOUNTS, onAudit }), sdk);
      session = await agent.newSession(directories(ground));
    });
    afterAll(() => agent.stop());
    beforeEach(() => {
      audit.splice(0);
      layOut(ground);
    });

    const at = (path: string): string => (path.startsWith("/") || path === "" ? path : `${ground.dir}/work/${path}`);
    const CODES: Readonly<Record<Why, number>> = {
      ...{ missing: -32002, policy: -32003, read_only: -32003, quota: -32603 },
      ...{ outside_roots: -32602, is_directory: -32602, not_a_directory: -32602, not_text: -32602, too_large: -32602 },
    };
    const refusal = (reason: Why, path: string) => ({
      code: CODES[reason],
      message: reason === "read_only" ? "Permission denied" : expect.stringContaining(path),
      data: reason === "missing" ? { uri: path } : { path, reason },
    });

    test.each<[string, Why]>([
      ...READS,
      ["", "outside_roots"],
      ["work", "outside_roots"],
      ["a\\b", "outside_roots"],
      ["file/", "not_a_directory"],
      ["file//", "not_a_directory"],
      ["file/.", "not_a_directory"],
      ["dir/", "is_directory"],
      ["out/", "outside_roots"],
      ["bytes", "not_text"],
      ["large", "too_large"],
      ["../work/../other/file", "outside_roots"],
      ["../..", "outside_roots"],
      [".././../x", "outside_roots"],
    ])("reading %j", async (path, why) => {
      // Not joined: the path is to arrive as it is.
      const sent = path === "work" ? "work" : at(path);
      const { error } = await agent.ask(session, "fs/read_text_file", { path: sent });
      expect(error).toEqual(refusal(why, sent));
      expect(audit).toHaveLength(1);
    });

    test("a range of a large file is read, one that is too large is not", async () => {
      ground.put("work/lines", `${"y".repeat(600)}\n${"z".repeat(600)}\n`);
      const read = (range: object) => agent.ask(session, "fs/read_text_file", { path: at("lines"), ...range });
      expect(await read({ limit: 1 })).toEqual({ result: { content: `${"y".repeat(600)}\n` } });
      expect((await read({ line: 1 })).error).toEqual(refusal("too_large", at("lines")));
    });

    test.each<[string, Why]>([...WRITES, ["file/", "not_a_directory"], ["new/", "not_a_directory"]])(
      "writing %j",
      async (path, why) => {
        const { error } = await agent.ask(session, "fs/write_text_file", { path: at(path), content: "12345" });
        expect(error).toEqual(refusal(why, at(path)));
        expect(ground.get("other/file").toString()).toBe("of another session");
        expect(ground.names("other")).toEqual(["file"]);
        expect(ground.names("work")).not.toContain("nothing");
        expect(audit).toMatchObject([{ outcome: expect.not.stringMatching(/^OK$/), bytes: 0 }]);
      },
    );

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
      for (const params of [
        { sessionId: 1 },
        { sessionId: null },
        { path: 1 },
        { path: null },
        { sessionId: session },
      ]) {
        expect((await agent.ask(session, "fs/read_text_file", params)).error?.code).toBe(-32602);
      }
      expect(audit.map(({ outcome }) => outcome)).toEqual(Array(5).fill("INVALID_PARAMS"));
    });
  });

  describe("the host path of a root that agents know under another name", () => {
    test("is in no message, whatever they ask", async () => {
      const acp = newFs({
        mounts: [{ root: "r", prefix: "/w" }],
        onAudit: () => {
          throw new Error(ground.dir);
        },
      });
      const agent = connectAgent(acp, "2 in process");
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
      agent = connectAgent(new AcpClientFs({ adapter, mounts: [{ root: "r" }], log }), "2 in process");
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

  const OUTSIDE =
    /^(?:CAPABILITY_DENIED|SYMLINK_ESCAPE|DANGLING_SYMLINK|PATH_NOT_RELATIVE|PATH_ESCAPES_ROOT|INVALID_INPUT|INVALID_PATH)$/;
  const CODES: Readonly<Record<Why, RegExp>> = {
    outside_roots: OUTSIDE,
    missing: /^(?:NOT_FOUND|NOT_A_DIRECTORY)$/,
    is_directory: /^IS_A_DIRECTORY$/,
    not_a_directory: /^(?:NOT_A_DIRECTORY|PARENT_MISSING|EXISTS_NOT_DIRECTORY)$/,
    policy: /^DENIED_BY_POLICY$/,
    read_only: /^READ_ONLY_ROOT$/,
    quota: /^QUOTA_EXCEEDED$/,
    not_text: /^NOT_TEXT$/,
    too_large: /^TOO_LARGE$/,
  };

  describe.each(WAYS)("by MCP an agent %s is refused what the methods refuse", (way) => {
    let agent: Agent2Connection;
    let session: string;
    const audit: AcpAuditRecord[] = [];

    beforeAll(async () => {
      const onAudit = (record: AcpAuditRecord) => void audit.push(record);
      agent = await connect2(newFs({ mounts: MOUNTS, onAudit }), way);
      session = await agent.connection.newSession(directories(ground));
    });
    afterAll(() => agent.stop());
    beforeEach(() => {
      audit.splice(0);
      layOut(ground);
    });

    const at = (path: string): string => (path.startsWith("/") ? path : `${ground.dir}/work/${path}`);
    test.each(READS)("reading %j", async (path, why) => {
      const root = path.startsWith("/read-only/") ? "ro" : "r";
      for (const sent of [at(path), ...(path.startsWith("/") ? [] : [`work/${path}`])]) {
        const found = await agent.call(session, "file_read", { root, path: sent });
        expect([sent, found.isError, found.text]).toEqual([sent, true, expect.stringMatching(/./)]);
        expect(found.code).toMatch(CODES[why]);
        expect(found.text).not.toMatch(/of another session|other\/file.*other\/file/);
      }
      expect(audit.every(({ outcome }) => outcome !== "OK")).toBe(true);
    });

    test.each(WRITES)("writing %j", async (path, why) => {
      const root = path.startsWith("/read-only") ? "ro" : path.startsWith("/small") ? "small" : "r";
      for (const [name, more] of [
        ["file_write", { content: "12345", parents: true }],
        ["file_append", { content: "12345" }],
      ] as const) {
        if (name === "file_append" && path === "file/x") continue;
        const found = await agent.call(session, name, { root, path: at(path), ...more });
        expect([name, found.isError]).toEqual([name, true]);
        expect(found.code).toMatch(
          path === "secret" || path === "dir" || root !== "r" || name === "file_write" ? CODES[why] : /./,
        );
      }
      expect(ground.get("other/file").toString()).toBe("of another session");
      expect(ground.names("other")).toEqual(["file"]);
      expect(ground.names("work")).not.toContain("nothing");
      expect(audit.every(({ outcome, bytes }) => outcome !== "OK" && bytes === 0)).toBe(true);
    });

    test("moving, copying and deleting what is another's", async () => {
      for (const [name, args] of [
        ["file_move", { path: "work/file", to: "other/stolen" }],
        ["file_move", { path: "other/file", to: "work/stolen" }],
        ["file_copy", { path: "other/file", to: "work/stolen" }],
        ["file_copy", { path: "work/beside-file", to: "work/stolen" }],
        ["file_delete", { path: "other", recursive: true }],
        ["file_mkdir", { path: "other/new" }],
        ["file_list", { path: "other" }],
        ["file_tree", { path: "" }],
        ["file_glob", { pattern: "**/file", path: "other" }],
        ["file_grep", { pattern: "of", path: "other" }],
        ["file_stat", { path: "other/file" }],
      ] as const) {
        const { text, isError } = await agent.call(session, name, { root: "r", ...args });
        expect([name, isError || !text.includes("other/file")]).toEqual([name, true]);
        expect(text).not.toContain("of another session");
      }
      expect(ground.names("other")).toEqual(["file"]);
      expect(ground.get("work/file").toString()).toBe("text");
    });

    test("a message of whatever shape", async () => {
      for (const params of [
        {},
        { name: 1 },
        { name: "file_read", arguments: [] },
        { name: "file_read", arguments: { root: 1 } },
      ]) {
        const { result } = (await agent.ask(session, "tools/call", params)) as {
          result: Record<string, { code?: number }>;
        };
        expect(result["error"]?.code ?? (result["result"] as { isError?: true }).isError).toEqual(
          params.name === "file_read" && "root" in Object(params.arguments) ? true : -32602,
        );
      }
      expect((await agent.ask(session, "server/none")).result).toMatchObject({ error: { code: -32601 } });
      for (const envelope of [{}, { serverId: 1 }, { serverId: "x", requestId: 1, method: "tools/list" }]) {
        expect((await agent.ask(session, "mcp/message", envelope)).error?.code).toBe(-32602);
      }
    });
  });

  /** Adapters that fail as they should never: what they say must not reach an agent. */
  describe("nothing that an agent did not send leaks by MCP", () => {
    const SECRET = "/host/path/of/the/root";
    let failure: unknown;
    const logged: unknown[] = [];
    const log: Log = { debug() {}, info() {}, warn() {}, error: (fields) => logged.push(fields["err"]) };
    const adapter: AcpAdapter = {
      invoke: async (operation) => {
        if (operation !== "file:roots") throw failure;
        return { roots: [{ name: "r", path: "/seen", kind: "host", readOnly: false }] };
      },
    };

    test.each([
      ["an error", new Error(SECRET)],
      ["a text", SECRET],
      [
        "a denial by a link",
        new FileAdapterError("CAPABILITY_DENIED", SECRET, { denied_by: ["path_policy"], path: SECRET }),
      ],
    ])("%s", async (_, error) => {
      failure = error;
      const acp = new AcpClientFs({
        adapter: { ...adapter, operations: ground.adapter.operations },
        mounts: [{ root: "r" }],
        log,
      });
      const agent = await connect2(acp);
      const session = await agent.connection.newSession({ cwd: "/seen" });
      for (const name of ["file_read", "file_write", "file_stat"]) {
        expect(await agent.call(session, name, { path: "x", content: "x" })).toMatchObject({ isError: true });
      }
      expect(agent.received.join("")).not.toContain(SECRET);
      await agent.stop();
    });

    test("of the host path of a root that agents know under another name", async () => {
      ground.put("file", "text");
      symlinkSync(join(ground.dir, "file"), join(ground.dir, "absolute"));
      const acp = newFs({ mounts: [{ root: "r", prefix: "/w" }] });
      const agent = await connect2(acp);
      const session = await agent.connection.newSession({ cwd: "/w" });
      await agent.call(session, "file_roots");
      for (const path of ["file", "absolute", "none/x", "/w/file", "", ".."]) {
        for (const name of ["file_read", "file_list", "file_write", "file_move", "file_stat"]) {
          await agent.call(session, name, { path, content: "x", to: "/elsewhere" });
        }
      }
      expect(agent.received.join("")).toContain("/w");
      expect(agent.received.join("")).not.toContain(ground.dir.split("/").at(-2));
      await agent.stop();
    });
  });
});

const SESSION = "s";
let acp: AcpClientFs;
let agent: LocalAgent;
const CONFLICT = { _meta: { "venue-files/conflict": true } };

describe("an open buffer", () => {
  const { ground, at, newFs } = useAcp({ root: { deny: ["secret"] } });
  const read = (path: string, range: object = {}) => agent.ask("fs/read_text_file", { path: at(path), ...range });
  const write = (path: string, content: string) => agent.ask("fs/write_text_file", { path: at(path), content });
  const open = (path: string, text: string, options?: { dirty?: boolean }) =>
    acp.openBuffer(SESSION, at(path), text, options);

  beforeEach(async () => {
    acp = newFs({ limits: { maxReadBytes: 1000 } });
    agent = await localAgent(acp, SESSION, { cwd: ground.dir });
    ground.put("file", "disk\n");
  });

  test("is read in place of the disk, by lines too, without its mark", async () => {
    await open("file", "\ufeffone\ntwo\nthree");
    expect(await read("file")).toEqual({ result: { content: "one\ntwo\nthree" } });
    expect(await read("file", { line: 2, limit: 1 })).toEqual({ result: { content: "two\n" } });
    expect(await read("file", { line: 4 })).toEqual({ result: { content: "" } });
    expect((await read("file", { line: 5 })).error?.code).toBe(-32602);
    expect(ground.get("file").toString()).toBe("disk\n");
  });

  test("of a file that is not there yet is read too, and saved where it belongs", async () => {
    await open("new/file", "text");
    expect(await read("new/file")).toEqual({ result: { content: "text" } });
    await acp.saveBuffer(SESSION, at("new/file"));
    expect(ground.get("new/file").toString()).toBe("text");
    expect(await read("new/file")).toEqual({ result: { content: "text" } });
  });

  test("is that of the file, by whichever link it is reached", async () => {
    ground.mkdir("real");
    ground.put("real/file", "disk\n");
    symlinkSync("real", at("linked"));
    symlinkSync("real/file", at("alias"));
    await open("linked/file", "unsaved");
    for (const path of ["real/file", "linked/file", "alias"]) {
      expect(await read(path)).toEqual({ result: { content: "unsaved" } });
    }
    await acp.changeBuffer(SESSION, at("alias"), "changed");
    await acp.saveBuffer(SESSION, at("real/file"));
    expect(ground.get("real/file").toString()).toBe("changed");
    await write("alias", "of the agent");
    expect(await read("linked/file")).toEqual({ result: { content: "of the agent" } });
    await acp.closeBuffer(SESSION, at("alias"));
    await expect(acp.saveBuffer(SESSION, at("linked/file"))).rejects.toThrow("no open buffer");
  });

  test("belongs to no path that names a directory", async () => {
    await expect(open("file/", "text")).rejects.toThrow("names a directory");
  });

  test("changes, is saved, and is closed", async () => {
    await open("file", "disk\n");
    await acp.changeBuffer(SESSION, at("file"), "changed");
    expect(await read("file")).toEqual({ result: { content: "changed" } });
    await acp.saveBuffer(SESSION, at("file"));
    expect(ground.get("file").toString()).toBe("changed");
    await acp.changeBuffer(SESSION, at("file"), "again");
    await acp.closeBuffer(SESSION, at("file"));
    expect(await read("file")).toEqual({ result: { content: "changed" } });
    await expect(acp.changeBuffer(SESSION, at("file"), "x")).rejects.toThrow("no open buffer");
    await expect(acp.saveBuffer(SESSION, at("file"))).rejects.toThrow("no open buffer");
  });

  test("without changes of its own goes when the disk has others", async () => {
    await open("file", "disk\n");
    ground.put("file", "other\n");
    expect(await read("file")).toEqual({ result: { content: "other\n" } });
    await expect(acp.changeBuffer(SESSION, at("file"), "x")).rejects.toThrow("no open buffer");
  });

  test("without changes of its own goes when the file is gone", async () => {
    await open("file", "disk\n");
    rmSync(at("file"));
    expect((await read("file")).error?.code).toBe(-32002);
  });

  test("with changes stays when the disk has others, and says so", async () => {
    await open("file", "mine");
    ground.put("file", "theirs");
    expect(await read("file")).toEqual({ result: { content: "mine", ...CONFLICT } });
    await expect(acp.saveBuffer(SESSION, at("file"))).rejects.toMatchObject({ code: "CONFLICT" });
    expect(ground.get("file").toString()).toBe("theirs");
    expect(await read("file")).toEqual({ result: { content: "mine", ...CONFLICT } });
  });

  test("that its editor has saved itself is saved", async () => {
    await open("file", "mine");
    ground.put("file", "mine");
    await acp.saveBuffer(SESSION, at("file"));
    expect(await read("file")).toEqual({ result: { content: "mine" } });
  });

  test("takes the text that an agent writes, and is saved by that", async () => {
    await open("file", "mine");
    await write("file", "agent's");
    expect(await read("file")).toEqual({ result: { content: "agent's" } });
    ground.put("file", "theirs");
    // It had no changes of its own any more.
    expect(await read("file")).toEqual({ result: { content: "theirs" } });
  });

  test("that an agent wrote over comes back with undo", async () => {
    await open("file", "mine");
    await write("file", "agent's");
    expect(acp.modified(SESSION)).toEqual([{ path: at("file"), oldText: "mine", newText: "agent's" }]);
    expect(await acp.undo(SESSION)).toBe(at("file"));
    expect(ground.get("file").toString()).toBe("disk\n");
    expect(await read("file")).toEqual({ result: { content: "mine" } });
  });

  test("shows nothing that the agent could not read, and nothing too large", async () => {
    await expect(open("secret", "text")).rejects.toMatchObject({ code: "DENIED_BY_POLICY" });
    await open("file", "x".repeat(1001));
    expect((await read("file")).error).toMatchObject({ code: -32602, data: { reason: "too_large" } });
  });

  test("belongs to its session", async () => {
    const other = await localAgent(acp, "other", { cwd: ground.dir });
    await open("file", "mine");
    expect(await other.ask("fs/read_text_file", { path: at("file") })).toEqual({ result: { content: "disk\n" } });
    await expect(acp.openBuffer("none", at("file"), "x")).rejects.toThrow("no such session");
    await expect(acp.openBuffer(SESSION, "/elsewhere", "x")).rejects.toThrow("in no mount");
  });
});
