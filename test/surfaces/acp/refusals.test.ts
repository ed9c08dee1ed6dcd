import { symlinkSync } from "node:fs";
import { join } from "node:path";
import { afterAll, beforeAll, beforeEach, describe, expect, test } from "@jest/globals";
import { ERROR_CODES, type ErrorCode, FileAdapterError } from "../../../src/core/errors/errors.js";
import type { Log } from "../../../src/core/ports/log.js";
import { AcpClientFs } from "../../../src/surfaces/acp/client-fs.js";
import type { AcpAdapter } from "../../../src/surfaces/acp/files/files.js";
import type { AcpAuditRecord } from "../../../src/surfaces/acp/review/audit.js";
import { useGround } from "../../ops/ground.js";
import { directories, GROUND, layOut, MOUNTS, READS, type Why, WRITES } from "./refused.js";
import { connectAgent, SDKS, type TestAgent } from "./stage.js";

const ground = useGround(GROUND);

describe.each(SDKS)("an agent on SDK %s is refused", (sdk) => {
  let agent: TestAgent;
  let session: string;
  const audit: AcpAuditRecord[] = [];

  beforeAll(async () => {
    const onAudit = (record: AcpAuditRecord) => void audit.push(record);
    agent = connectAgent(new AcpClientFs({ adapter: ground.adapter, mounts: MOUNTS, onAudit }), sdk);
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
