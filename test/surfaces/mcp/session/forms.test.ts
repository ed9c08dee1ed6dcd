// The forms in which calls over HTTP are answered.

import { writeFileSync } from "node:fs";
import { type IncomingHttpHeaders, request } from "node:http";
import { join } from "node:path";
import { text as textOf } from "node:stream/consumers";
import { afterAll, beforeAll, describe, expect, test } from "@jest/globals";
import { MCP_HEADERS } from "../../../../src/surfaces/http/admission/host-and-origin.js";
import { routeOf } from "../../../../src/surfaces/mcp/http-route.js";
import { cleanUp, makeFolder, serve } from "../../../cli/process.js";
import { send as sendHttp } from "../../http/client.js";
import { HTTP_HEADERS, httpRequestOf, toolCall } from "../raw.js";

const HEADERS = { ...HTTP_HEADERS, "mcp-protocol-version": "2025-11-25" };
const CALL = { jsonrpc: "2.0", id: 1, ...toolCall("file_stat", { path: "a.txt" }) };
const modernCall = (name: string, args: object, more: object = {}) =>
  httpRequestOf("modern", { id: 1, ...toolCall(name, args, more) });

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
  const modern = modernCall("file_stat", {});
  expect(routeOf({ method: "POST", headers: recorded(HEADERS), body: CALL })).toMatchObject({ era: "legacy" });
  const route = routeOf({ method: "POST", headers: recorded(modern.headers), body: JSON.parse(modern.body) });
  expect(route).toMatchObject({ era: "modern" });
  expect(read.size).toBeGreaterThan(4);
  expect(MCP_HEADERS).toEqual(expect.arrayContaining([...read]));
});

describe("a call", () => {
  const folder = makeFolder({ "a.txt": "alpha\nbeta\n", "b.bin": "\u0000\u0001" });
  writeFileSync(join(folder, "large.txt"), 'A line of some length, with "quotes" and ünïcode.\n'.repeat(30_000));
  let url: string;
  beforeAll(async () => {
    const config = { mcp: { tools: "full", maxReadBytes: 4_000_000 }, file: { roots: { docs: folder } } };
    const path = join(makeFolder({ "c.json5": JSON.stringify(config) }), "c.json5");
    ({ url } = await serve(["--config", path]));
  });
  afterAll(cleanUp);

  const send = (message: object, headers: Record<string, string> = HEADERS) =>
    sendHttp(`${url}/mcp`, { json: message, headers });

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
  ])("%s %j is answered in one piece, in both eras alike", async (name, args) => {
    const [old, recent] = await Promise.all([
      read(await send({ ...CALL, params: { name, arguments: args } })),
      read(await sendHttp(`${url}/mcp`, modernCall(name, args))),
    ]);
    for (const { isWhole, headers } of [old, recent]) {
      expect(isWhole).toBe(true);
      expect(headers).toMatchObject({ status: 200, "content-type": "application/json" });
    }
    expect(recent.headers).toEqual(old.headers);
    const { error, result } = old.answer as { error?: object; result: { _meta: object } };
    const _meta = { ...result?._meta, "io.modelcontextprotocol/serverInfo": expect.any(Object) };
    const told = { result: { ...result, resultType: "complete", _meta } };
    expect(recent.answer).toEqual({ jsonrpc: "2.0", id: 1, ...(error === undefined ? told : { error }) });
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
    const { body, headers } = modernCall("file_stat", { path: "a.txt" }, META);
    expect((await ask(JSON.parse(body), given(headers))).result).toHaveProperty("content");
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
