import { writeFileSync } from "node:fs";
import { join } from "node:path";
import { afterAll, beforeAll, describe, expect, test } from "@jest/globals";
import { MCP_HEADERS } from "../../../../src/surfaces/http/admission/host-and-origin.js";
import { routeOf } from "../../../../src/surfaces/mcp/http-route.js";
import { serveHere, startHere } from "../../../cli/in-process.js";
import { cleanUp, makeFolder, type Running, start, tempRootsIn } from "../../../cli/process.js";
import { sendAsIs, send as sendHttp } from "../../http/client.js";
import { type RawHere, rawHere } from "../here.js";
import { HTTP_HEADERS, httpRequestOf, linesOf, messagesIn, startRaw, toolCall } from "../raw.js";

afterAll(cleanUp);

/** One line and nothing else, where no root is named. */
const NO_FOLDER = expect.stringMatching(/^No folder given: serves 'tmp', .*venue-files mcp FOLDER\n$/);

const ERAS = ["2025", "newest"] as const;

describe.each(ERAS)("in the protocol of %s", (era) => {
  test("standard output carries JSON-RPC and nothing else, standard error no more than what is served", async () => {
    const raw = await startRaw([], { era });
    await raw.request("tools/list");
    const place = { root: "tmp", path: "a.txt" };
    await raw.call("file_write", { ...place, content: "line\nline\u2028\r\n" });
    await Promise.all(["a.txt", "b.txt", "../c"].map((path) => raw.call("file_read", { root: "tmp", path })));
    await raw.request("tools/call", { name: "no_such_tool" });
    await raw.request("no/such/method");
    raw.process.child.stdin.end();
    const { status, stdout, stderr } = await raw.process.ended;
    expect({ status, stderr }).toEqual({ status: 0, stderr: NO_FOLDER });
    expect(stdout.endsWith("\n")).toBe(true);
    const messages = stdout.trimEnd().split("\n");
    expect(messages.length).toBeGreaterThanOrEqual(7);
    for (const message of messages) {
      expect(JSON.parse(message)).toMatchObject({ jsonrpc: "2.0", id: expect.any(Number) });
    }
  });

  test.each([1, 5, 200])("%d calls that came before the end of the input are answered", async (count) => {
    // Of many, some are on their way out when the process ends.
    const raw = await (count < 200 ? rawHere : startRaw)([], { era });
    const names = Array.from({ length: count }, (_, at) => `${at}.txt`);
    const answers = names.map((path) => raw.call("file_write", { root: "tmp", path, content: "a" }));
    raw.process.child.stdin.end();
    for (const { result } of await Promise.all(answers))
      expect(result.structuredContent).toMatchObject({ created: true });
    expect(await raw.process.ended).toMatchObject({ status: 0, signal: null });
  });

  test.each<[string, (running: Running) => unknown]>([
    ["the input ends", ({ child }) => child.stdin.end()],
    ["it is told to end", ({ child }) => child.kill("SIGTERM")],
  ])("the process ends with 0 when %s, and its temp roots are gone", async (_name, end) => {
    const raw = await startRaw([], { era });
    await raw.call("file_write", { root: "tmp", path: "a.txt", content: "a" });
    expect(tempRootsIn(raw.process.tmp)).toHaveLength(2);
    end(raw.process);
    expect(await raw.process.ended).toMatchObject({ status: 0, signal: null, stderr: NO_FOLDER });
    expect(tempRootsIn(raw.process.tmp)).toEqual([]);
  });
});

test("a session that comes in one piece, with its end, is served whole", async () => {
  const process = start(["mcp"]);
  const params = { protocolVersion: "2025-06-18", capabilities: {}, clientInfo: { name: "raw", version: "1" } };
  const call = { name: "file_write", arguments: { root: "tmp", path: "a.txt", content: "a" } };
  const messages = [
    { id: 1, method: "initialize", params },
    { method: "notifications/initialized" },
    { id: 2, method: "tools/call", params: call },
  ];
  process.child.stdin.end(linesOf(...messages));
  const { status, stdout } = await process.ended;
  expect(status).toBe(0);
  const ids = stdout
    .trimEnd()
    .split("\n")
    .map((line) => (JSON.parse(line) as { id: number }).id);
  expect(ids).toEqual([1, 2]);
});

test("the process ends when nobody reads its answers any more", async () => {
  const raw = await startRaw([]);
  raw.process.child.stdout.destroy();
  raw.write('{"jsonrpc":"2.0","id":5,"method":"tools/list"}\n');
  expect((await raw.process.ended).signal).toBeNull();
  expect(tempRootsIn(raw.process.tmp)).toEqual([]);
});

