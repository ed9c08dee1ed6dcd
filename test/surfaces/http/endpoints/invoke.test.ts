import { once } from "node:events";
import { connect } from "node:net";
import { setTimeout as sleep } from "node:timers/promises";
import { afterAll, afterEach, beforeAll, describe, expect, jest, test } from "@jest/globals";
import type { Caller } from "../../../../src/core/call/caller.js";
import type { Abortable } from "../../../../src/core/call/scope.js";
import { Overloaded } from "../../../../src/core/errors/errors.js";
import { aborted, notFound } from "../../../../src/core/errors/texts.js";
import { MemoryLease } from "../../../../src/core/memory.js";
import type { McpAnswer, McpEndpoint, McpRequest } from "../../../../src/surfaces/mcp/http.js";
import { gate } from "../../../venue/catalogue/fake-adapter.js";
import { outcome, send } from "../client.js";
import {
  type Answer,
  as,
  closeAll,
  DID,
  postInvoke,
  postText,
  rawRequest,
  type Served,
  sendRaw,
  serve,
} from "../fixture.js";

afterAll(closeAll);
afterEach(() => {
  jest.restoreAllMocks();
});

describe("invoke", () => {
  const ANYONE = `${DID}:public`;
  let served: Served;
  beforeAll(async () => {
    served = await serve({
      read: (input) => input,
      write: () => ({ written: 3, created: true }),
      missing: () => {
        throw notFound({ root: "docs", path: "nope" });
      },
      cancelled: () => {
        throw aborted();
      },
    });
  });

  const invoke = (body: unknown, query = "") => outcome(postInvoke(served, body, query));
  const lastCall = () => served.adapter.calls.at(-1);

  describe("invoke answers 201 with the record", () => {
    test("of a finished job, and where to find it", async () => {
      const response = await postInvoke(served, { operation: "v/ops/file/read", input: { root: "docs", path: "a" } });
      expect(response.status).toBe(201);
      const location = response.headers.get("location");
      expect(location).toMatch(/^\/api\/v1\/jobs\/[0-9a-f]{32}$/);
      const record = await response.json();
      expect(record).toEqual({
        id: `0x${location?.slice(-32)}`,
        op: expect.stringMatching(/^[0-9a-f]{64}$/),
        name: "Fake read",
        operation: "v/ops/file/read",
        status: "COMPLETE",
        created: expect.any(Number),
        updated: expect.any(Number),
        caller: ANYONE,
        input: { root: "docs", path: "a" },
        output: { root: "docs", path: "a" },
      });
      expect(await outcome(fetch(served.url + location))).toEqual({ status: 200, body: record });
    });

    test("of a failed job", async () => {
      expect(await invoke({ operation: "file:missing" })).toMatchObject({
        status: 201,
        body: {
          status: "FAILED",
          error: "Not found: docs:nope",
          errorCode: "NOT_FOUND",
          errorData: { root: "docs", path: "nope" },
        },
      });
    });

    test("of a cancelled job", async () => {
      const { status, body } = await invoke({ operation: "file:cancelled" });
      expect(status).toBe(201);
      expect(body).toMatchObject({
        status: "CANCELLED",
        errorCode: "ABORTED",
        error: expect.stringMatching(/^Job cancelled: [0-9a-f]{32}$/),
      });
    });

    test("without file content", async () => {
      const { body } = await invoke({ operation: "file:write", input: { root: "r", path: "p", content: "secret" } });
      expect(body).toMatchObject({ input: { root: "r", path: "p", content: "HIDDEN" }, output: { written: 3 } });
      expect(lastCall()?.input).toEqual({ root: "r", path: "p", content: "secret" });
    });

    test.each([{}, { input: null }])("with an empty input when there is none: %j", async (fields) => {
      expect((await invoke({ operation: "file:read", ...fields })).body).toMatchObject({ input: {}, output: {} });
      expect(lastCall()?.input).toEqual({});
    });

    test("under the asset by which the operation was named", async () => {
      const metadata = { name: "Reads too", operation: { adapter: "file:read" } };
      const asset: unknown = await (await postText(served, "/api/v1/assets", JSON.stringify(metadata))).json();
      const { body } = await invoke({ operation: `a/${asset}` });
      expect(body).toMatchObject({ op: asset, operation: "v/ops/file/read", status: "COMPLETE" });
      const own = await (await fetch(`${served.url}/api/v1/operations/v/ops/file/read`)).json();
      expect((await invoke({ operation: "file:read" })).body).toMatchObject({ op: (own as { asset: string }).asset });
    });
  });

  describe("invoke hands the adapter", () => {
    test("the caller, what it may look assets up with, and the id of the job", async () => {
      const { body } = await invoke({ operation: "file:read" });
      expect(lastCall()?.context).toEqual({
        callerDID: ANYONE,
        authentication: "public",
        surface: "http",
        resolveAsset: expect.any(Function),
        storeAsset: expect.any(Function),
        memory: expect.any(MemoryLease),
        cancellation: expect.anything(),
        signal: expect.objectContaining({}),
        jobId: (body as { id: string }).id.slice(2),
      });
    });

    test("what the caller's token gives, and what leads to an asset", async () => {
      const tokenCaps = [{ with: "file://docs/", can: "crud/read" }];
      const caller: Caller = { did: "did:key:zToken", authentication: "static-token", isOperator: false, tokenCaps };
      const known = await serve({ read: () => 1 }, { authenticate: () => ({ caller }) });
      const { body } = await outcome(
        send(`${known.url}/api/v1/invoke`, { token: "x", json: { operation: "file:read" } }),
      );
      expect(body).toMatchObject({ status: "COMPLETE", caller: caller.did });
      const context = known.adapter.calls[0]?.context;
      expect(context).toMatchObject({ callerDID: caller.did, authentication: "static-token", tokenCaps });
      const asset = (body as { op: string }).op;
      expect(await context?.resolveAsset?.(asset)).toMatchObject({ content: null });
    });

    test("the tokens of the call, as they are", async () => {
      const ucans = ["a.b.c", "", "x".repeat(8192)];
      expect((await invoke({ operation: "file:read", ucans })).body).toMatchObject({ status: "COMPLETE" });
      expect(lastCall()?.context?.ucans).toEqual(ucans);
    });

    test.each([{}, { ucans: null }])("no tokens when there are none: %j", async (fields) => {
      await invoke({ operation: "file:read", ...fields });
      expect(lastCall()?.context?.ucans).toBeUndefined();
    });

    test.each<[string, unknown]>([
      ["a list", [{ with: "file://docs/", can: "crud/read" }]],
      ["an empty list", []],
      ["an object", { with: "file://" }],
      ["a text", "file://"],
      ["false", false],
    ])("caps as the call's own list, unjudged: %s", async (_name, caps) => {
      await invoke({ operation: "file:read", caps });
      expect(lastCall()?.context).toHaveProperty("callCaps", caps);
      expect(lastCall()?.context?.caps).toBeUndefined();
    });

    test("nothing of ucans, caps and wait in the record", async () => {
      const { body } = await invoke({
        operation: "file:read",
        caps: [{ can: "secret" }],
        ucans: ["secret"],
        wait: true,
      });
      expect(JSON.stringify(body)).not.toMatch(/secret|ucans|caps|wait|private/);
    });
  });

  describe("invoke refuses with 400 and starts nothing:", () => {
    const noOperation = "Invoke request requires an 'operation' parameter as a String";
    test.each<[string, unknown, string]>([
      ["no operation", {}, noOperation],
      ["a null operation", { operation: null }, noOperation],
      ["an operation that is no text", { operation: 7 }, noOperation],
      ["a list", [], noOperation],
      ["a text", '"file:read"', noOperation],
      ["null", "null", noOperation],
      ["an unknown operation", { operation: "file:nope" }, "Cannot resolve operation: file:nope"],
      ["an empty operation", { operation: "" }, "Cannot resolve operation: "],
      [
        "an operation of another venue",
        { operation: "did:key:zX/v/ops/file/read" },
        "Cannot resolve operation: did:key:zX/v/ops/file/read",
      ],
      ["a huge operation", { operation: "x".repeat(100_000) }, `Cannot resolve operation: ${"x".repeat(512)}…`],
      ["an input that is a list", { operation: "file:read", input: [] }, "'input' must be an object"],
      ["an input that is a text", { operation: "file:read", input: "{}" }, "'input' must be an object"],
      ["private as a text", { operation: "file:read", private: "true" }, "'private' must be a boolean"],
    ])("%s", async (_name, body, error) => {
      const before = served.adapter.calls.length;
      expect(await invoke(body)).toEqual({ status: 400, body: { error } });
      expect(served.adapter.calls.length).toBe(before);
    });
  });

  test("invoke is refused with the time to wait while too much runs, and has no effect", async () => {
    const slow = gate();
    const busy = await serve({ slow: () => slow.promise }, { jobs: { max: 1, inlineWaitMs: 1 } });
    for (let i = 0; i < 64; i += 1) expect((await postInvoke(busy, { operation: "file:slow" })).status).toBe(201);
    const refused = await postInvoke(busy, { operation: "file:slow" });
    expect([refused.status, refused.headers.get("retry-after")]).toEqual([429, "1"]);
    expect(await refused.json()).toEqual({ error: expect.any(String) });
    expect(busy.adapter.calls).toHaveLength(64);
    slow.open(1);
    await slow.promise;
    expect((await postInvoke(busy, { operation: "file:slow" })).status).toBe(201);
  });

  describe("the reply to invoke", () => {
    test("comes before a long job ends, which goes on", async () => {
      const slow = gate();
      const quick = await serve({ slow: () => slow.promise }, { jobs: { inlineWaitMs: 5, maxWaitMs: 60_000 } });
      const reply = await postInvoke(quick, { operation: "file:slow" });
      expect(reply.status).toBe(201);
      expect(await reply.json()).toMatchObject({ status: "STARTED" });
      slow.open({ size: 1 });
      await slow.promise;
      const record = await outcome(fetch(quick.url + reply.headers.get("location")));
      expect(record).toMatchObject({ status: 200, body: { status: "COMPLETE", output: { size: 1 } } });
    });

    test.each<[string, Record<string, unknown>, string]>([
      ["wait: true", { wait: true }, ""],
      ['wait: "true"', { wait: "true" }, ""],
      ["?wait=true", {}, "?wait=true"],
    ])("waits for a long job with %s", async (_name, fields, query) => {
      const slow = gate();
      const quick = await serve({ slow: () => slow.promise }, { jobs: { inlineWaitMs: 1, maxWaitMs: 60_000 } });
      const reply = outcome(postInvoke(quick, { operation: "file:slow", ...fields }, query));
      setTimeout(() => slow.open("done"), 60);
      expect(await reply).toMatchObject({ status: 201, body: { status: "COMPLETE", output: "done" } });
    });

    test.each<[string, Record<string, unknown>, string]>([
      ["wait: false", { wait: false }, ""],
      ['wait: "false"', { wait: "false" }, ""],
      ["wait: 1", { wait: 1 }, ""],
      ["?wait=false", {}, "?wait=false"],
      ["?wait", {}, "?wait"],
    ])("does not wait for a long job with %s", async (_name, fields, query) => {
      const quick = await serve({ slow: () => gate().promise }, { jobs: { inlineWaitMs: 1, maxWaitMs: 60_000 } });
      const reply = outcome(postInvoke(quick, { operation: "file:slow", ...fields }, query));
      expect(await reply).toMatchObject({ status: 201, body: { status: "STARTED" } });
    });

    test("with wait comes at maxWaitMs all the same", async () => {
      const quick = await serve({ slow: () => gate().promise }, { jobs: { inlineWaitMs: 60_000, maxWaitMs: 5 } });
      expect(await outcome(postInvoke(quick, { operation: "file:slow", wait: true }))).toMatchObject({
        status: 201,
        body: { status: "STARTED" },
      });
    });

    test("to a private call is the only place its end is ever shown", async () => {
      const reply = await postInvoke(served, { operation: "file:read", private: true });
      expect(await reply.json()).toMatchObject({ status: "COMPLETE" });
      expect((await fetch(served.url + reply.headers.get("location"))).status).toBe(404);
    });
  });

  describe("a client that hangs up during invoke", () => {
    /** Calls a slow operation, and hangs up once it runs. */
    async function hangUp(fields: object) {
      const started = gate<AbortSignal | undefined>();
      const slow = gate();
      const server = await serve({
        slow: (_input, context) => {
          started.open(context.signal);
          return slow.promise;
        },
      });
      const socket = connect(server.port, "127.0.0.1");
      const body = JSON.stringify({ operation: "file:slow", wait: true, ...fields });
      socket.write(rawRequest("POST /api/v1/invoke", { "Content-Type": "application/json" }, body));
      const signal = await started.promise;
      socket.destroy();
      await once(socket, "close");
      // The server has seen the end of that connection once it answers on another.
      expect((await fetch(`${server.url}/api/v1/status`)).status).toBe(200);
      const id = server.adapter.calls[0]?.context?.jobId ?? "";
      return { server, signal, slow, path: `${server.url}/api/v1/jobs/${id}` };
    }

    test("does not cancel the job", async () => {
      const { server, signal, slow, path } = await hangUp({});
      expect(signal?.aborted).toBe(false);
      slow.open("done");
      await slow.promise;
      const record = await outcome(fetch(path));
      expect(record).toMatchObject({ status: 200, body: { status: "COMPLETE", output: "done" } });
      expect(server.logged).toEqual([]);
    });

    test("has not seen the end of a private job, which can be asked for once", async () => {
      const { slow, path } = await hangUp({ private: true });
      slow.open("done");
      await slow.promise;
      expect(await outcome(fetch(path))).toMatchObject({ status: 200, body: { output: "done" } });
      expect((await fetch(path)).status).toBe(404);
    });
  });
});

