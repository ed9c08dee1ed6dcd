import { describe, expect, test } from "@jest/globals";
import type { JobRecord } from "../../../src/core/ports/job.js";
import type { Jobs } from "../../../src/venue/jobs/jobs.js";
import { gate } from "../catalogue/fake-adapter.js";
import { ALICE, BOB, call, callBy, store } from "./job-store.js";

const overloaded = (message: string) => expect.objectContaining({ name: "Overloaded", message, retryAfterMs: 1000 });

const MEGABYTES = 1024 * 1024;
const contentOf = (bytes: number) => ({ input: { content: new Uint8Array(bytes) } });

describe("running jobs", () => {
  const tooMany = overloaded("Too many jobs are running");
  const tooManyOfCaller = overloaded("Too many jobs of this caller are running");

  test.each([
    [10, 64],
    [70, 70],
  ])("of a store for %d records are at most %d, with or without one", async (max, most) => {
    const slow = gate();
    const { jobs, adapter } = store({ slow: () => slow.promise, read: () => 1 }, { max });
    const started = Array.from({ length: most }, (_, i) =>
      i % 2 === 0 ? jobs.submit(call("file:slow")) : jobs.run(callBy(BOB, "file:slow")),
    );
    expect(jobs.running).toBe(most);
    expect(() => jobs.submit(call("file:read"))).toThrow(tooMany);
    expect(() => jobs.run(call("file:read"))).toThrow(tooMany);
    expect(adapter.calls).toHaveLength(most);
    slow.open(1);
    await Promise.all(started.map((job) => job.result));
    expect(jobs.running).toBe(0);
    await expect(jobs.submit(call("file:read")).result).resolves.toBe(1);
  });

  test.each([
    [10, 64],
    [80, 64],
    [100, 75],
  ])("of one caller in a store for %d records are at most %d, so that others find room", async (max, most) => {
    const slow = gate();
    const { jobs } = store({ slow: () => slow.promise, read: () => 1 }, { max });
    const started = Array.from({ length: most }, () => jobs.submit(call("file:slow")));
    const refusal = max > most ? tooManyOfCaller : tooMany;
    expect(() => jobs.submit(call("file:read"))).toThrow(refusal);
    if (max > most) await expect(jobs.submit(callBy(BOB, "file:read")).result).resolves.toBe(1);
    slow.open(1);
    await Promise.all(started.map((job) => job.result));
    await expect(jobs.submit(call("file:read")).result).resolves.toBe(1);
  });

  test("hold a bounded amount of input, but one alone may have any", async () => {
    const gates = [gate(), gate(), gate()];
    const { jobs, adapter } = store({ slow: () => gates[adapter.calls.length - 1]?.promise, read: () => 1 });
    const submit = (bytes: number, caller = ALICE) => jobs.submit(callBy(caller, "file:slow", contentOf(bytes)));
    const huge = submit(300 * MEGABYTES);
    expect(() => submit(1)).toThrow(tooMany);
    gates[0]?.open(1);
    await huge.result;
    const half = submit(150 * MEGABYTES);
    expect(() => submit(150 * MEGABYTES)).toThrow(tooMany);
    expect(() => submit(150 * MEGABYTES, BOB)).toThrow(tooMany);
    const rest = submit(100 * MEGABYTES, BOB);
    gates[1]?.open(1);
    gates[2]?.open(1);
    await Promise.all([half.result, rest.result]);
    await expect(jobs.submit(call("file:read")).result).resolves.toBe(1);
  });

  test("of one caller hold three quarters of that, so that others find room; one alone may have more", async () => {
    const gates = [gate(), gate(), gate(), gate()];
    const { jobs, adapter } = store({ slow: () => gates[adapter.calls.length - 1]?.promise });
    const submit = (megabytes: number, caller = ALICE) =>
      jobs.submit(callBy(caller, "file:slow", contentOf(megabytes * MEGABYTES)));
    const first = submit(150);
    expect(() => submit(45)).toThrow(tooManyOfCaller);
    const second = submit(40);
    expect(() => submit(5)).toThrow(tooManyOfCaller);
    const other = submit(60, BOB);
    for (const index of [0, 2]) gates[index]?.open(1);
    await Promise.all([first.result, other.result]);
    expect(() => submit(200)).toThrow(tooManyOfCaller);
    gates[1]?.open(1);
    await second.result;
    const alone = submit(200);
    expect(() => submit(1)).toThrow(tooManyOfCaller);
    gates[3]?.open(1);
    await alone.result;
    expect(jobs.running).toBe(0);
  });
});

