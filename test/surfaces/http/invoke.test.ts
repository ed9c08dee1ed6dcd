import { once } from "node:events";
import { connect } from "node:net";
import { afterAll, beforeAll, describe, expect, test } from "@jest/globals";
import { aborted, notFound } from "../../../src/core/texts.js";
import { gate } from "../../venue/fake-adapter.js";
import { closeAll, DID, outcome, postInvoke, rawRequest, type Served, serve } from "./fixture.js";

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

  test("with an empty input when none is given", async () => {
    expect((await invoke({ operation: "file:read" })).body).toMatchObject({ input: {}, output: {} });
  });

  test.each(["v/ops/file/read", "/v/ops/file/read", "file:read", `${DID}/v/ops/file/read`, `/${DID}/v/ops/file/read`])(
    "for the operation %s, under its catalogue path",
    async (operation) => {
      expect(await invoke({ operation })).toMatchObject({ status: 201, body: { operation: "v/ops/file/read" } });
      expect(lastCall()?.operation).toBe("file:read");
    },
  );
});

describe("invoke hands the adapter", () => {
  test("an anonymous caller and the id of the job", async () => {
    const { body } = await invoke({ operation: "file:read" });
    const id = (body as { id: string }).id.slice(2);
    expect(lastCall()?.context).toEqual({ callerDID: ANYONE, jobId: id });
  });

  test.each<[string, unknown]>([
    ["a list", [{ with: "file://docs/", can: "crud/read" }]],
    ["an empty list", []],
    ["null", null],
    ["an object", { with: "file://" }],
    ["a text", "file://"],
    ["false", false],
  ])("caps as the call's own list, unjudged: %s", async (_name, caps) => {
    await invoke({ operation: "file:read", caps });
    expect(lastCall()?.context).toHaveProperty("callCaps", caps);
    expect(lastCall()?.context).not.toHaveProperty("caps");
  });

  test("nothing of ucans, caps and wait in the record", async () => {
    const { body } = await invoke({ operation: "file:read", caps: [], ucans: [], wait: true });
    expect(Object.keys(body as object)).toEqual(expect.not.arrayContaining(["ucans", "caps", "wait", "private"]));
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
    ["an input that is null", { operation: "file:read", input: null }, "'input' must be an object"],
    ["an input that is a text", { operation: "file:read", input: "{}" }, "'input' must be an object"],
    ["tokens", { operation: "file:read", ucans: ["a.b.c"] }, "not supported yet: 'ucans'"],
    ["tokens of a wrong type", { operation: "file:read", ucans: "a.b.c" }, "'ucans' must be an array of strings"],
    ["no list of tokens", { operation: "file:read", ucans: null }, "'ucans' must be an array of strings"],
    ["tokens that are no texts", { operation: "file:read", ucans: [1] }, "'ucans' must be an array of strings"],
    ["private as a text", { operation: "file:read", private: "true" }, "'private' must be a boolean"],
  ])("%s", async (_name, body, error) => {
    const before = served.adapter.calls.length;
    expect(await invoke(body)).toEqual({ status: 400, body: { error } });
    expect(served.adapter.calls.length).toBe(before);
  });
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

test("a client that hangs up during invoke does not cancel the job", async () => {
  const started = gate<AbortSignal | undefined>();
  const slow = gate();
  const quick = await serve({
    slow: (_input, context) => {
      started.open(context.signal);
      return slow.promise;
    },
  });
  const socket = connect(quick.port, "127.0.0.1");
  const body = '{"operation":"file:slow","wait":true}';
  socket.write(rawRequest("POST /api/v1/invoke", { "Content-Type": "application/json" }, body));
  const signal = await started.promise;
  socket.destroy();
  await once(socket, "close");
  const id = quick.adapter.calls[0]?.context?.jobId ?? "";
  // The server has seen the end of that connection once it answers on another.
  expect((await fetch(`${quick.url}/api/v1/status`)).status).toBe(200);
  expect(signal?.aborted ?? false).toBe(false);
  slow.open("done");
  await slow.promise;
  const record = await outcome(fetch(`${quick.url}/api/v1/jobs/${id}`));
  expect(record).toMatchObject({ status: 200, body: { status: "COMPLETE", output: "done" } });
  expect(quick.logged).toEqual([]);
});
