import { getEventListeners } from "node:events";
import { describe, expect, jest, test } from "@jest/globals";
import { CallScope, cancelledBy } from "../../../src/core/call/scope.js";
import { systemClock } from "../../../src/core/clock.js";
import { aborted } from "../../../src/core/errors/texts.js";
import type { SurfaceContext } from "../../../src/core/ports/adapter.js";
import type { JobRecord, Submission } from "../../../src/core/ports/job.js";
import type { Jobs } from "../../../src/venue/jobs/jobs.js";
import type { JobKeeper } from "../../../src/venue/jobs/keeper.js";
import { JobRecords } from "../../../src/venue/jobs/records.js";
import { gate } from "../catalogue/fake-adapter.js";
import { ALICE, call, callBy, OPERATOR, recordOf, store } from "./job-store.js";

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

const known = (jobs: Jobs, ids: readonly string[]): boolean[] => ids.map((id) => recordOf(jobs, id) !== undefined);

describe("records are dropped", () => {
  test("once they are older than ttlMs, counted from their end", async () => {
    const slow = gate();
    const { jobs, clock } = store({ slow: () => slow.promise }, { ttlMs: 1000 });
    const job = jobs.submit(call("file:slow"));
    clock.now += 5000;
    expect(recordOf(jobs, job.id)?.status).toBe("STARTED");
    slow.open(1);
    await job.result;
    clock.now += 999;
    expect(recordOf(jobs, job.id)?.status).toBe("COMPLETE");
    clock.now += 1;
    expect(recordOf(jobs, job.id)).toBeUndefined();
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
    expect(recordOf(jobs, job.id)).toBeUndefined();
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
    expect(recordOf(jobs, job.id)?.status).toBe("COMPLETE");
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

/** Runs until it is stopped. */
const stoppable = (_input: unknown, { signal }: SurfaceContext): Promise<unknown> =>
  new Promise((_resolve, reject) => signal?.addEventListener("abort", () => reject(aborted())));

describe("cancelling", () => {
  test("stops the job, and shows how it ended", async () => {
    const { jobs } = store({ slow: stoppable });
    const job = jobs.submit(call("file:slow"));
    const cancelled = {
      status: "CANCELLED",
      error: `Job cancelled: ${job.id}`,
      errorCode: "ABORTED",
    };
    expect(await jobs.cancel(job.id, ALICE)).toMatchObject({ found: cancelled });
    expect(recordOf(jobs, job.id)).toMatchObject(cancelled);
    await expect(job.result).rejects.toMatchObject({ code: "ABORTED" });
    expect(jobs.running).toBe(0);
  });

  test("leaves a job alone that has ended", async () => {
    const { jobs } = store({ read: () => "text" });
    const job = jobs.submit(call("file:read"));
    const record = await job.settled(1000);
    expect(await jobs.cancel(job.id, ALICE)).toEqual({ found: record });
    expect(recordOf(jobs, job.id)).toBe(record);
  });

  test.each([
    ["stops what has not been committed", false, { status: "CANCELLED", errorCode: "ABORTED" }],
    ["does not undo what has been committed", true, { status: "COMPLETE", output: { written: 3 } }],
  ])("%s", async (_name, commits, found) => {
    const write = gate();
    const { jobs } = store({
      slow: async (_input, { signal }) => {
        const scope = new CallScope({ clock: systemClock, timeoutMs: 60_000, cancellation: cancelledBy(signal) });
        if (commits) scope.commit();
        await scope.race(write.promise);
        return { written: 3 };
      },
    });
    const job = jobs.submit(call("file:slow"));
    const cancelling = jobs.cancel(job.id, ALICE);
    write.open(1);
    expect(await cancelling).toMatchObject({ found });
  });

  test("does not wait for ever for a job that does not stop", async () => {
    const write = gate();
    const { jobs } = store({ slow: () => write.promise }, { inlineWaitMs: 5 });
    const job = jobs.submit(call("file:slow"));
    expect(await jobs.cancel(job.id, ALICE)).toMatchObject({ found: { status: "STARTED" } });
    write.open("late");
    await expect(job.result).resolves.toBe("late");
    expect(recordOf(jobs, job.id)).toMatchObject({ status: "COMPLETE" });
  });

  test("by the submitter's signal works too, before and during the run", async () => {
    const { jobs, adapter } = store({ slow: stoppable, read: (_input, { signal }) => signal?.aborted });
    const submitter = new AbortController();
    const job = jobs.submit(call("file:slow", {}, { context: { signal: submitter.signal } }));
    expect(getEventListeners(submitter.signal, "abort")).toHaveLength(1);
    submitter.abort();
    await expect(job.settled(1000)).resolves.toMatchObject({ status: "CANCELLED" });
    const late = jobs.submit(call("file:read", {}, { context: { signal: submitter.signal } }));
    await expect(late.result).resolves.toBe(true);
    expect(adapter.calls[0]?.context?.signal).not.toBe(submitter.signal);
  });

  test("leaves nothing on the submitter's signal once a job has ended", async () => {
    const { jobs } = store({ read: () => 1 });
    const { signal } = new AbortController();
    await jobs.submit(call("file:read", {}, { context: { signal } })).result;
    await jobs.run(call("file:read", {}, { context: { signal } })).result;
    expect(getEventListeners(signal, "abort")).toEqual([]);
  });
});

describe("deleting", () => {
  test("stops a job that runs, and forgets it at once", async () => {
    const { jobs } = store({ slow: stoppable });
    const job = jobs.submit(call("file:slow"));
    expect(jobs.delete(job.id, ALICE)).toMatchObject({ found: { status: "STARTED" } });
    expect(recordOf(jobs, job.id)).toBeUndefined();
    await expect(job.settled(1000)).resolves.toMatchObject({ status: "CANCELLED" });
    expect([jobs.size, jobs.users, jobs.bytes, jobs.running]).toEqual([0, 0, 0, 0]);
  });

  test("tells those who watch how the job ended", async () => {
    const { jobs } = store({ slow: stoppable });
    const job = jobs.submit(call("file:slow"));
    const seen: unknown[] = [];
    jobs.watch(job.id, ALICE, (record) => seen.push(record?.status));
    jobs.delete(job.id, ALICE);
    await job.settled(1000);
    expect(seen).toEqual(["CANCELLED"]);
  });

  test("forgets a job that has ended, and what it held", async () => {
    const { jobs } = store({ read: () => "x".repeat(5000) });
    const job = jobs.submit(call("file:read"));
    const record = await job.settled(1000);
    expect(jobs.bytes).toBeGreaterThan(5000);
    expect(jobs.delete(job.id, ALICE)).toEqual({ found: record });
    expect(jobs.delete(job.id, ALICE)).toEqual({ refused: "unknown" });
    expect([jobs.size, jobs.users, jobs.bytes]).toEqual([0, 0, 0]);
  });
});

describe("closing", () => {
  const LONG = 60_000;

  test("lets jobs end that run, then forgets all", async () => {
    const slow = gate();
    const { jobs, adapter } = store({ slow: () => slow.promise });
    const job = jobs.submit(call("file:slow"));
    const seen: unknown[] = [];
    jobs.watch(job.id, ALICE, (record) => seen.push(record?.status));
    const closing = jobs.close(LONG);
    expect(recordOf(jobs, job.id)).toMatchObject({ status: "STARTED" });
    slow.open(1);
    await closing;
    expect(adapter.calls[0]?.context?.signal?.aborted).toBe(false);
    expect(job.record()).toMatchObject({ status: "COMPLETE" });
    expect(seen).toEqual(["COMPLETE"]);
    expect([jobs.size, jobs.users, jobs.bytes, jobs.running]).toEqual([0, 0, 0, 0]);
  });

  test("cancels what has not ended after a while, recorded or not", async () => {
    const { jobs } = store({ slow: stoppable });
    const job = jobs.submit(call("file:slow"));
    const { result } = jobs.run(call("file:slow"));
    const outcome = expect(result).rejects.toMatchObject({ code: "ABORTED" });
    const seen: unknown[] = [];
    jobs.watch(job.id, ALICE, (record) => seen.push(record?.status));
    await jobs.close(5);
    await outcome;
    expect(job.record()).toMatchObject({ status: "CANCELLED" });
    expect(seen).toEqual(["CANCELLED"]);
  });

  test("does not wait for ever: those who wait for a job that does not stop are let go, deleted or not", async () => {
    const write = gate();
    const { jobs } = store({ slow: () => write.promise });
    const seen: unknown[] = [];
    const [kept, deleted] = [1, 2].map(() => {
      const job = jobs.submit(call("file:slow"));
      jobs.watch(job.id, ALICE, (record) => seen.push(record));
      return job;
    });
    jobs.delete(deleted?.id ?? "", ALICE);
    const waiting = kept?.settled(LONG);
    await jobs.close(5);
    expect(seen).toEqual([undefined, undefined]);
    await expect(waiting).resolves.toMatchObject({ status: "STARTED" });
    write.open("late");
    await expect(kept?.result).resolves.toBe("late");
    expect([seen.length, jobs.size, jobs.running]).toEqual([2, 0, 0]);
  });

  test("takes no more jobs, and is done once", async () => {
    const { jobs, adapter } = store({ read: () => 1 });
    const closing = jobs.close(LONG);
    expect(jobs.close(LONG)).toBe(closing);
    await closing;
    for (const start of [() => jobs.submit(call("file:read")), () => jobs.run(call("file:read"))]) {
      expect(start).toThrow(expect.objectContaining({ message: "The venue is closing", isClosing: true }));
    }
    expect(adapter.calls).toEqual([]);
  });
});

// Jobs of a venue of several instances: what is kept for the others, and when.
class Keeper implements JobKeeper {
  readonly instance = 0x0a0b;
  readonly did: string[] = [];
  /** What an end waits for. */
  written: Promise<void> = Promise.resolve();

  begin = async ({ id }: { id: string }): Promise<void> => void this.did.push(`begin ${id}`);
  end = async ({ id }: { id: string }, { status }: JobRecord): Promise<void> => {
    this.did.push(`end ${id} ${status}`);
    await this.written;
  };
  remove = async ({ id }: { id: string }): Promise<void> => void this.did.push(`remove ${id}`);
}

function waiting(keeper: Keeper) {
  let end = (_output: unknown): void => {};
  const output = new Promise((resolve) => {
    end = resolve;
  });
  const { jobs } = store({ wait: () => output, read: () => ({ size: 1 }) }, { keeper });
  return { jobs, end };
}

test("ids carry the number of the instance in place of a counter", () => {
  const { jobs } = waiting(new Keeper());
  const ids = [1, 2].map(() => jobs.submit(call("file:read")).id);
  expect(ids.map((id) => id.slice(12, 16))).toEqual(["0a0b", "0a0b"]);
  expect(new Set(ids).size).toBe(2);
});

test("a call that ends within its reply is kept for nobody", async () => {
  const keeper = new Keeper();
  const { jobs } = waiting(keeper);
  const job = jobs.submit(call("file:read"));
  expect((await job.settled(1000)).status).toBe("COMPLETE");
  await jobs.delete(job.id, ALICE);
  expect(keeper.did).toEqual([]);
});

test("one that is handed out is kept before its id is told, and its end before it shows", async () => {
  const keeper = new Keeper();
  const { jobs, end } = waiting(keeper);
  const job = jobs.submit(call("file:wait"));
  expect((await job.settled(1)).status).toBe("STARTED");
  expect(keeper.did).toEqual([`begin ${job.id}`]);
  let written = (): void => {};
  keeper.written = new Promise((resolve) => {
    written = resolve;
  });
  end({ size: 7 });
  await new Promise(setImmediate);
  expect(keeper.did[1]).toBe(`end ${job.id} COMPLETE`);
  expect(jobs.get(job.id, ALICE)).toMatchObject({ found: { status: "STARTED" } });
  written();
  await job.result;
  expect(jobs.get(job.id, ALICE)).toMatchObject({ found: { status: "COMPLETE", output: { size: 7 } } });
  await jobs.delete(job.id, ALICE);
  expect(keeper.did.slice(2)).toEqual([`remove ${job.id}`]);
});

test("one that is forgotten while it runs does not come back by its end", async () => {
  const keeper = new Keeper();
  const { jobs, end } = waiting(keeper);
  const job = jobs.submit(call("file:wait"));
  await job.settled(1);
  await jobs.delete(job.id, ALICE);
  end({});
  await job.result;
  expect(keeper.did).toEqual([`begin ${job.id}`, `remove ${job.id}`]);
});

test("a private one is dropped everywhere once it was delivered", async () => {
  const keeper = new Keeper();
  const { jobs, end } = waiting(keeper);
  const job = jobs.submit(call("file:wait", {}, { private: true }));
  await job.settled(1);
  end({});
  await job.result;
  expect(jobs.get(job.id, ALICE)).toMatchObject({ found: { status: "COMPLETE" } });
  expect(jobs.get(job.id, ALICE)).toEqual({ refused: "unknown" });
  expect(keeper.did.at(-1)).toBe(`remove ${job.id}`);
});

test("one that others hold for lost stays lost, and stops", async () => {
  const keeper = new Keeper();
  const { jobs, end } = waiting(keeper);
  const job = jobs.submit(call("file:wait"));
  const lost = { ...(await job.settled(1)), status: "FAILED", errorCode: "INSTANCE_LOST", updated: 5 } as const;
  const heard: unknown[] = [];
  jobs.watch(job.id, ALICE, (record) => heard.push(record?.errorCode));
  jobs.lose(job, lost);
  expect(heard).toEqual(["INSTANCE_LOST"]);
  end({ size: 7 });
  await job.result;
  expect(jobs.get(job.id, ALICE)).toMatchObject({
    found: { status: "FAILED", errorCode: "INSTANCE_LOST", updated: 5 },
  });
  expect([keeper.did, jobs.running]).toEqual([[`begin ${job.id}`], 0]);
});
