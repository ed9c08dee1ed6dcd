import { readdirSync, readFileSync } from "node:fs";
import { setImmediate as turn } from "node:timers/promises";
import { type AnyMessage, agent as agent1, type ClientApp } from "@agentclientprotocol/sdk";
import { describe, expect, test } from "@jest/globals";
import type { Log } from "../../../../src/core/ports/log.js";
import type { AcpClientFs } from "../../../../src/surfaces/acp/client-fs.js";
import type { AcpAdapter } from "../../../../src/surfaces/acp/files/files.js";
import type { AcpOptions, ProtocolChoice } from "../../../../src/surfaces/acp/options.js";
import type { AcpConnection, Configure } from "../../../../src/surfaces/acp/protocol/connection.js";
import { useAcp } from "../ground.js";
import { connectAgent, pair, SDKS } from "../stage.js";
import { agent2, connect2, WAYS } from "./versions.js";

const { ground, newFs } = useAcp();

interface Raw {
  readonly connection: AcpConnection;
  readonly sent: Record<string, unknown>[];
}

/** An agent that answers each message by hand; `undefined`: with nothing. `close`: it closes. */
function connectRaw(
  acp: AcpClientFs,
  answer: (params: Record<string, unknown>, count: number) => unknown,
  configure?: Configure,
): Raw {
  const [host, peer] = pair();
  const sent: Record<string, unknown>[] = [];
  const writer = peer.writable.getWriter();
  void (async () => {
    for await (const message of peer.readable as unknown as AsyncIterable<AnyMessage>) {
      if (!("method" in message) || !("id" in message)) continue;
      sent.push({ method: message.method, ...(message.params as object) });
      const answered = answer(message.params as Record<string, unknown>, sent.length);
      if (answered === "close") return writer.close();
      if (answered !== undefined)
        await writer.write({ jsonrpc: "2.0", id: message.id, ...(answered as object) } as AnyMessage);
    }
  })().catch(() => {});
  return { connection: acp.connect(host, configure), sent };
}

const version1 = { result: { protocolVersion: 1, agentInfo: { name: "one", version: "1" } } };
const refusal = { error: { code: -32602, message: "Unsupported protocol version" } };

