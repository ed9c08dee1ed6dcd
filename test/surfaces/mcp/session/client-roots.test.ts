import { describe, expect, test } from "@jest/globals";
import { CLIENT_CAPABILITIES_META_KEY } from "@modelcontextprotocol/client";
import type { ClientRoots } from "../../../../src/surfaces/mcp/client-roots.js";
import { type Message, MODERN_META, overStdio } from "../raw.js";

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