describe("answers of invoke", () => {
  const LARGE = "x".repeat(1_500_000);
  const MIDDLE = "y".repeat(100_000);
  const JSON_TYPE = { "Content-Type": "application/json" };
  /** The same to the endpoint, but not what programs send. */
  const OTHER_TYPE = { "Content-Type": "application/json; charset=utf-8" };

  const operations = {
    read: (input: unknown) => input,
    large: () => ({ text: LARGE }),
    middle: () => ({ text: MIDDLE }),
    missing: () => {
      throw notFound({ root: "docs", path: "nope" });
    },
    broken: () => {
      throw new Error("secret detail");
    },
    cyclic: () => {
      const value: Record<string, unknown> = {};
      value["self"] = value;
      return value;
    },
  };

  let served: Served;
  beforeAll(async () => {
    served = await serve(operations);
  });

  const post = ({ port }: Served, body: string, headers: Record<string, string> = {}): Promise<Answer> =>
    sendWhole(port, rawRequest("POST /api/v1/invoke", { ...JSON_TYPE, ...headers, Connection: "close" }, body));

  /** Reads until the server closes: an answer in chunks has no length. */
  async function sendWhole(port: number, request: string): Promise<Answer> {
    const socket = connect(port, "127.0.0.1");
    socket.write(request);
    socket.setEncoding("latin1");
    let received = "";
    for await (const chunk of socket) received += chunk;
    const end = received.indexOf("\r\n\r\n");
    const [first = "", ...lines] = received.slice(0, end).split("\r\n");
    const headers = new Map(
      lines.map((line): [string, string] => {
        const colon = line.indexOf(":");
        return [line.slice(0, colon).toLowerCase(), line.slice(colon + 1).trim()];
      }),
    );
    return { status: Number(first.split(" ")[1]), headers, body: received.slice(end + 4) };
  }

  const call = (operation: string, more: object = {}) => JSON.stringify({ operation, ...more });

  describe("a call answers", () => {
    test.each([
      ["an output", call("v/ops/file/read", { input: { root: "docs", path: "a" } }), 201],
      ["a call that is private", call("file:read", { private: true }), 201],
      ["a call that waits", call("file:read", { wait: true }), 201],
      ["a call with caps and tokens", call("file:read", { caps: [], ucans: ["x"] }), 201],
      ["a failure", call("file:missing"), 201],
      ["a fault of the venue", call("file:broken"), 201],
      ["an output that is no JSON", call("file:cyclic"), 201],
      ["an output larger than what is not counted", call("file:middle"), 201],
      ["an output that is sent in pieces", call("file:large"), 201],
      ["JSON5", "{operation: 'file:read', input: {path: 'ä'},}", 201],
      ["an operation that there is not", call("file:none"), 400],
      ["no operation", "{}", 400],
      ["an array", "[]", 400],
      ["what is no JSON", "{", 400],
      ["a number that JSON would not keep", '{"operation":"file:read","input":{"n":1e400}}', 400],
      ["input of the wrong kind", call("file:read", { input: 3 }), 400],
    ])("%s", async (_what, body, status) => {
      for (const type of [JSON_TYPE, OTHER_TYPE]) expect((await post(served, body, type)).status).toBe(status);
    });

    test("of a caller with a token", async () => {
      expect((await post(served, call("file:read"), as("alice"))).body).toContain("z6MkAlice");
    });

    test("with the size of a large output counted until it is sent", async () => {
      const small = await serve(operations, { http: { maxInFlightBytes: 200_000 } });
      for (const _ of [1, 2]) expect((await post(small, call("file:middle"))).status).toBe(201);
    });

    test("when the venue has too much to do, and where it fails, without details", async () => {
      const failing = await serve(operations);
      for (const [error, status] of [
        [new Overloaded("Too many jobs are running", 1000), 429],
        [new Error("secret detail"), 500],
      ] as const) {
        const { jobs } = failing.venue as unknown as { jobs: { submit(): unknown } };
        jest.spyOn(jobs, "submit").mockImplementation(() => {
          throw error;
        });
        const answer = await post(failing, call("file:read"));
        expect(answer.status).toBe(status);
        expect(answer.body).not.toContain("secret");
        jest.restoreAllMocks();
      }
      const [first] = failing.logged;
      expect(first?.error).toEqual(new Error("secret detail"));
    });
  });

  describe("a special request", () => {
    test.each([
      ["a wrong token", { Authorization: "Bearer wrong" }, 401],
      ["another scheme", { Authorization: "Digest x" }, 401],
      ["another host", { Host: "evil.example" }, 403],
      ["another origin", { Origin: "https://evil.example" }, 403],
      ["a page's request for a script", { "Sec-Fetch-Dest": "script", "Sec-Fetch-Site": "cross-site" }, 403],
      ["an encoded body", { "Content-Encoding": "gzip" }, 415],
      ["an expectation", { Expect: "something" }, 417],
    ])("%s", async (_what, headers, status) => {
      expect((await post(served, call("file:read"), headers)).status).toBe(status);
    });

    test.each([
      [
        "a body that is counted",
        { body: call("file:read", { input: { text: MIDDLE } }), path: "/api/v1/invoke", status: 201 },
      ],
      ["a query", { body: call("file:read"), path: "/api/v1/invoke?wait=true", status: 201 }],
      ["another spelling", { body: call("file:read"), path: "/api/v1/invoke/", status: 201 }],
      ["another endpoint", { body: call("file:read"), path: "/api/v1/run", status: 200 }],
      ["no body", { body: "", path: "/api/v1/invoke", status: 400 }],
    ])("%s", async (_what, { body, path, status }) => {
      expect((await sendRaw(served.port, rawRequest(`POST ${path}`, JSON_TYPE, body))).status).toBe(status);
    });

    test("two Host headers", async () => {
      const request = rawRequest("POST /api/v1/invoke", JSON_TYPE, call("file:read"));
      const { status } = await sendRaw(served.port, request.replace("\r\n", "\r\nHost: other\r\n"));
      expect(status).toBe(400);
    });

    test("callers without credentials, where they are not served", async () => {
      const closed = await serve(operations, { http: { publicAccess: false } });
      expect((await post(closed, call("file:read"))).status).toBe(401);
      expect((await post(closed, call("file:read"), as("bob"))).status).toBe(201);
    });

    test.each([
      ["a limit on the rate", { http: { rateLimit: async () => 0 } }],
      ["other origins that may call", { http: { corsOrigins: ["https://pages.example"] } }],
      ["a proxy in front", { http: { trustProxy: true } }],
      ["a log of every request", { log: { debugs: true, debug() {}, info() {}, warn() {}, error() {} } }],
      ["a path before those of the venue", { http: { baseUrl: "https://venue.example/files" } }],
    ] as const)("is answered, where there is %s", async (_what, overrides) => {
      const special = await serve(operations, overrides as Parameters<typeof serve>[1]);
      expect((await post(special, call("file:read"))).status).toBe(201);
    });
  });

  test("a private call ends its wait when the client is gone, and its job goes on", async () => {
    const slow = gate();
    const { port, venue } = await serve({ slow: () => slow.promise });
    const socket = connect(port, "127.0.0.1");
    socket.write(rawRequest("POST /api/v1/invoke", JSON_TYPE, call("file:slow", { private: true, wait: true })));
    const jobs = (venue as unknown as { jobs: { running: number; size: number } }).jobs;
    while (jobs.running === 0) await sleep(1);
    socket.destroy();
    await sleep(20);
    slow.open({ done: true });
    while (jobs.running > 0) await sleep(1);
    expect(jobs.size).toBe(1);
  });

  test("calls on one connection are answered in their order", async () => {
    const slow = gate();
    const { port } = await serve({ read: () => slow.open({ first: true }), slow: () => slow.promise });
    const request = (operation: string, more: object) =>
      rawRequest("POST /api/v1/invoke", { ...JSON_TYPE, ...more }, call(operation, { wait: true }));
    const { body } = await sendWhole(port, request("file:slow", {}) + request("file:read", { Connection: "close" }));
    expect(body.match(/"operation":"[^"]+"/g)).toEqual(
      ["file/slow", "file/read"].map((name) => `"operation":"v/ops/${name}"`),
    );
  });

  test("a host with a port that none can have is refused, and the venue lives on", async () => {
    const body = JSON.stringify({ operation: "file:read", input: {}, wait: true });
    for (const Host of ["localhost:65536", "127.0.0.1:99999", "[::1]:70000"]) {
      expect([Host, (await post(served, body, { Host })).status]).toEqual([Host, 403]);
    }
    expect((await post(served, body, { Host: "localhost:65535" })).status).toBe(201);
  });
});