describe("the version", () => {
  test.each(SDKS)("is 1 with an agent of SDK %s that knows no other, after one question", async (sdk) => {
    const agent = connectAgent(newFs(), sdk);
    try {
      expect(await agent.connection.protocol).toBe(1);
      expect(await agent.connection.files).toBe("fs");
      await agent.newSession({ cwd: ground.dir });
      expect(agent.received.join("").match(/"initialize"/g)).toHaveLength(1);
    } finally {
      await agent.stop();
    }
  });

  test.each(WAYS)("is 2 with an agent that speaks it %s, after one question", async (way) => {
    const agent = await connect2(newFs(), way);
    try {
      const session = await agent.connection.newSession({ cwd: ground.dir });
      expect(await agent.connection.protocol).toBe(2);
      expect((await agent.ask(session, "greeting")).result).toMatchObject({ initialize: { protocolVersion: 2 } });
      expect(agent.received.join("").match(/"initialize"/g)).toHaveLength(1);
    } finally {
      await agent.stop();
    }
  });

  test("is 1 with an agent that refuses 2 by an error, after two questions", async () => {
    const { connection, sent } = connectRaw(newFs(), (_, count) => (count === 1 ? refusal : version1));
    expect(await connection.protocol).toBe(1);
    expect(sent).toMatchObject([
      { protocolVersion: 2, clientCapabilities: { fs: {} }, clientInfo: {}, capabilities: {}, info: {} },
      { protocolVersion: 1, clientCapabilities: { fs: {} } },
    ]);
    expect(sent[1]).not.toHaveProperty("capabilities");
    await connection.close();
  });

  test("is none with an agent that answers another, refuses both, or closes: each says why", async () => {
    const failures: readonly [unknown, string][] = [
      [{ result: { protocolVersion: 7 } }, "The agent speaks version 7 of the protocol, not 1 or 2"],
      [{ result: {} }, "The agent speaks no version of the protocol, not 1 or 2"],
      [refusal, "Unsupported protocol version"],
      ["close", "The agent has closed the connection"],
    ];
    for (const [answer, message] of failures) {
      const { connection } = connectRaw(newFs(), () => answer);
      await expect(connection.newSession({ cwd: ground.dir })).rejects.toThrow(message);
      await expect(connection.protocol).rejects.toThrow(message);
      await expect(connection.agent.request("session/prompt", {} as never)).rejects.toThrow(message);
      await connection.closed;
    }
  });

  test("may be said: nothing else is asked for or taken", async () => {
    const asked = async (protocol: ProtocolChoice, answer: unknown) => {
      const { connection, sent } = connectRaw(newFs({ protocol }), () => answer);
      const spoken = await connection.protocol.catch(({ message }: Error) => message);
      await connection.close();
      return { spoken, sent };
    };
    const one = await asked(1, version1);
    expect(one.spoken).toBe(1);
    expect(one.sent).toEqual([expect.not.objectContaining({ info: expect.anything() })]);
    expect(one.sent[0]).toMatchObject({ protocolVersion: 1 });
    const two = await asked(2, version1);
    expect(two.spoken).toContain("version 1 of the protocol, not 2");
    expect(two.sent[0]).not.toHaveProperty("clientCapabilities");
    expect((await asked(2, refusal)).spoken).toBe("Unsupported protocol version");
    expect((await asked(1, { result: { protocolVersion: 2 } })).spoken).toContain("version 2 of the protocol, not 1");
  });

  test("is told to the host as it registers its handlers, before anything of the agent is handled", async () => {
    const seen: unknown[] = [];
    const configure: Configure = (app, version) => {
      seen.push(version);
      app.onNotification("session/update", ({ params }) => void seen.push(params.sessionId));
    };
    const [host, peer] = pair();
    agent1({ name: "early" })
      .onConnect(({ client }) => {
        const update = { sessionUpdate: "agent_message_chunk", content: { type: "text", text: "x" } } as const;
        void client.notify("session/update", { sessionId: "early", update });
      })
      .onRequest("initialize", () => ({ protocolVersion: 1 }))
      .onRequest("session/new", () => ({ sessionId: "s" }))
      .connect(peer);
    const connection = newFs().connect(host, configure);
    await connection.newSession({ cwd: ground.dir });
    expect(seen).toEqual([1, "early"]);
    await connection.close();
  });

  test("is not waited for by who closes", async () => {
    const { connection } = connectRaw(newFs(), () => undefined);
    const session = connection.newSession({ cwd: ground.dir });
    await connection.close();
    await expect(session).rejects.toThrow("closed the connection");
  });

  test("of an agent that never answers and talks is none", async () => {
    const [host, peer] = pair();
    const connection = newFs().connect(host);
    const writer = peer.writable.getWriter();
    const talk = async () => {
      for (;;) await writer.write({ jsonrpc: "2.0", method: "session/update", params: {} });
    };
    talk().catch(() => {});
    void peer.readable.pipeTo(new WritableStream()).catch(() => {});
    await expect(connection.protocol).rejects.toThrow("does not answer 'initialize'");
  });
});

describe("an agent of version 2 without MCP over ACP", () => {
  test("gets no files, which the log says", async () => {
    const warned: unknown[] = [];
    const log: Log = { debug() {}, info() {}, error() {}, warn: (_, message) => void warned.push(message) };
    const agent = await connect2(newFs({ log }), "in process", { session: { mcp: { stdio: {} } } });
    const session = await agent.connection.newSession({ cwd: ground.dir });
    expect(await agent.connection.files).toBe("none");
    expect((await agent.ask(session, "greeting")).result).toMatchObject({ session: { mcpServers: [] } });
    expect(warned).toEqual([expect.stringContaining("no files")]);
    await agent.stop();
  });
});

describe("an agent of version 1 that takes MCP over ACP", () => {
  const connect = async (options: Partial<AcpOptions>) => {
    const opened: Record<string, unknown>[] = [];
    const { connection } = connectRaw(newFs(options), (params, count) => {
      if (count > 1) opened.push(params);
      const result = { protocolVersion: 1, agentCapabilities: { mcpCapabilities: { acp: true } } };
      return { result: count === 1 ? result : { sessionId: "s" } };
    });
    await connection.newSession({ cwd: ground.dir });
    const files = await connection.files;
    await connection.close();
    return { files, servers: opened[0]?.["mcpServers"] };
  };

  test("gets tools besides its methods where the host says so", async () => {
    expect(await connect({})).toEqual({ files: "fs", servers: [] });
    expect(await connect({ mcp: true })).toMatchObject({
      files: "mcp",
      servers: [{ type: "acp", name: "venue-files" }],
    });
  });
});

