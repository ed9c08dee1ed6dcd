import { getDefaultHighWaterMark, PassThrough } from "node:stream";
import { setImmediate as turn } from "node:timers/promises";
import { describe, expect, test } from "@jest/globals";
import { CLIENT_CAPABILITIES_META_KEY } from "@modelcontextprotocol/client";
import type { Caller } from "../../../../src/core/call/caller.js";
import { Aborter } from "../../../../src/core/call/scope.js";
import { MemoryBudget } from "../../../../src/core/memory.js";
import type { OperationMetadata } from "../../../../src/core/ports/adapter.js";
import type { ClientRoots } from "../../../../src/surfaces/mcp/client-roots.js";
import type { McpHost, ToolCall } from "../../../../src/surfaces/mcp/host.js";
import { createMcpEndpoint, DetachedCalls } from "../../../../src/surfaces/mcp/http.js";
import { serveMcpStdio } from "../../../../src/surfaces/mcp/stdio.js";
import { linesOf, type Message, MODERN_META, overStdio, toolCall } from "../raw.js";

describe("roots of a client", () => {
  const INFO = { name: "test", version: "1" };
  const HOST = {
    ...{ serverInfo: INFO, instructions: "", maxWaitMs: undefined, logInternal() {} },
    tools: [{ toolName: "work", name: "file:work", title: "", description: "", input: {}, output: {} }],
    submit: () => ({ id: "job", result: Promise.resolve({}) }),
  };

  /** A served connection whose host opens with the client's roots. */
  function connect(options: { answerMs?: number; open?: () => Promise<unknown> } = {}) {
    const asked: ClientRoots[] = [];
    const host = {
      greeting: { serverInfo: INFO, instructions: "Hello" },
      answerMs: options.answerMs ?? 2 ** 30,
      open: async (roots: ClientRoots) => {
        asked.push(roots);
        return options.open === undefined ? HOST : await options.open();
      },
    };
    return { ...overStdio(host, "legacy", false), asked };
  }

  const initialize = (protocolVersion = "2025-06-18", capabilities: object = { roots: {} }) => ({
    ...{ id: 1, method: "initialize" },
    params: { protocolVersion, capabilities, clientInfo: INFO },
  });
  const INITIALIZED = { method: "notifications/initialized" };
  const LIST = { id: 2, method: "tools/list" };
  const isQuestion = ({ method }: Message) => method === "roots/list";

  describe.each(["2025-06-18", "2025-03-26"])("the roots of a client of %s", (revision) => {
    test("are asked for after the handshake, and calls wait for them", async () => {
      const { send, until, messages, asked, input, served } = connect();
      send(initialize(revision), LIST);
      expect(await until(({ id }) => id === 1)).toMatchObject({ result: { instructions: "Hello", serverInfo: INFO } });
      expect(messages).toHaveLength(1);
      send(INITIALIZED);
      const { id } = await until(isQuestion);
      expect(messages).toHaveLength(2);
      expect(asked).toEqual([]);
      send({ id: "another", result: { roots: [{ uri: "file:///etc" }] } });
      send({ id, result: { roots: [{ uri: "file:///a", name: "A" }, { uri: 5 }, null] } });
      expect(await until((message) => message.id === 2)).toMatchObject({ result: { tools: [{ name: "work" }] } });
      expect(asked).toEqual([{ uris: ["file:///a", "", ""], total: 3 }]);
      // Whatever the client sends later is none of them.
      send({ id, result: { roots: [{ uri: "file:///etc" }] } }, INITIALIZED, { ...LIST, id: 3 });
      await until((message) => message.id === 3);
      expect(messages.filter(isQuestion)).toHaveLength(1);
      expect(asked).toHaveLength(1);
      input.end();
      await served;
    });

    test("are not asked for where it offers none", async () => {
      const { send, until, messages, asked, input, served } = connect();
      send(initialize(revision, {}), INITIALIZED, LIST);
      input.end();
      await served;
      await until(({ id }) => id === 2);
      expect(asked).toEqual([{ uris: [], total: 0, reason: "it does not offer any" }]);
      expect(messages.some(isQuestion)).toBe(false);
    });

    test("fail to open: the connection ends with the reason", async () => {
      const { send, served } = connect({ open: () => Promise.reject(new Error("nothing to serve")) });
      send(initialize(revision, {}), INITIALIZED, LIST);
      await expect(served).rejects.toThrow("nothing to serve");
    });
  });

  describe("a client", () => {
    test("has at most 32 roots, and no more are handed on", async () => {
      const { send, until, asked, input, served } = connect();
      send(initialize(), INITIALIZED);
      const { id } = await until(isQuestion);
      const roots = Array.from({ length: 5000 }, (_, at) => ({ uri: `file:///${at}` }));
      send({ id, result: { roots } }, LIST);
      await until((message) => message.id === 2);
      expect(asked).toEqual([{ uris: roots.slice(0, 32).map(({ uri }) => uri), total: 5000 }]);
      input.end();
      await served;
    });

    test("that never answers is served without roots", async () => {
      const { send, until, asked, input, served } = connect({ answerMs: 1 });
      send(initialize(), INITIALIZED, LIST);
      await until(({ id }) => id === 2);
      expect(asked).toEqual([{ uris: [], total: 0, reason: "it did not answer in time" }]);
      input.end();
      await served;
    });

    test("that goes before it answers has none", async () => {
      const { send, asked, input, served } = connect();
      send(initialize());
      input.end();
      await served;
      expect(asked).toEqual([{ uris: [], total: 0, reason: "it has gone" }]);
    });

    test("whose first message is a call gets an answer once the host is open, however long that takes", async () => {
      const open = async () => {
        for (let turn = 0; turn < 50; turn++) await new Promise((resolve) => setImmediate(resolve));
        return HOST;
      };
      const { send, until, input, served } = connect({ open });
      const _meta = { ...MODERN_META, [CLIENT_CAPABILITIES_META_KEY]: { roots: {} } };
      send({ ...LIST, params: { _meta } });
      expect(await until(({ id }) => id === 2)).toMatchObject({ result: { tools: [{ name: "work" }] } });
      input.end();
      await served;
    });

    test("of the revision without a handshake has none", async () => {
      const { send, asked, input, served } = connect();
      send({ id: 1, method: "server/discover", params: {} });
      input.end();
      await served;
      expect(asked).toEqual([{ uris: [], total: 0, reason: "its protocol has no roots of a connection" }]);
    });
  });
});

