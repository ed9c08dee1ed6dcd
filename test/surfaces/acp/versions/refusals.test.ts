import { symlinkSync } from "node:fs";
import { join } from "node:path";
import { afterAll, beforeAll, beforeEach, describe, expect, test } from "@jest/globals";
import { FileAdapterError } from "../../../../src/core/errors/errors.js";
import type { Log } from "../../../../src/core/ports/log.js";
import { AcpClientFs } from "../../../../src/surfaces/acp/client-fs.js";
import type { AcpAdapter } from "../../../../src/surfaces/acp/files/files.js";
import type { AcpAuditRecord } from "../../../../src/surfaces/acp/review/audit.js";
import { useGround } from "../../../ops/ground.js";
import { directories, GROUND, layOut, MOUNTS, READS, type Why, WRITES } from "../refused.js";
import { type Agent2Connection, connect2, WAYS } from "./versions.js";

const ground = useGround(GROUND);

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
    agent = await connect2(new AcpClientFs({ adapter: ground.adapter, mounts: MOUNTS, onAudit }), way);
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
    const acp = new AcpClientFs({ adapter: ground.adapter, mounts: [{ root: "r", prefix: "/w" }] });
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
