import { describe, expect, jest, test } from "@jest/globals";
import type { JobRecord, Submission } from "../../src/core/job.js";
import type { Jobs } from "../../src/venue/jobs.js";
import { gate } from "./fake-adapter.js";
import { call, store } from "./job-store.js";

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
