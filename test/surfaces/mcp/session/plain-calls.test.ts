// Over HTTP a plain call of a tool is answered without the SDK, anything else by it. What is asked here is asked of both.

import { writeFileSync } from "node:fs";
import { type IncomingHttpHeaders, request } from "node:http";
import { join } from "node:path";
import { text as textOf } from "node:stream/consumers";
import { afterAll, beforeAll, describe, expect, test } from "@jest/globals";
import {
  CLIENT_CAPABILITIES_META_KEY as CAPABILITIES,
  CLIENT_INFO_META_KEY,
  PROTOCOL_VERSION_META_KEY,
} from "@modelcontextprotocol/server";
import { MCP_HEADERS } from "../../../../src/surfaces/http/plumbing/cors.js";
import { plainCall } from "../../../../src/surfaces/mcp/plain-call.js";
import { cleanUp, makeFolder, serve } from "../../../cli/process.js";
import { MODERN_META, modernCall, TRACED } from "../modern.js";

const HEADERS = {
  "content-type": "application/json",
  accept: "application/json, text/event-stream",
  "mcp-protocol-version": "2025-11-25",
};
const CALL = {
  ...{ jsonrpc: "2.0", id: 1, method: "tools/call" },
  params: { name: "file_stat", arguments: { path: "a.txt" } },
};

describe("a plain call", () => {
  test.each([
    ["with a number", CALL, HEADERS],
    ["with a text as its id", { ...CALL, id: "one" }, HEADERS],
    ["without arguments", { ...CALL, params: { name: "file_roots" } }, HEADERS],
    ["of an older revision", CALL, { ...HEADERS, "mcp-protocol-version": "2025-06-18" }],
    ["whose client takes no events", CALL, { ...HEADERS, accept: "Application/JSON; charset=utf-8" }],
    ["whose client takes anything", CALL, { ...HEADERS, accept: "text/html, */*;q=0.1" }],
  ])("is one %s", (_, message, headers) => {
    const { name, arguments: args = {} }: { name: string; arguments?: object } = message.params;
    expect(plainCall(message, headers)).toEqual({ id: message.id, name, args });
  });

  const MODERN = modernCall({ name: "file_stat", args: { path: "a.txt" } });
  const withMeta = (_meta: unknown) => ({ ...CALL, params: { ...CALL.params, _meta } });
  const { [CLIENT_INFO_META_KEY]: info, ...anonymous } = MODERN_META;
  const nested = (levels: number): object => JSON.parse(`${'{"a":'.repeat(levels)}1${"}".repeat(levels)}`) as object;

  test.each([
    ["", MODERN.message, { info, capabilities: {} }, false],
    ["of a client without a name", withMeta(anonymous), { capabilities: {} }, false],
    [
      "of a client with null for it",
      withMeta({ ...MODERN_META, [CLIENT_INFO_META_KEY]: null }),
      { info: null, capabilities: {} },
      false,
    ],
    [
      "of a client that asks",
      withMeta({ ...anonymous, [CAPABILITIES]: { elicitation: {} } }),
      { capabilities: { elicitation: {} } },
      true,
    ],
    ["of a client that makes no sense", withMeta({ ...anonymous, [CAPABILITIES]: 5 }), { capabilities: 5 }, false],
  ])("of revision 2026-07-28 is one %s", (_, message, told, elicits) => {
    const client = { text: JSON.stringify(told), elicits };
    expect(plainCall(message, MODERN.headers)).toEqual({ id: 1, name: "file_stat", args: { path: "a.txt" }, client });
  });

  test.each<[string, unknown, Record<string, string>]>([
    ["without what each request has", CALL, {}],
    ["with null for that", withMeta(null), {}],
    ["that asks for progress", withMeta({ ...MODERN_META, progressToken: 1 }), {}],
    ["of another revision in its body", withMeta({ ...MODERN_META, [PROTOCOL_VERSION_META_KEY]: "2025-11-25" }), {}],
    ["of another revision in its header", MODERN.message, { "mcp-protocol-version": "2025-11-25" }],
    [
      "with a number that JSON would not keep",
      withMeta({ ...MODERN_META, [CAPABILITIES]: { experimental: 2n ** 60n } }),
      {},
    ],
    ["that is nested too deeply", withMeta({ ...MODERN_META, [CAPABILITIES]: nested(100_000) }), {}],
    ["whose header names another tool", MODERN.message, { "mcp-name": "file_read" }],
    ["whose header names another method", MODERN.message, { "mcp-method": "tools/list" }],
    ["of a session", MODERN.message, { "mcp-session-id": "1" }],
  ])("of revision 2026-07-28 is none %s", (_, message, headers) => {
    expect(plainCall(message, { ...MODERN.headers, ...headers })).toBeUndefined();
  });

  test.each<[string, unknown, Record<string, string>]>([
    ["without a revision", CALL, { accept: HEADERS.accept }],
    ["whose client takes events alone", CALL, { ...HEADERS, accept: "text/event-stream" }],
    ["whose client takes no JSON", CALL, { ...HEADERS, accept: "text/event-stream, application/json;q=0" }],
    ["of a session", CALL, { ...HEADERS, "mcp-session-id": "1" }],
    ["named in a header", CALL, { ...HEADERS, "mcp-method": "tools/call" }],
    ["that is another request", { ...CALL, method: "tools/list" }, HEADERS],
    ["that is a notification", { jsonrpc: "2.0", method: CALL.method, params: CALL.params }, HEADERS],
    ["with null as its id", { ...CALL, id: null }, HEADERS],
    ["with a fraction as its id", { ...CALL, id: 1.5 }, HEADERS],
    ["of another JSON-RPC", { ...CALL, jsonrpc: "1.0" }, HEADERS],
    ["with another field", { ...CALL, more: 1 }, HEADERS],
    ["in a batch", [CALL], HEADERS],
    ["that asks for progress", { ...CALL, params: { ...CALL.params, _meta: { progressToken: 1 } } }, HEADERS],
    ["as a task", { ...CALL, params: { ...CALL.params, task: {} } }, HEADERS],
    ["without a name", { ...CALL, params: {} }, HEADERS],
    ["with a list of arguments", { ...CALL, params: { name: "file_stat", arguments: [] } }, HEADERS],
    ["without parameters", { ...CALL, params: undefined }, HEADERS],
    ["that is no object", "call", HEADERS],
  ])("is none %s", (_, message, headers) => {
    expect(plainCall(message, headers)).toBeUndefined();
  });
});