describe("run", () => {
  let served: Served;
  beforeAll(async () => {
    served = await serve(
      {
        read: (input) => ({ read: input }),
        nothing: () => undefined,
        fail: () => {
          throw notFound({ root: "docs", path: "nope" });
        },
        slow: () => gate().promise,
      },
      { jobs: { maxWaitMs: 20 } },
    );
  });

  const run = (body: object) => postText(served, "/api/v1/run", JSON.stringify(body));

  describe("run", () => {
    test("answers with the output alone, and names the job", async () => {
      const response = await run({ operation: "file:read", input: { root: "docs" } });
      const job = response.headers.get("location");
      expect(await outcome(response)).toEqual({ status: 200, body: { read: { root: "docs" } } });
      expect(await outcome(fetch(served.url + job))).toMatchObject({ status: 200, body: { status: "COMPLETE" } });
    });

    test("answers null where there is no output", async () => {
      expect(await outcome(run({ operation: "file:nothing" }))).toEqual({ status: 200, body: null });
    });

    test("answers a failure with its own status, text, code and data", async () => {
      expect(await outcome(run({ operation: "file:fail" }))).toEqual({
        status: 404,
        body: { error: "Not found: docs:nope", errorCode: "NOT_FOUND", errorData: { root: "docs", path: "nope" } },
      });
    });

    test("keeps no job that is private", async () => {
      const response = await run({ operation: "file:read", private: true });
      const job = response.headers.get("location");
      expect((await fetch(served.url + job)).status).toBe(404);
    });

    test("that outlasts the wait goes on under its name", async () => {
      const response = await run({ operation: "file:slow" });
      const job = response.headers.get("location");
      expect(await outcome(response)).toEqual({ status: 504, body: { error: `Still running: see ${job}` } });
      expect(await outcome(fetch(served.url + job))).toMatchObject({ body: { status: "STARTED" } });
    });

    test.each([
      [{}, "Invoke request requires an 'operation' parameter as a String"],
      [{ operation: "file:nope" }, "Cannot resolve operation: file:nope"],
    ])("refuses %j like invoke does", async (body, error) => {
      expect(await outcome(run(body))).toEqual({ status: 400, body: { error } });
    });
  });

  describe("content of an asset", () => {
    test("is found under both names", async () => {
      const sha256 = "2cf24dba5fb0a30e26e83b2ac5b9e29e1b161e5c1fa7425e73043362938b9824";
      const id = await (await postText(served, "/api/v1/assets", JSON.stringify({ content: { sha256 } }))).json();
      const put = await fetch(`${served.url}/api/v1/assets/${id}/content`, { method: "PUT", body: "hello" });
      expect(put.status).toBe(200);
      for (const path of [`assets/${id}/content`, `content/${id}`, `content/a/${id}`, `content/0x${id}`]) {
        expect(await (await fetch(`${served.url}/api/v1/${path}`, { headers: as("alice") })).text()).toBe("hello");
      }
      expect((await fetch(`${served.url}/api/v1/content/nope`)).status).toBe(400);
    });
  });

  describe("a list of assets", () => {
    test("has the metadata where that is asked for", async () => {
      const metadata = { name: "expanded" };
      const id = await (await postText(served, "/api/v1/assets", JSON.stringify(metadata))).json();
      const { body } = await outcome(fetch(`${served.url}/api/v1/assets?expand=metadata&limit=1`));
      expect(body).toMatchObject({ items: [{ id, metadata }], offset: 0, limit: 1 });
    });

    test("expanded is shorter than asked for when it would be too large", async () => {
      const large = await serve({}, { assetRules: { maxTotalBytes: 50_000_000 } });
      const name = "x".repeat(900_000);
      for (const index of [0, 1, 2, 3, 4, 5, 6, 7, 8, 9]) {
        const reply = await postText(large, "/api/v1/assets", JSON.stringify({ name: name.slice(index) }));
        expect(reply.status).toBe(201);
      }
      const list = async (query: string) =>
        (await (await fetch(`${large.url}/api/v1/assets?${query}`)).json()) as { items: unknown[]; total: number };
      const first = await list("expand=metadata");
      expect([first.items.length, first.total]).toEqual([9, 10]);
      expect((await list("expand=metadata&offset=9")).items).toHaveLength(1);
      expect((await fetch(`${large.url}/api/v1/assets?expand=metadata&expand=x`)).status).toBe(400);
    });
  });
});