describe("the endpoint", () => {
  const HOST: McpHost = {
    serverInfo: { name: "test", version: "1" },
    instructions: "",
    tools: [],
    maxWaitMs: undefined,
    submit: () => {
      throw new Error("not called");
    },
    logInternal: () => {},
  };
  const unlimited = new MemoryBudget(1e9, 1);
  const CALLER = { did: "did:key:z6MkAlice", authentication: "public", isOperator: false } as const;
  const JSON_TYPE = { "content-type": "application/json" };
  const BOTH = { ...JSON_TYPE, accept: "application/json, text/event-stream" };

  interface Reported {
    readonly status: number;
    readonly faults: string[];
    readonly refusals: string[];
  }

  async function send(body: unknown, headers: Record<string, string> = BOTH, host = () => HOST): Promise<Reported> {
    const faults: string[] = [];
    const refusals: string[] = [];
    const endpoint = createMcpEndpoint(host, {
      onError: ({ message }) => faults.push(message),
      onRefusal: ({ message }) => refusals.push(message),
    });
    const memory = unlimited.lease("");
    const request = {
      method: "POST",
      headers,
      caller: CALLER,
      memory,
      hangUp: () => new Aborter(),
      note: () => {},
      isBehind: () => false,
      isRefused: () => false,
    };
    const { status } = await endpoint.serve({ ...request, body });
    return { status, faults, refusals };
  }

  const LIST = { jsonrpc: "2.0", id: 1, method: "tools/list" };

  test.each([
    ["no JSON-RPC message", { no: "message" }, BOTH],
    ["an empty batch", [], BOTH],
    ["parameters that are no object", { ...LIST, params: 5 }, BOTH],
    ["a client that takes no events", LIST, { ...JSON_TYPE, accept: "text/html" }],
    ["an unknown revision", LIST, { ...BOTH, "mcp-protocol-version": "2099" }],
  ])("%s is the client's mistake, and no fault of the venue", async (_, body, headers) => {
    const { status, faults, refusals } = await send(body, headers);
    expect(status).toBeGreaterThanOrEqual(400);
    expect(status).toBeLessThan(500);
    expect(faults).toEqual([]);
    expect(refusals.length).toBeLessThanOrEqual(1);
  });

  test("what the venue itself fails at is a fault", async () => {
    const broken = () => {
      throw new Error("no host");
    };
    expect(await send(LIST, BOTH, broken)).toEqual({ status: 500, faults: ["no host"], refusals: [] });
  });

  test("a good request reports nothing", async () => {
    expect(await send(LIST)).toEqual({ status: 200, faults: [], refusals: [] });
  });
});

const whole: Caller = { did: "did:key:zAlice", authentication: "identity", isOperator: false };
const narrowed: Caller = { ...whole, authentication: "ucan", narrowedTo: "did:key:zAlice one" };

test.each([
  ["its DID", whole, narrowed, false],
  ["the same token", narrowed, narrowed, true],
])("a caller whom a token restricts cancels a call of %s: %#", (_whose, owner, canceller, expected) => {
  const calls = new DetachedCalls();
  const { signal } = calls.start(owner, 1);
  calls.cancel(canceller, 1);
  expect(signal.aborted).toBe(expected);
});

