import { join } from "node:path";
import { beforeEach, describe, expect, test } from "@jest/globals";
import type { Sandbox, SandboxProcess } from "../../../src/core/ports/sandbox.js";
import { AcpClientFs } from "../../../src/surfaces/acp/client-fs.js";
import type { ApprovalAnswer, ApprovalRequest } from "../../../src/surfaces/acp/review/approval.js";
import { useGround } from "../../ops/ground.js";
import { localAgent } from "./local.js";

const ground = useGround({
  root: { approve: { for: ["all"] } },
  roots: { strict: { temp: true, approve: { for: ["all"], elicit: false } } },
});
const SESSION = "s";
const at = (path: string): string => join(ground.dir, path);
const process: SandboxProcess = {
  started: Promise.resolve(),
  exited: Promise.resolve({ exitCode: 0, signal: null, timedOut: false, truncated: false }),
  output: () => ({ stdout: Buffer.alloc(0), stderr: Buffer.alloc(0), combined: Buffer.alloc(0), truncated: false }),
  kill: async () => {},
};
const sandbox: Sandbox = {
  name: "none",
  shows: "host",
  probe: async () => ({ available: true, network: false, realBinaries: false }),
  run: () => process,
};

let asked: ApprovalRequest[];
let answer: ApprovalAnswer;
let acp: AcpClientFs;

const agentOf = (hasHook: boolean) => {
  acp = new AcpClientFs({
    adapter: ground.adapter,
    mounts: [{ root: "r" }, { root: "strict", prefix: "/strict" }],
    terminals: { sandbox },
    ...(hasHook
      ? {
          approve: (request) => {
            asked.push(request);
            return answer;
          },
        }
      : {}),
  });
  return localAgent(acp, SESSION, { cwd: ground.dir, additionalDirectories: ["/strict"] });
};

beforeEach(() => {
  asked = [];
  answer = "allow";
  ground.put("file", "one\n");
});

describe("a root that asks a person, in ACP", () => {
  test("takes the user of the client for that person, and its record says so", async () => {
    const agent = await agentOf(true);
    expect(await agent.ask("fs/write_text_file", { path: at("sub/new"), content: "x" })).toEqual({ result: {} });
    expect(await agent.ask("fs/write_text_file", { path: at("file"), content: "two\n" })).toEqual({ result: {} });
    expect(asked).toHaveLength(2);
    expect(ground.get("file").toString()).toBe("two\n");
    const writes = ground.audit.filter(({ operation }) => operation === "file:write");
    expect(writes.map(({ outcome, approvedBy }) => [outcome, approvedBy])).toEqual([
      ["OK", "client"],
      ["OK", "client"],
    ]);
    await acp.undo(SESSION);
    expect(ground.get("file").toString()).toBe("one\n");
  });

  test("changes nothing where the user says no, or nobody is asked", async () => {
    answer = "reject";
    const agent = await agentOf(true);
    const refused = await agent.ask("fs/write_text_file", { path: at("file"), content: "x" });
    expect(refused.error?.data).toMatchObject({ reason: "rejected" });
    const alone = await agentOf(false);
    const { error } = await alone.ask("fs/write_text_file", { path: at("file"), content: "x" });
    expect(error).toMatchObject({ code: -32003, message: expect.stringContaining("A person has to allow this") });
    expect((await alone.ask("terminal/create", { command: "sh" })).error?.message).toContain("A person has to allow");
    expect(ground.get("file").toString()).toBe("one\n");
  });

  test("asks about each change, also after 'always'", async () => {
    answer = "allow_always";
    const agent = await agentOf(true);
    for (const content of ["1", "2", "3"]) {
      expect(await agent.ask("fs/write_text_file", { path: at("file"), content })).toEqual({ result: {} });
    }
    expect(asked).toHaveLength(3);
    for (const _ of [1, 2]) await agent.ask("terminal/create", { command: "sh" });
    expect(asked.map(({ kind }) => kind).slice(3)).toEqual(["terminal", "terminal"]);
    answer = "reject";
    expect((await agent.ask("fs/write_text_file", { path: at("file"), content: "4" })).error).toBeDefined();
    expect((await agent.ask("terminal/create", { command: "sh" })).error).toBeDefined();
    expect(ground.get("file").toString()).toBe("3");
  });

  test("does not take the client's word where the operator says so", async () => {
    const agent = await agentOf(true);
    const { error } = await agent.ask("fs/write_text_file", { path: "/strict/new", content: "x" });
    expect(error?.message).toContain("A person has to allow this");
  });
});
