import { describe, expect, jest, test } from "@jest/globals";
import type { Submission } from "../../../src/core/ports/job.js";
import type { Jobs } from "../../../src/venue/jobs/jobs.js";
import { JobRecords } from "../../../src/venue/jobs/records.js";
import { gate } from "../catalogue/fake-adapter.js";
import { ALICE, call, callBy, OPERATOR, store } from "./job-store.js";

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

const known = (jobs: Jobs, ids: readonly string[]): boolean[] => ids.map((id) => jobs.record(id) !== undefined);

describe("records are dropped", () => {
  test("once they are older than ttlMs, counted from their end", async () => {
    const slow = gate();
    const { jobs, clock } = store({ slow: () => slow.promise }, { ttlMs: 1000 });
    const job = jobs.submit(call("file:slow"));
    clock.now += 5000;
    expect(jobs.record(job.id)?.status).toBe("STARTED");
    slow.open(1);
    await job.result;
    clock.now += 999;
    expect(jobs.record(job.id)?.status).toBe("COMPLETE");
    clock.now += 1;
    expect(jobs.record(job.id)).toBeUndefined();
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

  test("with what the iterator over them would hold of those that were deleted behind an older one", async () => {
    const { jobs } = store({ read: () => 1 }, { max: 1000, maxBytes: 10_000_000 });
    await run(jobs, 1, call("file:read"));
    const iterators = [jest.spyOn(Map.prototype, "keys"), jest.spyOn(Map.prototype, "entries")];
    for (const id of await run(jobs, 600, call("file:read"))) jobs.delete(id, OPERATOR);
    const made = iterators.reduce((count, { mock }) => count + mock.calls.length, 0);
    for (const iterator of iterators) iterator.mockRestore();
    expect(jobs.size).toBe(1);
    expect(made).toBeGreaterThan(2);
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
});

describe("memory does not grow", () => {
  test("past max and maxBytes with 10,000 jobs of many callers, watched and listed", async () => {
    const { jobs } = store({ read: () => "x".repeat(1000) }, { max: 50, maxBytes: 100_000 });
    let ends = 0;
    for (let i = 0; i < 10_000; i += 1) {
      const caller = { ...ALICE, did: `did:key:z${i % 3000}` };
      const job = jobs.submit(callBy(caller, "file:read"));
      const watch = jobs.watch(job.id, caller, () => {
        ends += 1;
      });
      await job.settled(1000);
      if ("found" in watch) watch.stop();
      expect(jobs.list({ offset: 0, limit: 10 }, caller).items[0]).toBe(job.id);
    }
    expect(ends).toBe(10_000);
    expect(jobs.size).toBe(50);
    expect(jobs.users).toBe(50);
    expect(jobs.bytes).toBeLessThanOrEqual(100_000);
    expect(jobs.bytes).toBeGreaterThan(50_000);
    expect(jobs.running).toBe(0);
  });

  test("by jobs that are forgotten before their turn, private or deleted", async () => {
    const { jobs } = store({ read: () => 1 });
    const [kept = ""] = await run(jobs, 1, call("file:read"));
    for (let i = 0; i < 2000; i += 1) {
      const [id = ""] = await run(jobs, 1, call("file:read", {}, { private: i % 2 === 0 }));
      jobs.delete(id, ALICE);
    }
    expect([jobs.size, jobs.users]).toEqual([1, 1]);
    expect(jobs.bytes).toBeLessThan(2000);
    expect(known(jobs, [kept])).toEqual([true]);
    const more = await run(jobs, 120, call("file:read"));
    expect(known(jobs, [kept, more[19] ?? "", more[20] ?? ""])).toEqual([false, false, true]);
  });
});

describe("a private job", () => {
  const privately = (operation: string) => call(operation, {}, { private: true });

  test("is forgotten once its end has been delivered by the wait", async () => {
    const { jobs } = store({ read: () => 1 });
    const job = jobs.submit(privately("file:read"));
    await expect(job.settled(1000)).resolves.toMatchObject({ status: "COMPLETE" });
    expect(jobs.record(job.id)).toBeUndefined();
    expect(jobs.size).toBe(0);
  });

  test("is not kept for an instant when its end is delivered by the wait", async () => {
    const keep = jest.spyOn(JobRecords.prototype, "keep");
    const slow = gate();
    const { jobs } = store({ read: () => 1, slow: () => slow.promise });
    await jobs.submit(privately("file:read")).settled(1000);
    const waiting = jobs.submit(privately("file:slow")).settled(60_000);
    slow.open(1);
    await expect(waiting).resolves.toMatchObject({ status: "COMPLETE" });
    expect([keep.mock.calls.length, jobs.size, jobs.bytes]).toEqual([0, 0, 0]);
    await jobs.submit(call("file:read")).settled(1000);
    expect(keep).toHaveBeenCalledTimes(1);
    keep.mockRestore();
  });

  test("is kept when its caller goes away in the instant of its end", async () => {
    const slow = gate();
    const { jobs } = store({ slow: () => slow.promise });
    const job = jobs.submit(privately("file:slow"));
    const gone = new AbortController();
    const waiting = job.settled(60_000, gone.signal);
    jobs.watch(job.id, OPERATOR, () => gone.abort());
    slow.open(1);
    await waiting;
    expect(jobs.bytes).toBeGreaterThan(0);
    expect(jobs.get(job.id, ALICE)).toMatchObject({ found: { status: "COMPLETE" } });
    expect([jobs.size, jobs.bytes]).toEqual([0, 0]);
  });

  test("can be looked up while it runs, and after its end until its caller has been shown it", async () => {
    const slow = gate();
    const { jobs } = store({ slow: () => slow.promise });
    const job = jobs.submit(privately("file:slow"));
    await job.settled(1);
    expect(jobs.get(job.id, ALICE)).toMatchObject({ found: { status: "STARTED" } });
    slow.open(1);
    await job.result;
    expect(jobs.record(job.id)?.status).toBe("COMPLETE");
    expect(jobs.find(job.id, ALICE)).toMatchObject({ found: { status: "COMPLETE" } });
    expect(jobs.get(job.id, OPERATOR)).toMatchObject({ found: { status: "COMPLETE" } });
    expect(jobs.get(job.id, ALICE)).toMatchObject({ found: { status: "COMPLETE" } });
    expect(jobs.get(job.id, ALICE)).toEqual({ refused: "unknown" });
    expect([jobs.size, jobs.bytes]).toEqual([0, 0]);
  });

  test("is not forgotten by a wait whose caller has gone away", async () => {
    const slow = gate();
    const { jobs } = store({ slow: () => slow.promise });
    const job = jobs.submit(privately("file:slow"));
    const gone = new AbortController();
    const waiting = job.settled(60_000, gone.signal);
    gone.abort();
    await expect(waiting).resolves.toMatchObject({ status: "STARTED" });
    slow.open(1);
    await job.result;
    await job.settled(1000, gone.signal);
    expect(jobs.get(job.id, ALICE)).toMatchObject({ found: { status: "COMPLETE" } });
  });

  test.each<[string, (jobs: Jobs, id: string) => unknown]>([
    ["cancelled", (jobs, id) => jobs.cancel(id, ALICE)],
    ["watched", (jobs, id) => jobs.watch(id, ALICE, () => {})],
  ])("that has ended is forgotten when it is %s", async (_how, show) => {
    const { jobs } = store({ read: () => 1 });
    const job = jobs.submit(privately("file:read"));
    await job.result;
    expect(await show(jobs, job.id)).toMatchObject({ found: { status: "COMPLETE" } });
    expect(jobs.size).toBe(0);
  });

  test("is forgotten when one who watches it hears of its end", async () => {
    const { jobs } = store({ read: () => 1 });
    const job = jobs.submit(privately("file:read"));
    const seen: unknown[] = [];
    jobs.watch(job.id, ALICE, (record) => seen.push(record));
    await job.result;
    expect(seen).toEqual([expect.objectContaining({ status: "COMPLETE" })]);
    expect(jobs.size).toBe(0);
  });

  test("is never listed", async () => {
    const slow = gate();
    const { jobs } = store({ slow: () => slow.promise });
    jobs.submit(privately("file:slow"));
    const other = jobs.submit(call("file:slow"));
    expect(jobs.list({ offset: 0, limit: 10 }, ALICE)).toMatchObject({ items: [other.id], total: 1 });
  });

  test("differs from any other, which delivery leaves alone", async () => {
    const { jobs } = store({ read: () => 1 });
    const job = jobs.submit(call("file:read"));
    const record = await job.settled(1000);
    expect(jobs.get(job.id, ALICE)).toEqual({ found: record });
    expect(jobs.get(job.id, ALICE)).toEqual({ found: record });
  });
});