const INFO = { name: "file", description: "A fake", operations: ["v/ops/file/read", "v/ops/file/write"] };

describe("values", () => {
  let served: Served;
  beforeAll(async () => {
    served = await serve({ read: () => ({}), write: () => ({}) });
  });

  const get = (path: string) => outcome(fetch(`${served.url}/api/v1/values/${path}`));

  test("are read by path, with slashes raw or encoded and one more at the front", async () => {
    for (const path of ["v/info/did", "/v/info/did", "v%2Finfo%2Fdid"]) {
      expect(await get(`read?path=${path}`)).toEqual({
        status: 200,
        body: { exists: true, value: DID, type: "String", valueBytes: DID.length + 2 },
      });
    }
    expect((await get("read?path=v/info/adapters/file")).body).toMatchObject({
      exists: true,
      value: INFO,
      type: "Map",
    });
    expect((await get("read?path=v/info/started")).body).toMatchObject({ type: "Long" });
  });

  test("over maxSize are left out", async () => {
    expect((await get("read?path=v/info/adapters/file&maxSize=10")).body).toEqual({
      exists: true,
      truncated: true,
      type: "Map",
      valueBytes: JSON.stringify(INFO).length,
    });
  });

  test("are listed, sliced and counted", async () => {
    expect((await get("list?path=/")).body).toEqual({ exists: true, type: "Map", count: 1, offset: 0, keys: ["v"] });
    expect((await get("list?path=")).body).toMatchObject({ keys: ["v"] });
    expect((await get("list?path=v/ops/file&limit=1&offset=1")).body).toEqual({
      exists: true,
      type: "Map",
      count: 2,
      offset: 1,
      keys: ["write"],
    });
    expect((await get("slice?path=v/info/adapters&offset=0&limit=1000")).body).toEqual({
      exists: true,
      type: "Map",
      values: [
        { key: "file", value: INFO },
        { key: "documents", value: { supported: expect.arrayContaining(["docx", "text"]), maxChars: 1_000_000 } },
      ],
      count: 2,
      offset: 0,
    });
    expect((await get("count?path=v/ops/file")).body).toEqual({ exists: true, count: 2 });
    expect((await get("count?path=v/info/name")).body).toEqual({ exists: false });
  });

  test.each(["read", "list", "slice", "count"])("that are not there are 200 for %s", async (endpoint) => {
    for (const path of ["w/x", "o/x", "h/x", "v/nope", "v/info/__proto__", "v/info/name/length"]) {
      expect(await get(`${endpoint}?path=${path}`)).toEqual({
        status: 200,
        body: { exists: false, ...(endpoint === "list" ? { type: "null" } : {}) },
      });
    }
  });

  test.each(["read", "list", "slice", "count"])("without a path, or with two, are 400 for %s", async (endpoint) => {
    expect(await get(endpoint)).toEqual({ status: 400, body: { error: "'path' is required" } });
    expect(await get(`${endpoint}?path=v&path=v`)).toEqual({
      status: 400,
      body: { error: "'path' must be given once" },
    });
  });

  test.each(["limit=1001", "limit=-1", "offset=x", "offset=1.5"])("refuse the page %s", async (query) => {
    for (const endpoint of ["list", "slice"]) expect((await get(`${endpoint}?path=v&${query}`)).status).toBe(400);
  });

  test.each(["maxSize=-1", "maxSize=x", "maxSize=", "maxSize=1&maxSize=2"])("refuse %s", async (query) => {
    expect((await get(`read?path=v&${query}`)).status).toBe(400);
  });

  test("are only read", async () => {
    const answer = await sendRaw(served.port, rawRequest("PUT /api/v1/values/read"));
    expect([answer.status, answer.headers.get("allow")]).toEqual([405, "GET, HEAD"]);
  });
});

