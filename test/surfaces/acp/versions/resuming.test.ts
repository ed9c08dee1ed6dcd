import { join } from "node:path";
import { type AgentContext, agent as agent1 } from "@agentclientprotocol/sdk";
import { afterEach, beforeEach, describe, expect, test } from "@jest/globals";
import type { Sandbox, SandboxExit } from "../../../../src/core/ports/sandbox.js";
import { AcpClientFs } from "../../../../src/surfaces/acp/client-fs.js";
import type { AcpAdapter } from "../../../../src/surfaces/acp/files/files.js";
import type { AcpOptions } from "../../../../src/surfaces/acp/options.js";
import { useGround } from "../../../ops/ground.js";
import { connectAgent, pair } from "../stage.js";
import { type Agent2Connection, connect2, WAYS } from "./versions.js";

const ground = useGround({ roots: { temp: { temp: true } } });
const at = (path: string): string => join(ground.dir, path);
const text = (path: string): string => ground.get(path).toString();
const newFs = (options: Partial<AcpOptions> = {}): AcpClientFs =>
  new AcpClientFs({ adapter: ground.adapter, mounts: [{ root: "r" }], ...options });

const stops: (() => Promise<void>)[] = [];
afterEach(async () => {
  for (const stop of stops.splice(0)) await stop();
});
beforeEach(() => {
  for (const name of ["one", "two"]) ground.put(`${name}/file`, `of ${name}\n`);
});

async function connect(acp: AcpClientFs, way = WAYS[0], options = {}): Promise<Agent2Connection> {
  const agent = await connect2(acp, way, options);
  stops.push(() => agent.stop());
  return agent;
}

describe.each(WAYS)("the sessions of an agent %s", (way) => {
  test("are listed without those outside the mounts, resumed, ended and deleted", async () => {
    const acp = newFs();
    const agent = await connect(acp, way);
    const { connection } = agent;
    const one = await connection.newSession({ cwd: at("one") });
    const two = await connection.newSession({ cwd: at("two") });
    expect(await connection.listSessions()).toEqual({
      sessions: [
        { sessionId: one, cwd: at("one"), title: "number 1" },
        { sessionId: two, cwd: at("two"), title: "number 2" },
      ],
      nextCursor: "x",
    });
    await connection.endSession(one);
    await connection.deleteSession(two);
    expect((await agent.ask(one, "greeting")).result).toMatchObject({ closed: [one, two] });
    // Tools end with their session, which the host still knows.
    expect(acp.modified(one)).toEqual([]);
    await connection.resumeSession(one, { cwd: at("one"), additionalDirectories: [at("two")] });
    const { resumed, session } = (await agent.ask(one, "greeting")).result as Record<string, object>;
    expect(session).toMatchObject({ sessionId: one, cwd: at("one"), additionalDirectories: [at("two")] });
    // It called a tool before it answered: its directories counted already.
    expect(resumed).toMatchObject({ result: { content: expect.anything() } });
    expect((await agent.call(one, "file_read", { path: "two/file" })).text).toContain("of two");
  });
});