test("an input that ends at once is no fault, but is told how a client starts the command", async () => {
  const process = start(["mcp", "."]);
  process.child.stdin.end();
  const { stderr, ...ended } = await process.ended;
  expect(ended).toEqual({ status: 0, signal: null, stdout: "" });
  expect(stderr).toContain("Nothing came on standard input: an MCP client starts this command.");
});

describe("what is no JSON-RPC", () => {
  const LINES = ["garbage", "{}", "[]", '{"jsonrpc":"1.0","id":1,"method":"ping"}', '{"id":1}', "\u0000", '"text"', ""];

  test("does not disturb the connection, and is worth a line at most", async () => {
    const raw = await rawHere([]);
    for (const line of LINES) {
      raw.write(`${line}\n`);
      expect((await raw.request("ping")).result).toEqual({});
    }
    raw.process.child.stdin.end();
    const { status, stderr } = await raw.process.ended;
    expect(status).toBe(0);
    const [first = "", ...said] = stderr.trimEnd().split("\n");
    expect(`${first}\n`).toEqual(NO_FOLDER);
    expect(said.length).toBeLessThanOrEqual(LINES.length);
    for (const line of said) expect(line).toMatch(/^MCP: .{1,200}$/);
  });
});

const INITIALIZED = { method: "notifications/initialized" };
const initialize = (protocolVersion: string) => ({
  ...{ id: 0, method: "initialize" },
  params: { protocolVersion, capabilities: {}, clientInfo: { name: "test", version: "1" } },
});
const call = (id: number, name: string, args: object = {}) => ({ id, ...toolCall(name, args) });

/** Ids of the answers to what is sent in one piece, with the end of the input. */
async function answered(...messages: readonly object[]): Promise<unknown[]> {
  const { child, ended } = startHere(["mcp", "--root", `docs=${makeFolder({ "a.txt": "one\n" })}`]);
  child.stdin.end(linesOf(...messages));
  const { status, stdout, stderr } = await ended;
  expect([status, stderr]).toEqual([0, ""]);
  const lines = stdout.trimEnd().split("\n");
  return lines.map((line) => (JSON.parse(line) as { id: unknown }).id);
}

test.each(["2025-11-25", "2024-11-05"])("what comes at once is answered in its order: %s", async (revision) => {
  const pings = Array.from({ length: 5 }, (_, at) => ({ id: at + 1, method: "ping" }));
  expect(await answered(initialize(revision), INITIALIZED, ...pings)).toEqual([0, 1, 2, 3, 4, 5]);
});

test("a cancelled request is not answered", async () => {
  const cancel = { method: "notifications/cancelled", params: { requestId: 2 } };
  const grep = call(2, "file_grep", { root: "docs", pattern: "one" });
  const ids = await answered(initialize("2025-11-25"), call(1, "file_roots"), grep, cancel, { id: 3, method: "ping" });
  expect(new Set(ids)).toEqual(new Set([0, 1, 3]));
});