const serveMcp = (answer: McpEndpoint["serve"]): Promise<Served> =>
  serve({ read: () => 1 }, { mcp: async () => ({ serve: answer }) });

const ANYBODY = { did: `${DID}:public`, authentication: "public", isOperator: false };

describe("/mcp hands over", () => {
  async function seen(send: (served: Served) => Promise<Response>): Promise<McpRequest> {
    const seen = gate<McpRequest>();
    const served = await serveMcp(async (request) => {
      seen.open(request);
      return { status: 202 };
    });
    const response = await send(served);
    expect([response.status, await response.text()]).toEqual([202, ""]);
    return seen.promise;
  }

  test("method, headers, body and caller of a request", async () => {
    const headers = { "content-type": "application/json", accept: "text/event-stream", "mcp-session-id": "s1" };
    const body = '{"jsonrpc":"2.0","id":1,"method":"ä"}';
    const request = await seen((served) => fetch(`${served.url}/mcp?a=b`, { method: "POST", headers, body }));
    expect(request).toMatchObject({ method: "POST", headers, caller: ANYBODY, memory: expect.any(MemoryLease) });
    expect(request.body).toEqual({ jsonrpc: "2.0", id: 1, method: "ä" });
  });

  test.each(["GET", "DELETE"])("%s without a body", async (method) => {
    const request = await seen((served) => fetch(`${served.url}/mcp`, { method }));
    expect(request).toMatchObject({ method, caller: ANYBODY });
    expect(request.body).toBeUndefined();
  });
});