describe("a session that is resumed", () => {
  test("keeps its history, undo and unsaved text after a lost connection, and is asked about anew", async () => {
    let asked = 0;
    const acp = newFs({
      approve: () => {
        asked += 1;
        return "allow_always";
      },
    });
    const first = await connect(acp);
    const session = await first.connection.newSession({ cwd: at("one") });
    await first.call(session, "file_write", { path: "one/file", content: "first" });
    await first.stop();
    expect(acp.modified(session)).toMatchObject([{ newText: "first" }]);
    await acp.openBuffer(session, at("one/open"), "unsaved");
    const second = await connect(acp);
    await second.connection.resumeSession(session, { cwd: at("one") });
    expect((await second.call(session, "file_read", { path: "one/open" })).text).toContain("unsaved");
    await second.call(session, "file_write", { path: "one/file", content: "second" });
    expect([text("one/file"), asked]).toEqual(["second", 2]);
    expect(acp.modified(session)).toMatchObject([{ oldText: "of one\n", newText: "second" }]);
    await acp.undo(session);
    await acp.undo(session);
    expect(text("one/file")).toBe("of one\n");
  });

  test("is nobody else's as long as its agent is there", async () => {
    const acp = newFs();
    const [first, second] = [await connect(acp), await connect(acp)];
    const session = await first.connection.newSession({ cwd: at("one") });
    await expect(second.connection.resumeSession(session, { cwd: at("two") })).rejects.toThrow("Another agent");
    expect((await first.call(session, "file_read", { path: "one/file" })).isError).toBe(false);
  });

  test("is as it was where the agent refuses, and unknown if it was", async () => {
    const acp = newFs();
    const agent = await connect(acp);
    await expect(agent.connection.resumeSession("unknown", { cwd: at("one") })).rejects.toMatchObject({ code: -32002 });
    expect(() => acp.modified("unknown")).toThrow("no such session");
    await expect(agent.connection.resumeSession("far", { cwd: "/elsewhere" })).rejects.toThrow("in a mount");
  });
});

test("commands and tools of a session end with it, for the agent and here", async () => {
  const kills: string[] = [];
  const exec: AcpAdapter["exec"] = async ({ argv }) => {
    const isTrial = argv[0] === "true";
    let end = (_exit: SandboxExit): void => {};
    const exited = new Promise<SandboxExit>((resolve) => {
      end = resolve;
    });
    const exit = { exitCode: 0, signal: null, timedOut: false, truncated: false };
    if (isTrial) end(exit);
    const combined = Buffer.alloc(0);
    return {
      ...{ started: Promise.resolve(), exited },
      output: () => ({ stdout: combined, stderr: combined, combined, truncated: false }),
      kill: async () => {
        kills.push(argv[0] ?? "");
        end(exit);
      },
    };
  };
  const sandbox: Sandbox = {
    ...{ name: "none", shows: "host" },
    probe: async () => ({ available: true, network: false, realBinaries: false }),
    run: () => {
      throw new Error("not asked for");
    },
  };
  const acp = new AcpClientFs({
    adapter: { invoke: ground.adapter.invoke, exec },
    ...{ mounts: [{ root: "r" }], terminals: { sandbox } },
  });
  const [host, peer] = pair();
  let client: AgentContext | undefined;
  let count = 0;
  agent1({ name: "one" })
    .onConnect((connection) => {
      client = connection.client;
    })
    .onRequest("initialize", () => ({
      protocolVersion: 1,
      agentCapabilities: { sessionCapabilities: { close: {}, delete: {} } },
    }))
    .onRequest("session/new", () => ({ sessionId: `s${++count}` }))
    .onRequest("session/close", () => ({}))
    .onRequest("session/delete", () => ({}))
    .connect(peer);
  const connection = acp.connect(host);
  for (const end of ["endSession", "deleteSession"] as const) {
    const sessionId = await connection.newSession({ cwd: at("one") });
    await client?.request("terminal/create", { sessionId, command: sessionId });
    await connection[end](sessionId);
    await expect(client?.request("terminal/create", { sessionId, command: "again" })).rejects.toMatchObject({
      code: -32002,
    });
  }
  expect(kills).toEqual(["s1", "s2"]);
  await connection.close();
});

test("an agent that offers no sessions is not asked about them", async () => {
  const old = connectAgent(newFs(), "1");
  stops.push(() => old.stop());
  const none = await connect(newFs(), WAYS[0], { session: null });
  const some = await connect(newFs(), WAYS[0], { session: { mcp: { acp: {} } } });
  for (const { connection } of [old, none]) {
    for (const work of [
      () => connection.listSessions(),
      () => connection.resumeSession("s", { cwd: at("one") }),
      () => connection.deleteSession("s"),
      () => connection.endSession("s"),
    ]) {
      await expect(work()).rejects.toMatchObject({ code: "NOT_SUPPORTED" });
    }
  }
  await expect(some.connection.deleteSession("s")).rejects.toMatchObject({ code: "NOT_SUPPORTED" });
  await some.connection.endSession("s");
});