describe("malformed messages", () => {
  let url: string;
  let stdio: RawHere;
  beforeAll(async () => {
    ({ url } = await serveHere([]));
    stdio = await rawHere([], { era: "2025" });
  });

  interface Failure {
    readonly jsonrpc: string;
    readonly id: unknown;
    readonly error: { readonly code: number; readonly message: string };
  }

  /** The JSON-RPC message that answers a body, whether it comes alone or as an event. */
  async function answerTo(body: string): Promise<Failure> {
    const response = await sendHttp(`${url}/mcp`, { method: "POST", headers: HTTP_HEADERS, body });
    return messagesIn(await response.text())[0] as Failure;
  }

  const CLIENT = { capabilities: {}, clientInfo: { name: "x", version: "1" } };

  describe("over HTTP", () => {
    test.each(["", "{", "[1", '{"jsonrpc":"2.0"}}', "{a:1}"])(
      "the body %j, which is no JSON, is -32700",
      async (body) => {
        const error = { code: -32700, message: expect.stringMatching(/^Invalid JSON: \S/) };
        expect(await answerTo(body)).toEqual({ jsonrpc: "2.0", id: null, error });
      },
    );

    test.each([
      [CLIENT, "params.protocolVersion"],
      [{ ...CLIENT, protocolVersion: 5 }, "params.protocolVersion"],
      [{ protocolVersion: "2025-06-18", capabilities: {} }, "params.clientInfo"],
      [undefined, "params"],
    ])("initialize with %j is -32602 and names %s", async (params, field) => {
      const answer = await answerTo(JSON.stringify({ jsonrpc: "2.0", id: 7, method: "initialize", params }));
      expect(answer).toMatchObject({ id: 7, error: { code: -32602 } });
      expect(answer.error.message).toContain(`Invalid initialize request: ${field}: `);
    });

    test("another request with parameters of the wrong type is -32602 too", async () => {
      const answer = await answerTo('{"jsonrpc":"2.0","id":8,"method":"tools/list","params":{"cursor":5}}');
      expect(answer).toMatchObject({ id: 8, error: { code: -32602 } });
      const call = await answerTo('{"jsonrpc":"2.0","id":9,"method":"tools/call","params":{}}');
      expect(call).toMatchObject({ id: 9, error: { code: -32602 } });
    });
  });

  test("over stdio, initialize without a revision is -32602", async () => {
    expect(await stdio.request("initialize", CLIENT)).toMatchObject({ error: { code: -32602 } });
  });

  describe.each(["2025", "newest"] as const)("over stdio, in the protocol of %s,", (era) => {
    let client: RawHere;
    beforeAll(async () => {
      client = await rawHere([], { era });
      // The first message decides how the connection is served.
      if (era === "newest") await client.request("tools/list");
    });

    /** What answers a line, before a call that comes behind it. */
    async function answersTo(line: string): Promise<unknown[]> {
      const before = client.lines().length;
      client.write(`${line}\n`);
      await client.request("tools/list");
      return client
        .lines()
        .slice(before)
        .map((text) => JSON.parse(text) as Failure)
        .filter(({ error }) => error !== undefined);
    }
    const failed = (id: unknown, code: number, message: RegExp) => ({
      ...{ jsonrpc: "2.0", id, error: { code, message: expect.stringMatching(message) } },
    });

    test.each(["{", "[1", '{"jsonrpc":"2.0"}}', "{a:1}", "nonsense", '{"id":7,', "\u0000"])(
      "the line %j, which is no JSON, is -32700",
      async (line) => {
        expect(await answersTo(line)).toEqual([failed(null, -32700, /^Invalid JSON: \S/)]);
      },
    );

    test.each(["null", "true", "{}", "[]", "[1]", "1.5", '{"a":1}', "9007199254740993"])(
      "the id %s is refused",
      async (id) => {
        const answers = await answersTo(`{"jsonrpc":"2.0","id":${id},"method":"tools/list","params":{}}`);
        expect(answers).toEqual([failed(null, -32600, /'id' must be text or a whole number$/)]);
      },
    );

    test.each<[string, unknown]>([
      ["5", null],
      ["null", null],
      ['"text"', null],
      ['[{"jsonrpc":"2.0","id":1,"method":"ping"}]', null],
      ['{"id":"a","method":"ping"}', "a"],
      ['{"jsonrpc":"1.0","id":77,"method":"ping"}', 77],
      ['{"id":{},"method":"ping"}', null],
    ])("%s, which is no message, is -32600", async (line, id) => {
      expect(await answersTo(line)).toEqual([failed(id, -32600, /expected a JSON-RPC 2\.0 message$/)]);
    });

    test.each([
      ["an empty line", ""],
      ["a notification of another protocol", '{"method":"hello"}'],
      ["an answer to nothing", '{"id":5,"result":{}}'],
      ["an answer with an odd id", '{"jsonrpc":"2.0","id":null,"error":{"code":1,"message":"x"}}'],
    ])("%s gets no answer", async (_what, line) => {
      expect(await answersTo(line)).toEqual([]);
    });
  });
});

// The forms in which calls over HTTP are answered.
const HEADERS = { ...HTTP_HEADERS, "mcp-protocol-version": "2025-11-25" };
const CALL = { jsonrpc: "2.0", id: 1, ...toolCall("file_stat", { path: "a.txt" }) };
const modernCall = (name: string, args: object, more: object = {}) =>
  httpRequestOf("modern", { id: 1, ...toolCall(name, args, more) });

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
    ({ url } = await serveHere(["--config", path]));
  });

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
      const raw = { path: "/mcp", method: "POST", headers, body: JSON.stringify(message) };
      const { status, headers: found, body } = await sendAsIs(url, raw);
      expect([status, found["content-type"]]).toEqual([200, "application/json"]);
      return JSON.parse(body.toString()) as { result: { [key: string]: unknown } };
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