test("a host can connect an app of version 2 itself", async () => {
  ground.put("file", "text\n");
  const acp = newFs();
  const app = await acp.app({ protocol: 2 });
  const [host, peer] = pair();
  let calling: (serverId: string) => Promise<unknown> = async () => undefined;
  (
    await agent2({
      onNew: ({
        client,
        caller,
      }: {
        client: unknown;
        caller: { request: (...given: unknown[]) => Promise<unknown> };
      }) => {
        calling = (serverId) =>
          caller.request(client, serverId, "tools/call", { name: "file_read", arguments: { path: "file" } });
      },
    })
  ).connect(peer);
  const { agent } = app.connect(host);
  await agent.request("initialize", { protocolVersion: 2, info: { name: "host", version: "1" } } as never);
  const tools = await acp.declareTools(app, { cwd: ground.dir });
  const { sessionId } = await agent.request("session/new", { cwd: ground.dir, mcpServers: [tools] });
  await acp.addSession(app, sessionId, { cwd: ground.dir, tools });
  const { serverId } = tools as unknown as { serverId: string };
  expect(await calling(serverId)).toMatchObject({ result: { content: [{ text: "text\n" }, {}] } });
  await expect(newFs().declareTools(app as ClientApp, { cwd: ground.dir })).rejects.toThrow("not made here");
  await acp.close();
});

test("an agent that routes both versions by the SDK gets the one that the host wants", async () => {
  const { agentProtocolRouter } = await import("@agentclientprotocol/sdk/experimental/v2");
  for (const protocol of [1, 2, "auto"] as const) {
    const [host, peer] = pair();
    const old = agent1({ name: "one" })
      .onRequest("initialize", () => ({ protocolVersion: 1 }))
      .onRequest("session/new", () => ({ sessionId: "of one" }));
    agentProtocolRouter()
      .withV1(old)
      .withV2(await agent2())
      .connect(peer);
    const connection = newFs({ protocol }).connect(host);
    const session = await connection.newSession({ cwd: ground.dir });
    expect([await connection.protocol, session === "of one"]).toEqual(protocol === 1 ? [1, true] : [2, false]);
    await connection.close();
  }
});

test("an agent that does not take the answers of its tools is not served ahead", async () => {
  let calls = 0;
  const adapter: AcpAdapter = {
    operations: ground.adapter.operations,
    invoke: async (operation, input, context) => {
      if (operation === "file:list") calls += 1;
      return ground.adapter.invoke(operation, input, context);
    },
  };
  let send: (message: object) => void = () => {};
  let serverId: unknown;
  let takes = true;
  const readable = new ReadableStream<AnyMessage>({
    start(controller) {
      send = (message) => controller.enqueue({ jsonrpc: "2.0", ...message } as AnyMessage);
    },
  });
  const writable = new WritableStream<AnyMessage>({
    async write(message) {
      if (!takes) await new Promise(() => {});
      if (!("method" in message) || !("id" in message)) return;
      const { mcpServers } = (message.params ?? {}) as { mcpServers?: { serverId: string }[] };
      serverId = mcpServers?.[0]?.serverId;
      const info = { name: "lazy", version: "1" };
      const greeting = { protocolVersion: 2, info, capabilities: { session: { mcp: { acp: {} } } } };
      send({ id: message.id, result: message.method === "initialize" ? greeting : { sessionId: "s" } });
    },
  });
  const connection = newFs({ adapter }).connect({ readable, writable });
  await connection.newSession({ cwd: ground.dir });
  takes = false;
  const _meta = {
    "io.modelcontextprotocol/protocolVersion": "2026-07-28",
    "io.modelcontextprotocol/clientCapabilities": {},
  };
  for (let id = 0; id < 40; id++) {
    const params = { name: "file_list", arguments: {}, _meta };
    send({ id, method: "mcp/message", params: { serverId, requestId: `${id}`, method: "tools/call", params } });
  }
  while (calls < 16) await turn();
  for (let count = 0; count < 200; count++) await turn();
  expect(calls).toBe(16);
});

test("nothing but one file imports the entry of the SDK for version 2", () => {
  const folder = new URL("../../../../src/", import.meta.url);
  const files = readdirSync(folder, { recursive: true, encoding: "utf8" }).filter((file) => file.endsWith(".ts"));
  const importing = files.filter((file) => readFileSync(new URL(file, folder), "utf8").includes("sdk/experimental/"));
  expect(importing).toEqual(["surfaces/acp/protocol/version-2.ts"]);
});