const BIG = 1_200_000;
/** Large answers are written in pieces of this size. */
const PIECE_BYTES = 65_536;
const READ: OperationMetadata = {
  ...{ name: "file:read", toolName: "file_read", title: "Read", description: "Reads", ability: "crud/read" },
  changes: false,
  annotations: { readOnlyHint: true, destructiveHint: false, idempotentHint: true, openWorldHint: false },
  input: { type: "object" },
  output: { type: "object" },
  hidden: [],
  render: (output) => ({ kind: "text", text: String(output), rest: {} }),
};

/** A server whose one tool answers with much text, as soon as there is room for it. */
function serveLarge(maxHeldBytes: number) {
  const calls: ToolCall[] = [];
  const input = new PassThrough();
  const output = new PassThrough();
  const host: McpHost = {
    ...{ serverInfo: { name: "t", version: "1" }, instructions: "", tools: [READ], maxWaitMs: undefined },
    submit: (call) => {
      calls.push(call);
      const answer = async () => {
        await call.memory?.hold(BIG);
        return `${calls.length}`.padEnd(BIG, "x");
      };
      return { id: "j", result: answer() };
    },
    logInternal: () => {},
  };
  const ended = serveMcpStdio(host, { input, output, maxMessageBytes: 1_000_000, maxHeldBytes, onError: () => {} });
  const send = (message: object) => input.write(linesOf(message));
  return { calls, input, output, ended, send };
}

type Server = ReturnType<typeof serveLarge>;

async function shakeHands({ send, output }: Server): Promise<void> {
  const clientInfo = { name: "c", version: "1" };
  send({ id: "i", method: "initialize", params: { protocolVersion: "2025-06-18", capabilities: {}, clientInfo } });
  while (output.readableLength === 0) await turn();
  output.read();
  send({ method: "notifications/initialized" });
}

const read = ({ send }: Server, id: number) => send({ id, ...toolCall("file_read") });

const turns = async (count: number) => {
  for (let n = 0; n < count; n += 1) await turn();
};

/** Ids of the answers, in their order, as they are read. */
async function* answersOf(output: PassThrough): AsyncGenerator<number> {
  const parts: string[] = [];
  for await (const chunk of output.setEncoding("utf8")) {
    const [first, ...more] = String(chunk).split("\n");
    parts.push(first ?? "");
    for (const next of more) {
      const message = JSON.parse(parts.splice(0).join(""));
      expect(message.result.content[0].text).toHaveLength(BIG);
      yield message.id;
      parts.push(next);
    }
  }
}

describe("a client that asks and does not read", () => {
  test("is not served ahead: few calls begin, and little is written", async () => {
    const server = serveLarge(64_000_000);
    await shakeHands(server);
    for (let id = 0; id < 80; id += 1) read(server, id);
    await turns(500);
    expect(server.calls.length).toBeLessThan(5);
    // Each side of the stream takes a piece as long as it is below its mark, which depends on the version of Node.
    const most = 2 * (getDefaultHighWaterMark(false) + PIECE_BYTES);
    expect(server.output.readableLength + server.output.writableLength).toBeLessThanOrEqual(most);
    // The sender has to wait too.
    expect(server.input.isPaused()).toBe(true);

    const ids: number[] = [];
    for await (const id of answersOf(server.output)) {
      ids.push(id);
      if (ids.length === 80) break;
    }
    expect(ids).toEqual(Array.from({ length: 80 }, (_, id) => id));
    server.input.end();
    await server.ended;
  });

  test("takes back what has not begun, and gets no answer to it", async () => {
    const server = serveLarge(64_000_000);
    await shakeHands(server);
    for (let id = 0; id < 20; id += 1) read(server, id);
    await turns(100);
    const begun = server.calls.length;
    for (let id = begun; id < 19; id += 1)
      server.send({ method: "notifications/cancelled", params: { requestId: id } });
    await turns(20);
    const ids: number[] = [];
    for await (const id of answersOf(server.output)) {
      ids.push(id);
      if (id === 19) break;
    }
    expect(ids).toEqual([...Array.from({ length: begun }, (_, id) => id), 19]);
    server.input.end();
    await server.ended;
  });
});

test("what a client asks before it ends its side is answered", async () => {
  const server = serveLarge(64_000_000);
  await shakeHands(server);
  for (let id = 0; id < 30; id += 1) server.send({ id, method: "tools/list" });
  server.input.end();
  await server.ended;
  expect(String(server.output.read()).trimEnd().split("\n")).toHaveLength(30);
});

test("what a client has taken back before it began is not waited for when it goes", async () => {
  const server = serveLarge(64_000_000);
  await shakeHands(server);
  let isOver = false;
  void server.ended.then(() => {
    isOver = true;
  });
  server.input.end(
    linesOf(
      { id: 1, method: "ping" },
      { id: 2, method: "ping" },
      { method: "notifications/cancelled", params: { requestId: 2 } },
    ),
  );
  await turns(200);
  expect(isOver).toBe(true);
  expect(String(server.output.read()).match(/"id":\d/g)).toEqual(['"id":1']);
});