describe("the answer of /mcp", () => {
  const later = <T>(value: T, ms: number): Promise<T> => new Promise((resolve) => setTimeout(() => resolve(value), ms));

  test("is a message, with status and headers, under the common headers", async () => {
    const headers = { allow: "POST", "cache-control": "no-cache" };
    const served = await serveMcp(async () => ({ status: 418, headers, message: { text: "héllo" } }));
    const response = await postText(served, "/mcp", "{}");
    expect([response.status, await response.text()]).toEqual([418, '{"text":"héllo"}']);
    expect(response.headers.get("content-type")).toBe("application/json");
    expect(response.headers.get("allow")).toBe("POST");
    expect(response.headers.get("cache-control")).toBe("no-store");
    expect(response.headers.get("x-content-type-options")).toBe("nosniff");
  });

  test("is a stream of events from the first note on", async () => {
    const ends = gate<McpAnswer>();
    const served = await serveMcp(async ({ note }) => {
      note({ n: 1 });
      const message = ends.promise.then(() => {
        note({ n: 2 });
        return [{ id: 1 }, { id: 2 }];
      });
      return { status: 200, isNoted: true, message };
    });
    const response = await postText(served, "/mcp", "{}");
    const names = ["content-type", "cache-control", "x-accel-buffering"];
    expect(names.map((name) => response.headers.get(name))).toEqual(["text/event-stream", "no-store", "no"]);
    const reader = response.body?.getReader();
    const event = (message: object) => `event: message\ndata: ${JSON.stringify(message)}\n\n`;
    expect(Buffer.from((await reader?.read())?.value ?? []).toString()).toBe(event({ n: 1 }));
    ends.open({ status: 200 });
    let rest = "";
    for (let step = await reader?.read(); step?.done === false; step = await reader?.read())
      rest += Buffer.from(step.value).toString();
    expect(rest).toBe([{ n: 2 }, { id: 1 }, { id: 2 }].map(event).join(""));
  });

  test("is JSON where notes could have come and have not", async () => {
    const served = await serveMcp(async () => ({ status: 200, isNoted: true, message: later({ id: 1 }, 700) }));
    const response = await postText(served, "/mcp", "{}");
    expect([response.headers.get("content-type"), await response.text()]).toEqual(["application/json", '{"id":1}']);
  });

  test("of an endpoint that fails is 500 without detail; if its head has been sent, the connection ends", async () => {
    const cause = new Error("/home/alice");
    const failing: (() => Promise<McpAnswer>)[] = [
      () => Promise.reject(cause),
      async () => ({ status: 200, message: Promise.reject(cause) }),
      async () => ({ status: 200, message: later(0, 800).then(() => Promise.reject(cause)) }),
    ];
    const served = await serveMcp(() => (failing.shift() as () => Promise<McpAnswer>)());
    for (const at of [0, 1]) {
      const { status, body } = await outcome(postText(served, "/mcp", "{}"));
      expect([status, body]).toEqual([500, { error: `Internal error (${served.logged[at]?.requestId})` }]);
    }
    const response = await postText(served, "/mcp", "{}");
    expect(response.status).toBe(200);
    await expect(response.text()).rejects.toThrow("terminated");
    expect(served.logged.map(({ error }) => error)).toEqual([cause, cause, cause]);
  });
});

describe("a client that hangs up", () => {
  const post = rawRequest("POST /mcp", { "Content-Type": "application/json" }, "{}");
  const abortOf = (signal: Abortable) =>
    new Promise<void>((resolve) => signal.addEventListener("abort", () => resolve(), { once: true }));

  test.each([false, true])("cancels the call it waits for, which is no error; after a note: %s", async (isNoted) => {
    const started = gate<Abortable>();
    const served = await serveMcp(async ({ hangUp, note }) => {
      const signal = hangUp();
      const ended = abortOf(signal);
      if (isNoted) note({ n: 1 });
      started.open(signal);
      return { status: 200, isNoted, message: ended.then(() => ({ id: 1 })) };
    });
    const socket = connect(served.port, "127.0.0.1");
    socket.write(post);
    const signal = await started.promise;
    socket.destroy();
    while (!signal.aborted) await new Promise((resolve) => setImmediate(resolve));
    expect((await fetch(`${served.url}/api/v1/status`)).status).toBe(200);
    await served.venue.close();
    expect(served.logged).toEqual([]);
  });
});
