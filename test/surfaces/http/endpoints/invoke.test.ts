import { once } from "node:events";
import { connect } from "node:net";
import { afterAll, beforeAll, describe, expect, test } from "@jest/globals";
import type { Caller } from "../../../../src/core/call/caller.js";
import { aborted, notFound } from "../../../../src/core/errors/texts.js";
import { MemoryLease } from "../../../../src/core/memory.js";
import { gate } from "../../../venue/catalogue/fake-adapter.js";
import { outcome, send } from "../client.js";
import { closeAll, DID, postInvoke, postText, rawRequest, type Served, serve } from "../fixture.js";

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
afterAll(closeAll);

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
    const { body } = await invoke({ operation: "file:read", caps: [{ can: "secret" }], ucans: ["secret"], wait: true });
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
