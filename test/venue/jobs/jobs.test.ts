import { describe, expect, jest, test } from "@jest/globals";
import { FileAdapterError } from "../../../src/core/errors/errors.js";
import { aborted, notFound, timedOut } from "../../../src/core/errors/texts.js";
import type { Submission } from "../../../src/core/ports/job.js";
import { gate } from "../catalogue/fake-adapter.js";
import { ALICE, call, OP_ASSET, store } from "./job-store.js";

describe("a record", () => {
  test("of a running job is STARTED and has neither output nor error", () => {
    const { jobs, clock } = store({ slow: () => gate().promise });
    const job = jobs.submit(call("file:slow", { root: "docs" }));
    expect(jobs.record(job.id)).toEqual({
      id: `0x${job.id}`,
      op: OP_ASSET,
      name: "Fake slow",
      operation: "v/ops/file/slow",
      status: "STARTED",
      created: clock.now,
      updated: clock.now,
      caller: ALICE.did,
      input: { root: "docs" },
    });
  });

  test("names the asset by which the operation was called, if that is another", () => {
    const { jobs } = store({ read: () => 1 });
    const asset = "f".repeat(64);
    expect(jobs.submit(call("file:read", {}, { asset })).record().op).toBe(asset);
  });

  test("of a finished job has the output and the time of its end", async () => {
    const slow = gate();
    const { jobs, clock } = store({ slow: () => slow.promise });
    const created = clock.now;
    const job = jobs.submit(call("file:slow"));
    clock.now += 40;
    slow.open({ size: 3 });
    await expect(job.result).resolves.toEqual({ size: 3 });
    expect(job.record()).toMatchObject({ status: "COMPLETE", output: { size: 3 }, created, updated: created + 40 });
    expect(job.record()).not.toHaveProperty("error");
    expect(jobs.record(job.id)).toEqual(job.record());
  });

  const failing = (error: unknown) => ({
    fail: () => {
      throw error;
    },
  });

  test("of a failed job has the error's text, code and data, and the result rejects with it", async () => {
    const error = notFound({ root: "docs", path: "nope" });
    const { jobs } = store(failing(error));
    const job = jobs.submit(call("file:fail"));
    await expect(job.result).rejects.toBe(error);
    const { error: text, errorCode, errorData, status } = job.record();
    expect({ text, errorCode, errorData, status }).toEqual({
      text: "Not found: docs:nope",
      errorCode: "NOT_FOUND",
      errorData: { root: "docs", path: "nope" },
      status: "FAILED",
    });
    expect(job.record()).not.toHaveProperty("output");
  });

  test("of a failure without data has no errorData", async () => {
    const { jobs } = store(failing(timedOut(30)));
    const record = await jobs.submit(call("file:fail")).settled(1000);
    expect(record).toMatchObject({ status: "FAILED", errorCode: "TIMEOUT" });
    expect(record).not.toHaveProperty("errorData");
  });

  const refuse = (): never => {
    throw new Error("no look");
  };
  const proxy = new Proxy({}, { getPrototypeOf: refuse, get: refuse, has: refuse, ownKeys: refuse });
  test.each<[string, unknown]>([
    ["without data", Object.assign(notFound({ root: "docs", path: "a" }), { data: undefined })],
    ["with data that cannot be looked at", Object.assign(notFound({ root: "docs", path: "a" }), { data: proxy })],
    ["that is a proxy", proxy],
    ["that is a text", "text"],
    ["that is nothing", undefined],
    ["that is null", null],
    ["that is a number", 1n],
  ])("of a failure %s is FAILED, and nothing runs on", async (_name, thrown) => {
    const { jobs } = store(failing(thrown));
    const job = jobs.submit(call("file:fail"));
    expect(await job.settled(10_000)).toMatchObject({ status: "FAILED", errorCode: "INTERNAL" });
    await expect(job.result).rejects.toMatchObject({ code: "INTERNAL" });
    await expect(jobs.run(call("file:fail")).result).rejects.toMatchObject({ code: "INTERNAL" });
    expect(jobs.running).toBe(0);
  });

  test("of an output that cannot be looked at is FAILED", async () => {
    const output = new Proxy({}, { get: (_target, key) => (key === "then" ? undefined : refuse()) });
    const { jobs } = store({ read: () => output });
    expect(await jobs.submit(call("file:read")).settled(10_000)).toMatchObject({ status: "FAILED" });
    expect(jobs.running).toBe(0);
  });

  test("of a cancelled job names the job", async () => {
    const { jobs } = store(failing(aborted()));
    const job = jobs.submit(call("file:fail"));
    await expect(job.settled(1000)).resolves.toMatchObject({
      status: "CANCELLED",
      error: `Job cancelled: ${job.id}`,
      errorCode: "ABORTED",
    });
    await expect(job.result).rejects.toMatchObject({ code: "ABORTED" });
  });

  test("of an unexpected failure shows no detail, and the failure is logged under what is shown", async () => {
    const cause = new TypeError("/home/alice/secret");
    const { jobs, logged } = store(failing(cause));
    const job = jobs.submit(call("file:fail"));
    await expect(job.result).rejects.toBeInstanceOf(FileAdapterError);
    expect(job.record()).toMatchObject({ error: `Internal error (${job.id})`, errorCode: "INTERNAL" });
    expect(logged).toEqual([[cause, job.id]]);
  });

  test("an adapter that throws instead of rejecting fails its job all the same", async () => {
    const { jobs, adapter } = store({ read: () => 1 });
    adapter.invoke = () => {
      throw notFound({ root: "r", path: "p" });
    };
    await expect(jobs.submit(call("file:read")).settled(1000)).resolves.toMatchObject({ errorCode: "NOT_FOUND" });
  });

  test.each(["content", "value", "bytes"])("hides %s, also when it is null", async (field) => {
    const { jobs, adapter } = store({ write: () => ({}) });
    const input = { root: "r", path: "p", [field]: null };
    const record = await jobs.submit(call("file:write", input)).settled(1000);
    expect(record.input).toEqual({ root: "r", path: "p", [field]: "HIDDEN" });
    expect(adapter.calls[0]?.input).toBe(input);
    expect(input[field]).toBeNull();
  });

  test("hides nothing of an operation without content", async () => {
    const { jobs } = store({ read: () => ({}) });
    const record = await jobs.submit(call("file:read", { content: "x" })).settled(1000);
    expect(record.input).toEqual({ content: "x" });
  });

  test("does not change when the caller changes its input afterwards", async () => {
    const { jobs } = store({ read: () => ({}) });
    const input = { root: "docs" };
    const job = jobs.submit(call("file:read", input));
    input.root = "other";
    expect(job.record().input).toEqual({ root: "docs" });
  });

  test.each([undefined, null, "text", [1]])("keeps an input that is no object: %j", async (input) => {
    const { jobs } = store({ write: () => ({}) });
    expect((await jobs.submit({ ...call("file:write"), input }).settled(1000)).input).toEqual(input);
  });

  test("is not made for a job that is only run", async () => {
    const { jobs } = store({
      read: () => "text",
      write: () => {
        throw notFound({ root: "r", path: "p" });
      },
    });
    const done = jobs.run(call("file:read", {}));
    const failed = jobs.run(call("file:write", {}));
    await expect(done.result).resolves.toBe("text");
    await expect(failed.result).rejects.toMatchObject({ code: "NOT_FOUND" });
    expect([jobs.record(done.id), jobs.record(failed.id), jobs.size]).toEqual([undefined, undefined, 0]);
  });
});