describe("watching", () => {
  const tooMany = overloaded("Too many streams are open");
  const watch = (jobs: Jobs, id: string, listener: (record: JobRecord | undefined) => void = () => {}) => {
    const watched = jobs.watch(id, ALICE, listener);
    if ("refused" in watched) throw new Error(watched.refused);
    return watched;
  };

  test("tells the state now and the end, once each", async () => {
    const slow = gate();
    const { jobs } = store({ slow: () => slow.promise });
    const job = jobs.submit(call("file:slow"));
    const seen: unknown[] = [];
    const { found, stop } = watch(jobs, job.id, (record) => seen.push(record));
    expect(found.status).toBe("STARTED");
    slow.open("text");
    await job.result;
    expect(seen).toEqual([job.record()]);
    expect(job.record()).toMatchObject({ status: "COMPLETE", output: "text" });
    stop();
  });

  test("a job that has ended tells that at once, and nothing later", async () => {
    const { jobs } = store({ read: () => "text" });
    const job = jobs.submit(call("file:read"));
    await job.result;
    const { found, stop } = watch(jobs, job.id, () => {
      throw new Error("told twice");
    });
    expect(found).toEqual(job.record());
    stop();
  });

  test("ends when it is stopped", async () => {
    const slow = gate();
    const { jobs } = store({ slow: () => slow.promise });
    const job = jobs.submit(call("file:slow"));
    const seen: unknown[] = [];
    const { stop } = watch(jobs, job.id, (record) => seen.push(record));
    stop();
    slow.open(1);
    await job.result;
    expect(seen).toEqual([]);
  });

  test("is refused beyond 32 streams of one job, and a place is free again once one has stopped", async () => {
    const slow = gate();
    const { jobs } = store({ slow: () => slow.promise });
    const [job, other] = [1, 2].map(() => jobs.submit(call("file:slow")));
    const id = job?.id ?? "";
    const watches = Array.from({ length: 32 }, () => watch(jobs, id));
    expect(() => watch(jobs, id)).toThrow(tooMany);
    expect(() => watch(jobs, other?.id ?? "")).not.toThrow();
    watches[0]?.stop();
    watches[0]?.stop();
    watch(jobs, id);
    expect(() => watch(jobs, id)).toThrow(tooMany);
  });

  test("is refused beyond 512 streams in all, but never of a job that has ended", async () => {
    const slow = gate();
    const { jobs } = store({ slow: () => slow.promise, read: () => 1 });
    const done = jobs.submit(call("file:read"));
    await done.result;
    const running = Array.from({ length: 17 }, () => jobs.submit(call("file:slow")));
    const watches = Array.from({ length: 512 }, (_, i) => watch(jobs, running[i % 16]?.id ?? ""));
    const last = running[16]?.id ?? "";
    expect(() => watch(jobs, last)).toThrow(tooMany);
    expect(watch(jobs, done.id).found.status).toBe("COMPLETE");
    slow.open(1);
    await Promise.all(running.map((job) => job.result));
    // What they were told may still be on its way to slow clients.
    const next = jobs.submit(call("file:slow"));
    expect(() => watch(jobs, next.id)).toThrow(tooMany);
    for (const { stop } of watches) stop();
    watch(jobs, next.id);
  });

  test("somebody else's job is refused before that, and takes no place", () => {
    const { jobs } = store({ slow: () => gate().promise });
    const job = jobs.submit(callBy(BOB, "file:slow"));
    for (let i = 0; i < 600; i += 1) expect(jobs.watch(job.id, ALICE, () => {})).toEqual({ refused: "denied" });
    expect(jobs.watch(job.id, BOB, () => {})).toHaveProperty("found");
  });
});
