import { describe, expect, jest, test } from "@jest/globals";
import type { Clock } from "../../src/core/clock.js";
import { FileAdapterError } from "../../src/core/errors.js";
import type { JobRecord, Submission } from "../../src/core/job.js";
import { aborted, notFound, timedOut } from "../../src/core/texts.js";
import { createCatalogue } from "../../src/venue/catalogue.js";
import { createJobs, type JobLimits, type Jobs } from "../../src/venue/jobs.js";
import { type FakeAdapter, type FakeOperation, fakeAdapter, gate } from "./fake-adapter.js";

const CALLER = "did:key:zAlice";

class TestClock implements Clock {
  now = 1_790_000_000_000;
  nowMs = (): number => this.now;
  monotonicMs = (): number => this.now - 1_000_000;
}

interface Store {
  readonly jobs: Jobs;
  readonly clock: TestClock;
  readonly adapter: FakeAdapter;
  readonly logged: unknown[];
}

function store(operations: Record<string, FakeOperation>, limits: Partial<JobLimits> = {}): Store {
  const adapter = fakeAdapter(operations);
  const clock = new TestClock();
  const logged: unknown[] = [];
  const jobs = createJobs({
    catalogue: createCatalogue({ did: "did:key:zVenue", adapters: [adapter] }),
    clock,
    limits: { max: 100, maxBytes: 1_000_000, ttlMs: 1000, ...limits },
    logInternal: (error, requestId) => logged.push([error, requestId]),
  });
  return { jobs, clock, adapter, logged };
}

const call = (operation: string, input: unknown = {}, more: Partial<Submission> = {}): Submission => ({
  operation,
  input,
  caller: CALLER,
  context: { callerDID: CALLER },
  ...more,
});

/** Runs jobs one after the other and returns their ids. */
async function run(jobs: Jobs, count: number, submission: Submission): Promise<string[]> {
  const ids: string[] = [];
  for (let i = 0; i < count; i += 1) {
    const job = jobs.submit(submission);
    await job.settled(1000);
    ids.push(job.id);
  }
  return ids;
}

const known = (jobs: Jobs, ids: readonly string[]): boolean[] => ids.map((id) => jobs.get(id) !== undefined);