describe("a job", () => {
  test("gives the adapter the caller's context and its own id", () => {
    const { jobs, adapter } = store({ read: () => 1 });
    const job = jobs.submit(call("file:read", {}, { context: { callerDID: "did:x", callCaps: [] } }));
    const context = {
      callerDID: "did:x",
      callCaps: [],
      jobId: job.id,
      signal: expect.anything(),
      cancellation: expect.anything(),
    };
    expect(adapter.calls[0]?.context).toEqual(context);
    expect(adapter.calls[0]?.context?.signal?.aborted).toBe(false);
  });

  test("gives the adapter what a surface adds to the context", () => {
    const { jobs, adapter } = store({ read: () => 1 });
    const more = {
      ...{ surface: "mcp", session: "s1", tool: "everruns:read", links: "refuse", takesBytes: true, ucans: ["u"] },
      ...{ within: [["docs"]], terms: { details: true }, isInternal: true, approval: "a" },
    };
    jobs.submit(call("file:read", {}, { context: { callerDID: "did:x", ...more } as Submission["context"] }));
    expect(adapter.calls[0]?.context).toMatchObject({ callerDID: "did:x", ...more });
  });

  test("of an operation nobody has is refused, and there is no record", () => {
    const { jobs } = store({ read: () => 1 });
    expect(() => jobs.submit(call("file:nope"))).toThrow(expect.objectContaining({ code: "UNKNOWN_OPERATION" }));
    expect(jobs.size).toBe(0);
  });

  test("has an id of its time, a counter and random bytes, and ids of one millisecond sort in order", () => {
    const { jobs, clock } = store({ read: () => 1 }, { max: 800 });
    const ids = Array.from({ length: 600 }, () => jobs.submit(call("file:read")).id);
    for (const id of ids) {
      expect(id).toMatch(/^[0-9a-f]{32}$/);
      expect(Number.parseInt(id.slice(0, 12), 16)).toBe(clock.now);
    }
    expect(ids.map((id) => Number.parseInt(id.slice(12, 16), 16))).toEqual(ids.map((_, i) => i));
    expect([...ids].sort()).toEqual(ids);
    expect(new Set(ids.map((id) => id.slice(16))).size).toBe(ids.length);
  });

  test("still running when the wait ends is shown as it stands, and goes on", async () => {
    const slow = gate();
    const { jobs } = store({ slow: () => slow.promise });
    const job = jobs.submit(call("file:slow"));
    await expect(job.settled(1)).resolves.toMatchObject({ status: "STARTED" });
    slow.open("late");
    await expect(job.settled(1000)).resolves.toMatchObject({ status: "COMPLETE", output: "late" });
  });

  test("may be waited for longer than a timer can", async () => {
    const slow = gate();
    const { jobs } = store({ slow: () => slow.promise });
    const waiting = jobs.submit(call("file:slow")).settled(Number.MAX_SAFE_INTEGER);
    setTimeout(() => slow.open("done"), 20);
    await expect(waiting).resolves.toMatchObject({ status: "COMPLETE" });
  });

  test("that fails with nobody looking at the result is no unhandled rejection", async () => {
    const unhandled = jest.fn();
    process.on("unhandledRejection", unhandled);
    try {
      const { jobs } = store({ fail: () => Promise.reject(new Error("boom")) });
      await jobs.submit(call("file:fail")).settled(1000);
      jobs.submit(call("file:fail"));
      await new Promise((resolve) => setImmediate(resolve));
      await new Promise((resolve) => setImmediate(resolve));
      expect(unhandled).not.toHaveBeenCalled();
    } finally {
      process.removeListener("unhandledRejection", unhandled);
    }
  });
});