interface Answer {
  readonly status: number | undefined;
  readonly headers: IncomingHttpHeaders;
  readonly text: string;
}

const post = (url: string, headers: Record<string, string>, body: string): Promise<Answer> =>
  new Promise((resolve, reject) => {
    const sent = request(url, { method: "POST", headers }, (response) => {
      const { statusCode: status, headers: found } = response;
      textOf(response).then((text) => resolve({ status, headers: found, text }), reject);
    });
    sent.once("error", reject).end(body);
  });

test("no header is read that pages may not send", () => {
  const read = new Set<string>();
  const recorded = (headers: Record<string, string>) =>
    new Proxy(headers, { get: (from, name) => Reflect.get(from, String(read.add(String(name)) && name)) });
  const modern = modernCall({ name: "file_stat", args: {} });
  expect(plainCall(CALL, recorded(HEADERS))).toBeDefined();
  expect(plainCall(modern.message, recorded(modern.headers))).toBeDefined();
  expect(read.size).toBeGreaterThan(4);
  expect(MCP_HEADERS).toEqual(expect.arrayContaining([...read]));
});

describe("both ways", () => {
  const folder = makeFolder({ "a.txt": "alpha\nbeta\n", "b.bin": "\u0000\u0001" });
  writeFileSync(join(folder, "large.txt"), 'A line of some length, with "quotes" and ünïcode.\n'.repeat(30_000));
  let url: string;
  beforeAll(async () => {
    const config = { mcp: { tools: "full", maxReadBytes: 4_000_000 }, file: { roots: { docs: folder } } };
    const path = join(makeFolder({ "c.json5": JSON.stringify(config) }), "c.json5");
    ({ url } = await serve(["--config", path]));
    // The first requests load what the others need, and make the client known.
    await send(CALL);
    const { message, headers } = modernCall({ name: "file_stat", args: { path: "a.txt" } });
    await send(message, headers);
  });
  afterAll(cleanUp);

  const send = (message: object, headers: Record<string, string> = HEADERS) =>
    fetch(`${url}/mcp`, { method: "POST", headers, body: JSON.stringify(message) });

  /** The answer, without what is new in each, and whether it came in one piece. */
  async function read(response: Response): Promise<{ answer: unknown; isWhole: boolean; headers: object }> {
    const text = await response.text();
    const answer: unknown = JSON.parse(text, (key, value) => (key === "venue-files/job" ? "job" : value));
    const { "content-length": length, ...headers } = Object.fromEntries(response.headers);
    for (const name of ["date", "x-request-id", "transfer-encoding"]) delete headers[name];
    return { answer, isWhole: length !== undefined, headers: { status: response.status, ...headers } };
  }

  test.each<[string, object]>([
    ["file_stat", { path: "a.txt" }],
    ["file_stat", { path: "none" }],
    ["file_read", { path: "a.txt" }],
    ["file_read", { path: "b.bin" }],
    ["file_read", { path: "large.txt", maxBytes: 4_000_000 }],
    ["file_read", { path: "none" }],
    ["file_list", {}],
    ["file_tree", {}],
    ["file_grep", { pattern: "beta" }],
    ["file_read", { path: 5 }],
    ["file_read", {}],
    ["file_stat", { path: "../x" }],
    ["file_stat", { path: "a.txt", ucans: "no token" }],
    ["file_nothing", {}],
    ["file_list", { limit: 2 ** 53 }],
  ])("%s %j is answered alike", async (name, args) => {
    const params = { name, arguments: args };
    const modern = (more: object) => modernCall({ name, args }, more);
    const ways = [
      [send({ ...CALL, params }), send({ ...CALL, params: { ...params, _meta: {} } })],
      [{}, TRACED].map((more) => send(modern(more).message, modern(more).headers)),
    ];
    for (const responses of ways) {
      const [plain, bySdk] = await Promise.all(responses.map(async (response) => read(await response)));
      expect([plain?.isWhole, bySdk?.isWhole]).toEqual([true, false]);
      expect(plain?.answer).toEqual(bySdk?.answer);
      expect(plain?.headers).toEqual(bySdk?.headers);
      expect(plain?.headers).toMatchObject({ status: 200, "content-type": "application/json" });
    }
  });

  const META = { _meta: { progressToken: "p" } };
  const INITIALIZE = {
    ...{ jsonrpc: "2.0", id: 1, method: "initialize" },
    params: { protocolVersion: "2025-11-25", capabilities: {}, clientInfo: { name: "x", version: "1" } },
  };
  const LARGE = { name: "file_read", arguments: { path: "large.txt", maxBytes: 4_000_000 } };
  const accepts = [HEADERS.accept, "application/json", "*/*", "application/*", undefined];
  test.each(accepts)("what streams nothing is JSON for a client that takes %s", async (accept) => {
    const given = (more: object = {}): Record<string, string> => {
      const { accept: _, ...headers } = { ...HEADERS, ...more };
      return { ...headers, ...(accept === undefined ? {} : { accept }) };
    };
    const ask = async (message: object, headers = given()) => {
      // Not by fetch, which adds what it accepts.
      const { status, headers: found, text } = await post(`${url}/mcp`, headers, JSON.stringify(message));
      expect([status, found["content-type"]]).toEqual([200, "application/json"]);
      return JSON.parse(text) as { result: { [key: string]: unknown } };
    };
    expect((await ask(INITIALIZE)).result).toHaveProperty("serverInfo");
    expect((await ask({ jsonrpc: "2.0", id: 1, method: "tools/list" })).result).toHaveProperty("tools");
    for (const _meta of [undefined, META._meta]) {
      const { result } = await ask({ ...CALL, params: { ...LARGE, _meta } });
      expect(JSON.stringify(result).length).toBeGreaterThan(1_500_000);
    }
    const { message, headers } = modernCall({ name: "file_stat", args: { path: "a.txt" } }, { ...META._meta });
    expect((await ask(message, given(headers))).result).toHaveProperty("content");
  });

  test("a batch of an old revision is a list", async () => {
    const headers = { ...HEADERS, "mcp-protocol-version": "2025-03-26" };
    const response = await send([CALL, { ...CALL, id: "two" }], headers);
    expect(response.headers.get("content-type")).toBe("application/json");
    const answers = (await response.json()) as { id: unknown }[];
    expect(answers.map(({ id }) => id).sort()).toEqual([1, "two"]);
    expect(await (await send([CALL], headers)).json()).toHaveLength(1);
  });

  test.each(["text/event-stream", "text/html", "application/xml, text/plain"])("%s alone is 406", async (accept) => {
    expect((await send(CALL, { ...HEADERS, accept })).status).toBe(406);
  });

  test("a client of 2026-07-28 is served by the SDK until that has accepted it", async () => {
    const ask = async (told: object) => {
      const { message, headers } = modernCall({ name: "file_stat", args: { path: "a.txt" } }, told);
      const { isWhole, headers: found } = await read(await send(message, headers));
      return { isWhole, ...found };
    };
    for (const isWhole of [false, true, true]) {
      const able = { [CAPABILITIES]: { roots: { listChanged: true }, elicitation: { form: {} } } };
      expect(await ask(able)).toMatchObject({ isWhole, status: 200 });
      for (const wrong of [{ [CAPABILITIES]: { roots: { listChanged: 5 } } }, { [CLIENT_INFO_META_KEY]: null }])
        expect(await ask(wrong)).toMatchObject({ isWhole: false, status: 400 });
    }
    const exact = modernCall(
      { name: "file_stat", args: { path: "a.txt" } },
      { [CAPABILITIES]: { experimental: { x: "N" } } },
    );
    const body = JSON.stringify(exact.message).replace('"N"', '{"n":9007199254740993}');
    expect((await fetch(`${url}/mcp`, { method: "POST", headers: exact.headers, body })).status).toBe(400);
    const long = { [CAPABILITIES]: { experimental: { long: { text: "x".repeat(1000) } } } };
    for (let time = 0; time < 2; time += 1) expect(await ask(long)).toMatchObject({ isWhole: false, status: 200 });
  });

  test("a call that takes long is begun to be answered before it ends", async () => {
    const look = { name: "file_watch", arguments: { path: "" } };
    const [, cursor] = /cursor ([\w-]+)/.exec(await (await send({ ...CALL, params: look })).text()) ?? [];
    const waiting = { name: "file_watch", arguments: { path: "", waitMs: 30_000, cursor } };
    const response = await send({ ...CALL, params: waiting });
    expect([response.status, response.headers.get("content-type")]).toEqual([200, "application/json"]);
    expect(response.headers.has("content-length")).toBe(false);
    writeFileSync(join(folder, "new.txt"), "new");
    expect(await response.text()).toMatch(/^\{.*new\.txt.*\}$/);
  });
});
