import { getEventListeners } from "node:events";
import { describe, expect, test } from "@jest/globals";
import { CallScope, cancelledBy } from "../../../src/core/call/scope.js";
import { systemClock } from "../../../src/core/clock.js";
import { aborted } from "../../../src/core/errors/texts.js";
import type { SurfaceContext } from "../../../src/core/ports/adapter.js";
import { gate } from "../catalogue/fake-adapter.js";
import { ALICE, call, store } from "./job-store.js";

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
    expect(jobs.record(job.id)).toMatchObject(cancelled);
    await expect(job.result).rejects.toMatchObject({ code: "ABORTED" });
    expect(jobs.running).toBe(0);
  });

  test("leaves a job alone that has ended", async () => {
    const { jobs } = store({ read: () => "text" });
    const job = jobs.submit(call("file:read"));
    const record = await job.settled(1000);
    expect(await jobs.cancel(job.id, ALICE)).toEqual({ found: record });
    expect(jobs.record(job.id)).toBe(record);
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
    expect(jobs.record(job.id)).toMatchObject({ status: "COMPLETE" });
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
    expect(jobs.record(job.id)).toBeUndefined();
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
    expect(jobs.record(job.id)).toMatchObject({ status: "STARTED" });
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
      expect(start).toThrow(expect.objectContaining({ name: "Overloaded", message: "The venue is closing" }));
    }
    expect(adapter.calls).toEqual([]);
  });
});