describe("a record", () => {
  test("of a running job is STARTED and has neither output nor error", () => {
    const { jobs, clock } = store({ slow: () => gate().promise });
    const job = jobs.submit(call("file:slow", { root: "docs" }));
    expect(jobs.get(job.id)).toEqual({
      id: `0x${job.id}`,
      name: "Fake slow",
      operation: "v/ops/file/slow",
      status: "STARTED",
      created: clock.now,
      updated: clock.now,
      caller: CALLER,
      input: { root: "docs" },
    });
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
    expect(jobs.get(job.id)).toEqual(job.record());
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

  test("keeps no output with dropOutput, which the result still gives", async () => {
    const { jobs } = store({ read: () => "text" });
    const job = jobs.submit(call("file:read", {}, { dropOutput: true }));
    await expect(job.result).resolves.toBe("text");
    expect(job.record()).toMatchObject({ status: "COMPLETE" });
    expect(job.record()).not.toHaveProperty("output");
  });
});

describe("a job", () => {
  test("gives the adapter the caller's context and its own id", () => {
    const { jobs, adapter } = store({ read: () => 1 });
    const job = jobs.submit(call("file:read", {}, { context: { callerDID: "did:x", callCaps: [] } }));
    expect(adapter.calls[0]?.context).toEqual({ callerDID: "did:x", callCaps: [], jobId: job.id });
  });

  test("of an operation nobody has is refused, and there is no record", () => {
    const { jobs } = store({ read: () => 1 });
    expect(() => jobs.submit(call("file:nope"))).toThrow(expect.objectContaining({ code: "UNKNOWN_OPERATION" }));
    expect(jobs.size).toBe(0);
  });

  test("has an id of its time, a counter and random bytes, and ids of one millisecond sort in order", () => {
    const { jobs, clock } = store({ read: () => 1 });
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

describe("records are dropped", () => {
  test("once they are older than ttlMs, counted from their end", async () => {
    const slow = gate();
    const { jobs, clock } = store({ slow: () => slow.promise }, { ttlMs: 1000 });
    const job = jobs.submit(call("file:slow"));
    clock.now += 5000;
    expect(jobs.get(job.id)?.status).toBe("STARTED");
    slow.open(1);
    await job.result;
    clock.now += 999;
    expect(jobs.get(job.id)?.status).toBe("COMPLETE");
    clock.now += 1;
    expect(jobs.get(job.id)).toBeUndefined();
  });

  test("by an idle store too", async () => {
    jest.useFakeTimers();
    try {
      const { jobs, clock } = store({ read: () => 1 }, { ttlMs: 1000 });
      await jobs.submit(call("file:read")).result;
      clock.now += 600;
      await jobs.submit(call("file:read")).result;
      clock.now += 401;
      await jest.advanceTimersByTimeAsync(1001);
      expect(jobs.size).toBe(1);
      clock.now += 600;
      await jest.advanceTimersByTimeAsync(601);
      expect(jobs.size).toBe(0);
    } finally {
      jest.useRealTimers();
    }
  });

  test("oldest first when there are more than max", async () => {
    const { jobs } = store({ read: () => 1 }, { max: 3 });
    const ids = await run(jobs, 5, call("file:read"));
    expect(known(jobs, ids)).toEqual([false, false, true, true, true]);
  });

  test("oldest first when they hold more than maxBytes", async () => {
    const { jobs } = store({ read: () => "x".repeat(30_000) }, { maxBytes: 100_000 });
    const ids = await run(jobs, 5, call("file:read"));
    expect(known(jobs, ids)).toEqual([false, false, true, true, true]);
  });

  test("alone when one holds more than maxBytes by itself", async () => {
    const { jobs } = store({ read: () => 1, big: () => ({ content: "x".repeat(200_000) }) }, { maxBytes: 100_000 });
    const [small] = await run(jobs, 1, call("file:read"));
    const job = jobs.submit(call("file:big"));
    await expect(job.settled(1000)).resolves.toMatchObject({ status: "COMPLETE", output: expect.anything() });
    expect(known(jobs, [small ?? "", job.id])).toEqual([true, false]);
  });

  test("never while they run, however many there are", async () => {
    const slow = gate();
    const { jobs } = store({ slow: () => slow.promise, read: () => 1 }, { max: 2 });
    const running = [1, 2, 3].map(() => jobs.submit(call("file:slow")));
    const [finished] = await run(jobs, 1, call("file:read"));
    const ids = running.map((job) => job.id);
    expect(known(jobs, [...ids, finished ?? ""])).toEqual([true, true, true, false]);
    slow.open(1);
    await Promise.all(running.map((job) => job.result));
    expect(known(jobs, ids)).toEqual([false, true, true]);
  });

  test("all of them when the store is closed, and a job that ends later is not kept", async () => {
    const slow = gate();
    const { jobs } = store({ slow: () => slow.promise });
    const job = jobs.submit(call("file:slow"));
    jobs.close();
    slow.open("late");
    await expect(job.result).resolves.toBe("late");
    expect(jobs.size).toBe(0);
  });
});

describe("a private job", () => {
  const privately = (operation: string) => call(operation, {}, { private: true });

  test("is forgotten once its end has been delivered by the wait", async () => {
    const { jobs } = store({ read: () => 1 });
    const job = jobs.submit(privately("file:read"));
    await expect(job.settled(1000)).resolves.toMatchObject({ status: "COMPLETE" });
    expect(jobs.get(job.id)).toBeUndefined();
    expect(jobs.size).toBe(0);
  });

  test("can be looked up while it runs, and after its end until that has been delivered", async () => {
    const slow = gate();
    const { jobs } = store({ slow: () => slow.promise });
    const job = jobs.submit(privately("file:slow"));
    await job.settled(1);
    jobs.delivered(job.id);
    expect(jobs.get(job.id)?.status).toBe("STARTED");
    slow.open(1);
    await job.result;
    expect(jobs.get(job.id)?.status).toBe("COMPLETE");
    expect(jobs.get(job.id)?.status).toBe("COMPLETE");
    jobs.delivered(job.id);
    expect(jobs.get(job.id)).toBeUndefined();
  });

  test("differs from any other, which delivery leaves alone", async () => {
    const { jobs } = store({ read: () => 1 });
    const job = jobs.submit(call("file:read"));
    const record: JobRecord = await job.settled(1000);
    jobs.delivered(job.id);
    expect(jobs.get(job.id)).toEqual(record);
  });
});
